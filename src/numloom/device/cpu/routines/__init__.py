"""Device-wide routines of the host: those that gain over NumPy's, or from writing where the result belongs.

Names and options are those of the rows in `numloom.ops.routines`; a routine is called as
``routine(device, *operands, out=..., **options)``, operands and `out` being `Strided`. A row that is not
here runs by its NumPy twin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numloom.device.cpu.hostview import ByAddresses, Product, as_array
from numloom.device.cpu.routines.counting import histogram, searchsorted, unique
from numloom.device.cpu.routines.order import argsort, scan, sort
from numloom.device.cpu.routines.products import fields_of, matmul, multiply
from numloom.device.cpu.routines.selecting import compress, nonzero
from numloom.device.interface import Strided
from numloom.ops.routines import ROUTINES as ROWS

OF_ARRAYS: dict[str, Callable[..., None]] = {
    "sort": sort, "argsort": argsort, "scan": scan, "searchsorted": searchsorted,
}  # fmt: skip
"""Routines that take the device and NumPy arrays, the last of which they write."""
PRODUCTS: dict[str, Callable[..., None]] = {"matmul": multiply}
"""The same, of dtypes that BLAS has."""


def _of_memory(function: Callable[..., None]) -> Callable[..., None]:
    """A routine of arrays, for memory."""

    def run(device: Any, *operands: Strided, out: Strided, **options: Any) -> None:
        function(device, *map(as_array, operands), as_array(out), **options)

    return run


ROUTINES: dict[str, Callable[..., Any]] = {
    "matmul": matmul, "compress": compress, "nonzero": nonzero, "histogram": histogram, "unique": unique,
    **{name: _of_memory(function) for name, function in OF_ARRAYS.items()},
}  # fmt: skip


def bound(device: Any, name: str, operands: tuple[Strided, ...], options: dict[str, Any]) -> Any:
    """The routine (or its twin) for addresses of arrays that lie like these; None of one that takes memory.

    An option that is given as ... is a number that follows the addresses.
    """
    if ByAddresses is None:
        return None
    functions = OF_ARRAYS
    if name == "matmul" and options["out"].dtype.kind in "fc" and options["out"].dtype.itemsize > 2:
        functions = PRODUCTS
    elif name in ROUTINES and name not in OF_ARRAYS:
        return None
    given = [*operands, options["out"]] if "out" in options else [*operands]
    layouts = tuple([(x.shape, tuple([step * x.dtype.itemsize for step in x.strides]), x.dtype) for x in given])
    fixed = {key: value for key, value in options.items() if key != "out" and value is not ...}
    names = tuple([key for key, value in options.items() if value is ...])
    gives = "out" in options and name not in functions
    function = partial(functions[name], device) if name in functions else ROWS[name].numpy
    told = function, fixed, layouts, gives, names, device.pool.error_at
    fields = fields_of(*map(as_array, given)) if functions is PRODUCTS else None
    return ByAddresses(*told) if fields is None else Product(*told, fields)
