"""`python -m polygrad_conformance`."""

from __future__ import annotations

import sys

from polygrad_conformance.cli import main

sys.exit(main())
