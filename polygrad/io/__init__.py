"""Saving and loading: safetensors files, which hold numbers and no code."""

from __future__ import annotations

from polygrad.io.files import Contents, TensorInfo, describe, load, save

__all__ = ["Contents", "TensorInfo", "describe", "load", "save"]
