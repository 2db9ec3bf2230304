"""Log a training: a line of a CSV file for each step, curves and weights for TensorBoard.

Look at them with `tensorboard --logdir FOLDER`. tensorboardX writes its files without PyTorch.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from tensorboardX import SummaryWriter
from tqdm import tqdm

import polygrad as pg
from polygrad import nn


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("curves"), help="the folder")
    parser.add_argument("--device", default=pg.get_default_device(), help="default: %(default)s")
    args = parser.parse_args()

    pg.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1)).to(args.device)
    optimizer = pg.optim.Adam(model.parameters(), lr=1e-2)
    schedule = pg.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    args.out.mkdir(parents=True, exist_ok=True)
    with (
        (args.out / "curves.csv").open("w", newline="", encoding="utf-8") as file,
        SummaryWriter(str(args.out)) as board,
    ):
        table = csv.writer(file)
        table.writerow(["step", "loss", "gradient norm", "lr"])
        for step in tqdm(range(args.steps), unit=" steps"):
            x = pg.random.uniform((64, 1), -1.0, 1.0, device=args.device)
            loss = nn.functional.mse_loss(model(x), pg.sin(8 * x))
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
            row = {"loss": loss.detach().item(), "gradient norm": norm.item(),
                   "lr": schedule.get_last_lr()[0]}  # fmt: skip
            optimizer.step()
            schedule.step()
            table.writerow([step, *row.values()])
            for name, value in row.items():
                board.add_scalar(name.replace(" ", "_"), value, step)
            if step % 100 == 0:
                for name, p in model.named_parameters():
                    board.add_histogram(name, p.detach().numpy(), step)
    print(f"Last loss {row['loss']:.4f}; curves in {args.out}")


if __name__ == "__main__":
    main()
