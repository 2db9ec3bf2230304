"""polygrad beside other libraries: SciPy, scikit-learn, einops, functions that it cannot see into.

Nothing here imports any of them: `polygrad.interop.imports` waits until somebody else does.
"""
