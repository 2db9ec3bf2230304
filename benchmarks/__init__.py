"""Side by side: polygrad, PyTorch eager, and the same work by hand in NumPy or dpnp.

`python -m benchmarks` (or `make bench`) runs the table of `benchmarks.workloads`. A new workload is
one more row there: a problem (`benchmarks.problems`), a function of `benchmarks.taped` (the text
that polygrad and PyTorch share), its twin in `benchmarks.handwritten`, and the goals that it is
held to.
"""
