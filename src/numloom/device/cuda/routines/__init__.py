"""Device-wide routines on CUDA, by the names of `numloom.ops.routines`.

A routine is called as ``routine(device, *operands, out=..., **options)``, operands and `out` being `Strided`. A
row that is not here runs by its NumPy twin on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numloom.base import later
from numloom.device.cuda.routines.compaction import compress, nonzero
from numloom.device.cuda.routines.correlation import correlate
from numloom.device.cuda.routines.counting import bincount, histogram
from numloom.device.cuda.routines.edges import bin_edges
from numloom.device.cuda.routines.folding import fold, reduceat
from numloom.device.cuda.routines.fourier import fourier
from numloom.device.cuda.routines.order import argpartition, argsort, lexsort, partition, searchsorted, sort, unique
from numloom.device.cuda.routines.products import bound_matmul, matmul
from numloom.device.cuda.routines.scans import scan
from numloom.device.cuda.routines.scattering import scatter
from numloom.device.cuda.routines.scripts import Remembered, recorded, recorded_in_place
from numloom.device.cuda.routines.solver import ROUTINES as FACTORIZATIONS
from numloom.device.cuda.routines.summing import weighted_bincount

later.prepare()  # The compiled classes that came with them.

ROUTINES: dict[str, Callable[..., Any]] = {
    "argpartition": argpartition,
    "argsort": argsort,
    "bin_edges": bin_edges,
    "bincount": bincount,
    "compress": compress,
    "correlate": correlate,
    "fold": fold,
    "fourier": fourier,
    "histogram": histogram,
    "lexsort": lexsort,
    "matmul": matmul,
    "nonzero": nonzero,
    "partition": partition,
    "reduceat": reduceat,
    "scan": scan,
    "scatter": Remembered(scatter, "location"),
    "searchsorted": searchsorted,
    "sort": sort,
    "unique": unique,
    "weighted_bincount": weighted_bincount,
    **FACTORIZATIONS,
}

RECORDED = (
    "argpartition", "argsort", "bin_edges", "correlate", "fold", "fourier", "histogram", "lexsort", "partition",
    "reduceat", "scan", "searchsorted", "sort", "weighted_bincount",
)  # fmt: skip
"""Those that do nothing but queue what follows from the forms of their operands."""
BOUND: dict[str, Callable[..., Callable[..., Any] | None]] = {
    "matmul": bound_matmul,
    "scatter": partial(recorded_in_place, scatter),
    **{name: partial(recorded, ROUTINES[name]) for name in RECORDED},
}
"""Routines that can be had for operands of one form: called with these they give what takes addresses alone."""
