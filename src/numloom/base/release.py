"""The NumPy that is installed: programs see what they saw with it, also where releases differ."""

from __future__ import annotations

import numpy as np

RELEASE: tuple[int, ...] = tuple(int(part) for part in np.__version__.split(".")[:2])

FROM_2_5 = RELEASE >= (2, 5)
"""`eig` is always complex; vectors of two elements, fractional bins and numbers that do not fit are errors."""
