"""Values and gradients of polygrad beside those of PyTorch, over all combinations of arguments.

A development check: it needs `torch`, and no test of `make test` imports it.
"""
