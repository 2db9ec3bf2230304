"""Memory of NumPy arrays that die is used again: see polygrad.backends.host_memory."""

import os
import platform
import subprocess
import sys

import pytest

PAGE = 4096
SIZE = 100_000  # float32: under the 32 MiB and over the 128 KiB between which glibc learns
LARGE = 4_000_000  # five of them are more than glibc keeps: 64 MiB

CHILD = """
import resource
import numpy as np
import polygrad as pg

faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
x = pg.asarray(np.ones({size}, np.float32)).requires_grad_()

def sums():
    y = x * x
    return y + x

def bump():
    pg.exp(-(x * pg.tanh(x * 0.5 + 0.25))).sum().backward()
    x.grad = None

for _ in range(20):
    {step}()
before = faults()
for _ in range({steps}):
    {step}()
print(faults() - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc learns (mallopt(3)), 2026-11-30"
)
@pytest.mark.parametrize(("step", "size", "steps"), [("sums", SIZE, 200), ("bump", LARGE, 5)])
def test_steady_steps_fault_no_pages_in(step, size, steps):
    own = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    command = [sys.executable, "-c", CHILD.format(step=step, size=size, steps=steps)]
    found = subprocess.run(command, env=own, capture_output=True, text=True, check=True)
    pages_of_two_results = steps * 2 * size * 4 // PAGE
    assert int(found.stdout) < pages_of_two_results / 50
