"""The workloads by hand, in NumPy and dpnp: no tape, gradients derived on paper.

Written as for production: one matrix product where one will do, in place where nobody looks at the
old value, large results into arrays that are kept from step to step. The tests compare values and
gradients with those of the tape.
"""
