"""A step with the gradient of a large batch, of which only a part fits into memory at a time.

Each part adds its gradient to those before it; the optimizer takes one step for all, with the norm
of the sum clipped. The loss of a part is divided by what the whole is a mean over: then the sum is
the gradient of the whole batch, also if the last part is smaller.
"""

from __future__ import annotations

import argparse

from mnist import load_digits
from tqdm import tqdm

import polygrad as pg
from polygrad import nn


def accumulate(model, images, labels, size):
    """Gradients of the mean loss over a batch, `size` items at a time; returns the loss."""
    total = 0.0
    for start in range(0, len(labels), size):
        part = slice(start, start + size)
        logits = model(images[part])
        loss = nn.functional.cross_entropy(logits, labels[part], reduction="sum") / len(labels)
        loss.backward()  # this part of the graph is gone after it
        total += loss.detach().item()
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--digits", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--part", type=int, default=48)
    parser.add_argument("--device", default=pg.get_default_device(), help="default: %(default)s")
    args = parser.parse_args()

    pg.manual_seed(0)
    (images, labels), _ = load_digits(seed=0)
    chosen = pg.random.permutation(len(labels), device="cpu").numpy()[: args.digits]
    dataset = pg.data.TensorDataset(pg.asarray(images[chosen]), pg.asarray(labels[chosen]))
    batches = pg.data.DataLoader(dataset, args.batch, shuffle=True, device=args.device)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.GELU(), nn.Flatten(), nn.Linear(8 * 12 * 12, 10)
    ).to(args.device)
    optimizer = pg.optim.Adam(model.parameters(), lr=2e-3)
    clipped = steps = 0
    for _ in range(args.epochs):
        for images, labels in tqdm(batches, unit=" batches"):
            optimizer.zero_grad()
            loss = accumulate(model, images, labels, args.part)
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            clipped, steps = clipped + (norm.item() > 1), steps + 1
    print(f"Last loss {loss:.4f}; the gradient was clipped in {clipped} of {steps} steps")


if __name__ == "__main__":
    main()
