"""Datasets and functions that worker processes can import."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from typing import NamedTuple

import numpy as np

import polygrad as pg
from polygrad import data


class Point(NamedTuple):
    x: object
    y: object


class Rich(data.Dataset):
    """Items of every kind: nested, small and large, of many dtypes."""

    def __init__(self, n, width):
        self.n, self.width = n, width

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        row = np.arange(self.width, dtype=np.float32) + i
        return {
            "row": row,
            "flipped": np.stack([row, row + 1])[::-1].T,
            "tensor": pg.asarray(row * 2, device="cpu"),
            "point": Point(i, [float(i), complex(i, 1)]),
            "text": ("t" * i, None, bytes([i])),
            "small": np.int16(i),
            "yes": i % 2 == 0,
            "empty": np.zeros((0, 3), np.uint8),
            "when": pg.tensor(float(i), dtype=pg.float64, device="cpu"),
        }


def as_lists(items):
    """A collate function whose batches hold arrays, and what only pickle can carry."""
    return [
        (item["row"], item["flipped"], np.array([item["text"]], dtype=object), {i}, item["tensor"])
        for i, item in enumerate(items)
    ]


class Squares(data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i, i * i


class Draws(Squares):
    """Random numbers of all kinds, and who drew them."""

    def __getitem__(self, i):
        info = data.get_worker_info()
        return (
            i,
            int(pg.random.integers(0, 2**40, device="cpu").item()),
            random.randrange(2**40),
            int(np.random.randint(2**40)),  # noqa: NPY002  what datasets do
            info.id if info else -1,
        )


class Who(Squares):
    """Which process and worker an item comes from, asked in a thread of its own."""

    def __getitem__(self, i):
        found = []
        thread = threading.Thread(target=lambda: found.append(data.get_worker_info()))
        thread.start()
        thread.join()
        info = found[0]
        assert info is data.get_worker_info()
        assert type(info.dataset) is Who
        return os.getpid(), info.id, info.num_workers, info.seed


class Part(data.IterableDataset):
    """A stream of which each worker takes its part; the parts differ in length."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, self.n, step))


class TwoArgumentsError(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


class Faulty(Squares):
    def __init__(self, n, kind):
        super().__init__(n)
        self.kind = kind

    def __getitem__(self, i):
        if i == 5:
            self.fail()
        return i

    def fail(self):
        if self.kind == "value":
            raise ValueError("item five is bad")
        if self.kind == "arguments":
            raise TwoArgumentsError("one", "two")
        if self.kind == "stop":
            raise StopIteration("no more")
        if self.kind == "exit":
            os._exit(3)
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)


class Unpicklable(Squares):
    def __init__(self, n):
        super().__init__(n)
        self.function = lambda: 1


class CannotBeRebuilt(Squares):
    """Pickled without complaint, but the new process cannot make one."""

    def __setstate__(self, state):
        raise OSError("the file of the dataset is not there")


class History(Squares):
    def __getitem__(self, i):
        return pg.tensor([1.0], requires_grad=True) * i


class Slow(Squares):
    def __init__(self, n, seconds, when=0):
        super().__init__(n)
        self.seconds, self.when = seconds, when

    def __getitem__(self, i):
        if i == self.when:
            time.sleep(self.seconds)
        return i


class Wide(Squares):
    """Items large enough for shared memory, of which one fails or takes long."""

    def __init__(self, n, width, stop="", at=-1):
        super().__init__(n)
        self.width, self.stop, self.at = width, stop, at

    def __getitem__(self, i):
        if i == self.at:
            if self.stop == "error":
                raise ValueError("item is bad")
            os.write(1, b"busy\n")
            time.sleep(60)
        return np.full(self.width, i, np.float32)


class Counting(Squares):
    """Counts the items that were fetched, in all processes; item 0 waits for a number of others."""

    def __init__(self, n, counter, others=0):
        super().__init__(n)
        self.counter, self.others = counter, others

    def __getitem__(self, i):
        end = time.monotonic() + 20
        while i == 0 and self.counter.value < self.others and time.monotonic() < end:
            time.sleep(0.01)
        with self.counter.get_lock():
            self.counter.value += 1
        return i


class Busy(Squares):
    """Says when it has begun with an item that takes a minute."""

    def __init__(self, n, begun):
        super().__init__(n)
        self.begun = begun

    def __getitem__(self, i):
        self.begun.set()
        time.sleep(60)


def fail_to_start(number):
    raise LookupError(f"worker {number} has no licence")


def seed_numpy(number):
    np.random.seed(1000 + number)  # noqa: NPY002


def refuse(items):
    raise TypeError("collating failed")
