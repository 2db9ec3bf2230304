"""Memory of NumPy arrays that die is used again: see polygrad.backends.host_memory."""

import os
import platform
import subprocess
import sys

import pytest

PAGE = 4096
SIZE = 100_000  # float32: under the 32 MiB and over the 128 KiB between which glibc learns
STEPS = 200

CHILD = f"""
import resource
import polygrad as pg

faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
x = pg.ones({SIZE})

def step():
    y = x * x
    return y + x

for _ in range(20):
    step()
before = faults()
for _ in range({STEPS}):
    step()
print(faults() - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc learns (mallopt(3)), 2026-11-30"
)
def test_steady_steps_fault_no_pages_in():
    own = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    command = [sys.executable, "-c", CHILD]
    found = subprocess.run(command, env=own, capture_output=True, text=True, check=True)
    pages_of_all_results = STEPS * 2 * SIZE * 4 // PAGE
    assert int(found.stdout) < pages_of_all_results / 50
