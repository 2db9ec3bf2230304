"""The workloads for peers that differentiate functions of NumPy's namespace: JAX, autograd, MyGrad.

`losses` has one text for all three; `peers` has each one's way to differentiate it.
"""
