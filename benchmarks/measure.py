"""The clock: contenders take turns, so that what slows the machine down slows all of them down."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from benchmarks.children import Children
from benchmarks.workload import Workload

# A block does its work `count` times and returns the seconds that one took.
Block = Callable[[int], float]
Samples = dict[str, list[float]]

# BLAS and OpenMP threads spin after their last task, for tenths of a second. On a machine with no
# more cores than threads that is time taken from whoever comes next: let them fall asleep first.
# With 0.03 s the rows with two threads were up to twice as long, and spread by a third.
SETTLE_SECONDS = 0.3

# No new round after so long, if there were some: a busy machine must not make it an hour.
ENOUGH_SECONDS = 30
ENOUGH_ROUNDS = 5

# Steps of which the fresh memory is the mean.
STEPS = 20


def calibrate(block: Block, seconds: float) -> int:
    """Warm up, and return how often to do the work in about `seconds`."""
    block(1)
    count = 1
    while (each := block(count)) * count < seconds / 2:
        count *= 2
    return max(1, round(seconds / each))


def interleave(blocks: Mapping[str, Block], rounds: int, block_seconds: float) -> Samples:
    """Run the blocks in turn, `rounds` times at most; return the seconds of each by contender."""
    counts = {name: calibrate(block, block_seconds) for name, block in blocks.items()}
    samples: Samples = {name: [] for name in blocks}
    start = time.perf_counter()
    for done in range(rounds):
        if done >= ENOUGH_ROUNDS and time.perf_counter() - start > ENOUGH_SECONDS:
            break
        for name, block in blocks.items():
            time.sleep(SETTLE_SECONDS)
            block(1)  # caches and clock speed, untimed
            samples[name].append(block(counts[name]))
    return samples


def seconds(
    workload: Workload, children: Children, device: str, rounds: int, block_seconds: float
) -> Samples:
    """The seconds of each round."""

    def block(name: str) -> Block:
        child = children.get(name, workload)
        child.ask("prepare", workload=workload.name, device=device)
        return lambda count: child.ask(workload.measure, count=count) / count

    blocks = {name: block(name) for name in children.able(workload)}
    samples = interleave(blocks, rounds, block_seconds)
    return {name: [s / workload.calls for s in values] for name, values in samples.items()}


def memory(workload: Workload, children: Children, device: str) -> Samples:
    """What a step needs, and how much of that is fresh, in processes that do nothing else."""
    samples: Samples = {}
    for name in children.able(workload):
        child = children.start(name, workload)
        peak = child.ask("peak", workload=workload.name, device=device)
        child.close()
        samples[name] = [peak]
        if workload.measure == "fresh":
            child = children.start(name, workload)
            child.ask("prepare", workload=workload.name, device=device)
            child.ask("faults", count=STEPS)
            samples[name] = [child.ask("faults", count=STEPS) / STEPS / peak]
            child.close()
    return samples


def measure(
    workload: Workload, children: Children, device: str, rounds: int, block_seconds: float
) -> Samples:
    """What is measured of a workload, by the names of those who have it."""
    if workload.measure in ("peak", "fresh"):
        return memory(workload, children, device)
    return seconds(workload, children, device, rounds, block_seconds)
