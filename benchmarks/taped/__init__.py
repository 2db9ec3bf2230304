"""The workloads for polygrad and for PyTorch: one text, `lib` being either.

Each function sets a workload up on `device` and returns its step, for the clock. A step ends by
reading its loss where there is one, as a training loop does; that also waits for a GPU.
"""
