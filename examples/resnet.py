"""A small residual network learns the MNIST digits of mnist.py."""

from __future__ import annotations

import argparse

from mnist import load_digits
from tqdm import tqdm

import polygrad as pg
from polygrad import nn


class Block(nn.Module):
    """Two convolutions, and around them what came in."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x):
        return nn.functional.relu(self.body(x) + self.shortcut(x))


def resnet(widths=(8, 16, 32), blocks=1, classes=10):
    """A convolution, then blocks, each group of half the height and width of the one before."""
    layers = [nn.Conv2d(1, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()]
    before = widths[0]
    for group, after in enumerate(widths):
        for block in range(blocks):
            layers.append(Block(before, after, 2 if group and not block else 1))
            before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


def train(model, batches, epochs, lr=0.1):
    """Yield the loss of each step."""
    optimizer = pg.optim.SGD(
        model.parameters(), lr=lr, momentum=0.9, nesterov=True, weight_decay=1e-4
    )
    schedule = pg.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(batches))
    for _ in range(epochs):
        model.train()
        for images, labels in batches:
            loss = nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            yield loss.detach().item()


def test(model, batches):
    """The accuracy, and which classes were taken for which."""
    accuracy, confusion = pg.metrics.Accuracy(), pg.metrics.ConfusionMatrix(10)
    model.eval()
    with pg.no_grad():
        for images, labels in batches:
            logits = model(images)
            accuracy.update(logits, labels)
            confusion.update(logits, labels)
    return accuracy.compute(), confusion.compute()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--digits", type=int, default=4000, help="to train with, at most 4000")
    parser.add_argument("--device", default=pg.get_default_device(), help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    pg.manual_seed(args.seed)
    (images, labels), test_digits = load_digits(args.seed)
    chosen = pg.random.permutation(len(labels), device="cpu").numpy()[: args.digits]
    digits = [pg.data.TensorDataset(*map(pg.asarray, pair))
              for pair in ((images[chosen], labels[chosen]), test_digits)]  # fmt: skip
    batches = pg.data.DataLoader(digits[0], batch_size=50, shuffle=True, device=args.device)
    model = resnet().to(args.device)
    with tqdm(train(model, batches, args.epochs), total=args.epochs * len(batches)) as bar:
        for loss in bar:
            bar.set_postfix_str(f"loss {loss:.3f}")
    accuracy, confusion = test(model, pg.data.DataLoader(digits[1], 250, device=args.device))
    print(f"Test accuracy {accuracy:.1%}; digits (rows) and what they were taken for:")
    print(confusion)


if __name__ == "__main__":
    main()
