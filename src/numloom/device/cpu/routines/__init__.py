"""Device-wide routines of the host: those that gain over NumPy's, or from writing where the result belongs.

Names and options are those of the rows in `numloom.ops.routines`; a routine is called as
``routine(device, *operands, out=..., **options)``, operands and `out` being `Strided`. A row that is not
here runs by its NumPy twin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numloom.device.cpu.routines.counting import histogram, searchsorted, unique
from numloom.device.cpu.routines.order import argsort, scan, sort
from numloom.device.cpu.routines.products import matmul
from numloom.device.cpu.routines.selecting import compress, nonzero

ROUTINES: dict[str, Callable[..., Any]] = {
    "matmul": matmul, "sort": sort, "argsort": argsort, "scan": scan, "compress": compress, "nonzero": nonzero,
    "histogram": histogram, "searchsorted": searchsorted, "unique": unique,
}  # fmt: skip
