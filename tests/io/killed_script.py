"""Save again and again, and be killed at one point: see test_killed.py.

usage: python killed_script.py FILE WHERE, with WHERE one of write, fsync, replace, folder, any
"""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import zlib

import polygrad as pg


def die(*args, **keywords):
    os.kill(os.getpid(), signal.SIGKILL)


def main(path, where):
    if where == "any":
        os.write(1, b"begun\n")
        number = 0
        while True:
            number += 1
            pg.save({"number": number, "x": pg.zeros(200_000) + number}, path)
    if where == "write":  # the first tensor is written, the second is not
        first = zlib.crc32
        zlib.crc32 = lambda data: die() if data[0] == 2 else first(data)
    elif where == "fsync":
        os.fsync = die
    elif where == "replace":
        pathlib.Path.replace = die
    elif where == "folder":
        first_sync, calls = os.fsync, []
        os.fsync = lambda fd: die() if calls else (calls.append(fd), first_sync(fd))
    one, two = (pg.zeros(100_000, dtype=pg.uint8) + n for n in (1, 2))
    pg.save({"number": 2, "x": [one, two]}, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
