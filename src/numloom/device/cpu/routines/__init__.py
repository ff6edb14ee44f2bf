"""Device-wide routines of the host, over NumPy: those that gain from writing where the result belongs.

Names and options are those of the rows in `numloom.ops.routines`; a routine is called as
``routine(device, *operands, out=..., **options)``, operands and `out` being `Strided`. A row that is not
here runs by its NumPy twin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numloom.device.cpu.routines.order import argsort, scan, sort
from numloom.device.cpu.routines.products import matmul

ROUTINES: dict[str, Callable[..., Any]] = {"matmul": matmul, "sort": sort, "argsort": argsort, "scan": scan}
