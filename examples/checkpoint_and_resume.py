"""A training that may be killed at any moment and goes on where it was, to the same bit.

Start it, press Ctrl-C or kill it, start it again: it goes on from its last checkpoint, and at the
end prints the same digest of the weights as a training that nothing has interrupted. What it takes
is in one file: the states of model, optimizer, schedule, loader and random numbers.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
from pathlib import Path

from mnist import load_digits
from tqdm import tqdm

import polygrad as pg
from polygrad import nn


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, default=Path("run.safetensors"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--digits", type=int, default=1000)
    parser.add_argument("--every", type=int, default=7, help="steps from checkpoint to checkpoint")
    parser.add_argument("--kill-at", type=int, default=-1, help="die at this step, for a test")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default=pg.get_default_device(), help="default: %(default)s")
    args = parser.parse_args()

    pg.manual_seed(0)
    (images, labels), _ = load_digits(seed=0)
    dataset = pg.data.TensorDataset(
        *(pg.asarray(array[:: len(labels) // args.digits]) for array in (images, labels))
    )
    loader = pg.data.DataLoader(
        dataset, batch_size=50, shuffle=True, num_workers=args.workers, device=args.device
    )
    model = nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.3),
        nn.Linear(8 * 12 * 12, 10),
    ).to(args.device)  # fmt: skip
    optimizer = pg.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = pg.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule, "loader": loader}

    epoch = step = 0
    if args.checkpoint.exists():
        state = pg.load(args.checkpoint, device=args.device)
        for name, part in parts.items():
            part.load_state_dict(state[name])
        pg.random.set_state(state["random"])
        epoch, step = state["epoch"], state["step"]
        print(f"Going on after step {step}")

    bar = tqdm(total=args.epochs * len(loader), initial=step, unit=" steps")
    for epoch in range(epoch, args.epochs):  # noqa: B020  it begins where it was
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            bar.update()
            bar.set_postfix_str(f"epoch {epoch}, loss {loss.detach().item():.3f}")
            if step % args.every == 0:
                states = {name: part.state_dict() for name, part in parts.items()}
                where = {"epoch": epoch, "step": step, "random": pg.random.get_state()}
                pg.save({**states, **where}, args.checkpoint)
            if step == args.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
    bar.close()
    digest = hashlib.sha256()
    for t in model.state_dict().values():
        digest.update(t.numpy().tobytes())
    print(f"Weights after step {step}: {digest.hexdigest()[:16]}")


if __name__ == "__main__":
    main()
