"""Level exhaustive: the numbers of float32, through each elementwise function of one operand.

Of each run of `stride` neighbours one is taken, at a place that depends on the run, so that low
bits vary too; stride 1 takes all 2^32. A case has the numbers that begin with the same four bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polygrad_conformance.case import Case, Failed, Measure
from polygrad_conformance.compare import compare_call, worst_of
from polygrad_conformance.declarations import subjects
from polygrad_conformance.oracle import ORACLE
from polygrad_conformance.points import domain_of, within
from polygrad_conformance.samples import Sample
from polygrad_conformance.shrinking import shrunk
from polygrad_conformance.target import Host, Target

_PARTS, _SIZE = 16, 2**28  # of the bit patterns, and of each part
_CHUNK = 2**18  # numbers of one call
_MIXED = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: multiples fill it evenly


def cases(level: str) -> Iterator[Case]:
    """Up to sixteen for each function."""
    if level != "exhaustive":
        return
    for subject in subjects().values():
        domain = domain_of(subject.key)
        if domain is None or domain["inputs"] != 1 or "f" not in subject.operation.kinds:
            continue
        for part in range(_PARTS):
            ends = np.array([part * _SIZE, (part + 1) * _SIZE - 1], np.uint32).view(np.float32)
            if not _meets(ends, domain):
                continue
            yield Case(
                subject.key, "float32", "value", f"numbers-{part:x}",
                lambda t, s=subject, d=domain, p=part: _compared(t, s, d, p),
                "", subject.step, subject.space, subject.chapter,
                (f"{subject.key}/float32/value/0",),
            )  # fmt: skip


def _meets(ends: Host, domain: dict[str, Any]) -> bool:
    """Whether the domain has numbers between these; the last of a part may be NaN."""
    low, high = (domain.get("real") or [None])[0] or (-np.inf, np.inf)
    sign = -1 if np.signbit(ends[0]) else 1
    least, most = sorted((float(ends[0]), sign * float(np.nan_to_num(abs(ends[1]), nan=np.inf))))
    return least <= high and most >= low


def numbers(part: int, stride: int) -> Iterator[Host]:
    """The numbers of a part, a chunk at a time."""
    count = _SIZE // stride
    for begin in range(0, count, _CHUNK):
        i = np.arange(begin, min(begin + _CHUNK, count), dtype=np.uint64)
        low = ((i * _MIXED) >> np.uint64(32)) & np.uint64(stride - 1)
        bits = np.uint64(part * _SIZE) + i * np.uint64(stride) + low
        yield bits.astype(np.uint32).view(np.float32)


def _compared(target: Target, subject: Any, domain: dict[str, Any], part: int) -> Measure:
    measures = []
    for k, chunk in enumerate(numbers(part, target.stride)):
        sample = Sample(f"numbers-{part:x}-{k}", (within(domain, chunk),))
        made = target.made(subject, sample).checked()
        try:
            measures.append(compare_call(target, subject, "float32", sample, made.results))
        except Failed as failed:
            raise shrunk(target, subject, "float32", failed) from None
        finally:
            ORACLE.forget()  # references of all of them are larger than memory
    return worst_of(measures)
