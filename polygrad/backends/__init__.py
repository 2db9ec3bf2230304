"""The backends that polygrad ships, as a catalogue: nothing is imported until it is needed."""

from __future__ import annotations

from polygrad.registry import Entry, register_backend

CATALOGUE = (
    Entry("numpy", "polygrad.backends.numpy_backend:NumpyBackend", ("cpu",), ("numpy",),
          "pip install numpy"),
    Entry("cupy", "polygrad.backends.cupy_backend:CupyBackend", ("cuda", "rocm"), ("cupy",),
          "pip install polygrad[cuda13] (or cuda12, or rocm)"),
    Entry("dpnp", "polygrad.backends.dpnp_backend:DpnpBackend", ("sycl",), ("dpnp",),
          "pip install polygrad[dpnp]"),
    Entry("jax", "polygrad.backends.jax_backend:JaxBackend", ("jax",), ("jax", "jaxlib"),
          "pip install polygrad[jax]"),
    Entry("strict", "polygrad.backends.strict_backend:StrictBackend", ("strict",),
          ("array_api_strict",), "pip install array-api-strict", hidden=True),
    Entry("frozen", "polygrad.backends.frozen_backend:FrozenBackend", ("frozen",), ("polygrad",),
          "pip install polygrad", hidden=True),
    Entry("sim", "polygrad.backends.sim_backend:SimBackend", ("sim",), ("polygrad",),
          "pip install polygrad", hidden=True),
)  # fmt: skip

for _entry in CATALOGUE:
    register_backend(_entry)
