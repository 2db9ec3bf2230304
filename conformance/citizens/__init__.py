"""Citizens of the array API: SciPy and scikit-learn, unmodified, are handed Tensors.

The tables `scipy_*` and `sklearn_*` hold calls as data. `verdict` runs one and says what became of
its gradient, compared with central differences of the same call on NumPy arrays. `python -m
citizens` runs them all and writes docs/scipy_and_sklearn.md; `results.json` holds what is expected.
"""
