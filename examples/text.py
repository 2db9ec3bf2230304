"""A text that every Python has: what help() says about its topics, some 460,000 letters."""

from __future__ import annotations

from pydoc_data.topics import topics

import numpy as np


def load_text(limit=None):
    """The text as numbers, and the letters that they stand for."""
    text = "\n".join(topics[name] for name in sorted(topics))[:limit]
    letters, codes = np.unique(list(text), return_inverse=True)
    return codes, letters
