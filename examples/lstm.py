"""An LSTM learns the help texts of Python: several places of the text at once, its memory kept.

The text is cut into as many strips as a batch has rows. Each step reads the next letters of all
strips, and starts from the memory that the step before left: gradients go back through one step,
the memory goes on.
"""

from __future__ import annotations

import argparse
import math
from itertools import islice

import numpy as np
from text import load_text
from tqdm import tqdm

import polygrad as pg
from polygrad import nn


class CharLSTM(nn.Module):
    """Scores of the next letter, and the memory."""

    def __init__(self, letters, width=128, layers=1):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.out = nn.Linear(width, letters)

    def forward(self, x, memory=None):
        output, memory = self.lstm(self.letters(x), memory)
        return self.out(output), memory


def strips(codes, batch, length, device):
    """Yield (x, y): the next `length` letters of each of `batch` strips of the text, in order."""
    size = (len(codes) - 1) // batch
    x, y = (codes[i : i + batch * size].reshape(batch, size) for i in (0, 1))
    for start in range(0, size - length + 1, length):
        yield tuple(pg.tensor(a[:, start : start + length], device=device) for a in (x, y))


def train(model, batches, lr=5e-3):
    """Take a step for each batch; yield the loss of each."""
    optimizer = pg.optim.Adam(model.parameters(), lr=lr)
    memory = None
    for x, y in batches:
        logits, memory = model(x, memory)
        memory = tuple(part.detach() for part in memory)
        loss = nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        yield loss.detach().item()


@pg.no_grad()
def write(model, letters, start, count):
    """Go on from `start`; the model reads what it wrote itself, a letter at a time."""
    device, memory, written = model.out.weight.device, None, list(start)
    codes = [int(np.flatnonzero(letters == letter)[0]) for letter in start]
    for _ in range(count):
        logits, memory = model(pg.tensor([codes], device=device), memory)
        codes = [pg.random.categorical(logits[0, -1]).item()]
        written.append(letters[codes[0]])
    return "".join(written)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=32, help="letters of a step")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--device", default=pg.get_default_device(), help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    pg.manual_seed(args.seed)
    codes, letters = load_text()
    model = CharLSTM(len(letters), args.width).to(args.device)
    batches = islice(strips(codes, args.batch, args.length, args.device), args.steps)
    with tqdm(train(model, batches), total=args.steps, unit=" steps") as bar:
        for loss in bar:
            bar.set_postfix_str(f"{loss / math.log(2):.2f} bits per letter")
    print(write(model, letters, "The ", 300))


if __name__ == "__main__":
    main()
