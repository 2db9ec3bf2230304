"""Stop when digits that are not trained with get no better, and keep the best weights.

Few digits and many weights: the network soon knows the digits by heart.
"""

from __future__ import annotations

import argparse

from mnist import load_digits
from tqdm import tqdm

import polygrad as pg
from polygrad import nn


@pg.no_grad()
def validation_loss(model, batches):
    mean = pg.metrics.Mean()
    model.eval()
    for images, labels in batches:
        mean.update(nn.functional.cross_entropy(model(images), labels), len(labels))
    return mean.compute()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=100, help="at most")
    parser.add_argument("--patience", type=int, default=5, help="epochs to wait for a better one")
    parser.add_argument("--digits", type=int, default=500, help="to train with")
    parser.add_argument("--device", default=pg.get_default_device(), help="default: %(default)s")
    args = parser.parse_args()

    pg.manual_seed(0)
    (images, labels), held_out = load_digits(seed=0)
    chosen = pg.random.permutation(len(labels), device="cpu").numpy()[: args.digits]
    train, valid = (
        pg.data.DataLoader(pg.data.TensorDataset(*map(pg.asarray, pair)), 50, shuffle,
                           device=args.device)
        for pair, shuffle in (((images[chosen], labels[chosen]), True), (held_out, False))
    )  # fmt: skip
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)
    ).to(args.device)  # fmt: skip
    optimizer = pg.optim.Adam(model.parameters(), lr=2e-3)

    best, best_epoch, best_state = float("inf"), 0, model.state_dict()
    with tqdm(range(1, args.epochs + 1), unit=" epochs") as bar:
        for epoch in bar:
            model.train()
            for images, labels in train:
                loss = nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            found = validation_loss(model, valid)
            bar.set_postfix_str(f"validation {found:.4f}, best {min(best, found):.4f}")
            if found < best:  # a state_dict does not change when training goes on
                best, best_epoch, best_state = found, epoch, model.state_dict()
            elif epoch - best_epoch >= args.patience:
                break
    model.load_state_dict(best_state)
    print(f"Stopped after epoch {epoch}; back to that of epoch {best_epoch}: {best:.4f}")
    print(f"Validation loss of these weights: {validation_loss(model, valid):.4f}")


if __name__ == "__main__":
    main()
