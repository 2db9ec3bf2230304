"""Side by side in one process: polygrad, PyTorch eager, and the same work by hand in NumPy.

`python -m benchmarks` (or `make bench`) runs the table of `benchmarks.workloads`. A new workload is
one more entry there: a function of `benchmarks.taped` (the text that polygrad and PyTorch share),
its twin in `benchmarks.handwritten`, and the goals that it is held to.
"""
