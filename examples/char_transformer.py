"""A small transformer learns to write, letter by letter, like the help texts of Python."""

from __future__ import annotations

import argparse
import math
from itertools import islice

import numpy as np
from text import load_text
from tqdm import tqdm

import polygrad as pg
from polygrad import nn


class Windows(pg.data.Dataset):
    """All stretches of `length` letters, each with the same stretch one letter later."""

    def __init__(self, codes, length):
        self.codes, self.length = codes, length

    def __len__(self):
        return len(self.codes) - self.length

    def __getitem__(self, i):
        return self.codes[i : i + self.length], self.codes[i + 1 : i + self.length + 1]


class CharTransformer(nn.Module):
    """Scores of the next letter, at each of up to `length` letters."""

    def __init__(self, letters, length, width=64, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.length = length
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width))
        self.out = nn.Linear(width, letters)

    def forward(self, x):
        n = x.shape[1]
        hidden = nn.Transformer.generate_square_subsequent_mask(n, device=x.device)
        h = self.letters(x) + self.places(pg.arange(n, device=x.device))
        return self.out(self.layers(h, hidden, is_causal=True))


def loss_of(model, x, y):
    return nn.functional.cross_entropy(model(x).reshape(-1, model.out.out_features), y.reshape(-1))


def train(model, batches, steps, lr=3e-3):
    """Take up to `steps` steps; yield the loss of each."""
    optimizer = pg.optim.AdamW(model.parameters(), lr=lr)
    schedule = pg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=steps)
    for x, y in islice(batches, steps):
        loss = loss_of(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
        yield loss.detach().item()


@pg.no_grad()
def write(model, letters, start, count):
    """Go on from `start`, each letter drawn with the probability that the model gives it."""
    model.eval()
    device = model.out.weight.device
    codes = [int(np.flatnonzero(letters == letter)[0]) for letter in start]
    for _ in range(count):
        x = pg.tensor([codes[-model.length :]], device=device)
        codes.append(pg.random.categorical(model(x)[0, -1]).item())
    return "".join(letters[codes])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=64, help="letters that are seen at once")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--device", default=pg.get_default_device(), help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    pg.manual_seed(args.seed)
    codes, letters = load_text()
    cut = len(codes) * 9 // 10
    train_set, test_set = (Windows(part, args.length) for part in (codes[:cut], codes[cut:]))
    loader = {"batch_size": args.batch, "shuffle": True, "device": args.device}
    model = CharTransformer(len(letters), args.length, args.width).to(args.device)

    with tqdm(total=args.steps, unit=" steps") as bar:
        for loss in train(model, pg.data.DataLoader(train_set, **loader), args.steps):
            bar.update()
            bar.set_postfix_str(f"{loss / math.log(2):.2f} bits per letter")

    mean = pg.metrics.Mean()
    model.eval()
    with pg.no_grad():
        for x, y in islice(pg.data.DataLoader(test_set, **loader), 10):
            mean.update(loss_of(model, x, y))
    print(f"Text not seen: {mean.compute() / math.log(2):.2f} bits per letter")
    print(write(model, letters, "The ", 300))


if __name__ == "__main__":
    main()
