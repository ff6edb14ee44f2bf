"""Users' kernels called once for each row of a matrix: raw ones by their name, reductions written out as a loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import numloom as nl
from numloom.base.dtypes import DTYPES
from numloom.base.wording import counted
from numloom.emit.user import USER_TYPES
from numloom.kernels.elementwise import ElementwiseKernel
from numloom.kernels.raw import RawKernel, RawModule
from numloom.kernels.reduction import ReductionKernel

Array = Any
_THREADS = 128
_SIZES = "typedef decltype((char*)0 - (char*)0) ptrdiff_t;"
"""What users' functions of lines name the lengths' type by; not every compiler of kernels declares it."""
_TAKES = {3: "(const double* window, int size, double* result)",
          4: "(const double* line, ptrdiff_t length, double* result, ptrdiff_t result_length)"}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """What makes one value of each row of a matrix of this dtype."""

    dtype: np.dtype[Any]
    run: Callable[[Array], Array]


def over_rows(function: Any, given: np.dtype[Any], asked: np.dtype[Any]) -> Rows:
    """A kernel as what runs over the rows that windows are.

    Parameters
    ----------
    function : RawKernel or ReductionKernel
        The user's.
    given : dtype
        Of the array whose windows they are.
    asked : dtype
        Of the result; a reduction whose output has a placeholder of its own makes it.

    Raises
    ------
    TypeError
        For another kernel, complex windows of a raw one, or a reduction of other than one array to one number.

    Examples
    --------
    >>> total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    >>> rows = over_rows(total, nl.dtype("i4"), nl.dtype("f8"))
    >>> rows.run(nl.array([[1, 2], [3, 4]], rows.dtype))
    array([3, 7], dtype=int32)
    """
    if isinstance(function, RawKernel):
        if given.kind == "c":
            raise TypeError("Complex type not supported: a RawKernel gets doubles; filter .real and .imag on their own")
        return Rows(np.dtype("f8"), lambda rows: call_on_rows(function, rows, 1, lines=False).reshape(-1))
    if not isinstance(function, ReductionKernel):
        raise TypeError(f"only RawKernel and ReductionKernel filter windows, not {type(function).__name__}")
    if function.nin != 1 or function.nout != 1 or function.in_params[0].raw:
        raise TypeError(f"kernel {function.name}: ReductionKernel must have 1 input, which is not raw, and 1 output")
    taken, made = function.in_params[0], function.out_params[0]
    of = given if taken.code < 0 else DTYPES[taken.code]
    to = DTYPES[made.code] if made.code >= 0 else of if made.type == taken.type else asked

    def run(rows: Array) -> Array:
        results = nl.empty(rows.shape[0], to)
        _loop(function)(rows.reshape(-1), rows.shape[1], results)
        return results

    return Rows(of, run)


@lru_cache(64)
def _loop(kernel: ReductionKernel) -> ElementwiseKernel:
    """A reduction as a kernel with a thread for each row of a matrix, which is given as one line."""
    taken, made = kernel.in_params[0], kernel.out_params[0]
    total = kernel.reduce_type or (made.type if made.code < 0 else USER_TYPES[made.code])
    operation = f"""
const {taken.type}* const _raw_{taken.name} = &nl_rows[i * nl_count];
indexer<1> _in_ind, _out_ind;
_in_ind.count = _in_ind.extents[0] = nl_count;
_out_ind.count = _out_ind.extents[0] = 1;
_out_ind.set(0);
typedef {total} _type_reduce;
_type_reduce nl_total = _type_reduce({kernel.identity or 0});
for (ptrdiff_t nl_at = 0; nl_at < nl_count; ++nl_at) {{
    _type_reduce nl_value;
    {{
        _in_ind.set(nl_at);
        const ptrdiff_t i = nl_at, n = nl_count;
        const {taken.type} {taken.name} = _raw_{taken.name}[nl_at];
        nl_value = (_type_reduce)(
{kernel.map_expr}
        );
    }}
    if (nl_at == 0 && {"true" if kernel.identity is None else "false"}) {{ nl_total = nl_value; continue; }}
    const _type_reduce a = nl_total, b = nl_value;
    nl_total = (_type_reduce)(
{kernel.reduce_expr}
    );
}}
_type_reduce a = nl_total;
{kernel.post_map_expr};
"""
    return ElementwiseKernel(
        f"raw {taken.type} nl_rows, int64 nl_count", f"{made.type} {made.name}", operation, kernel.name,
        preamble=kernel.preamble, options=kernel.options,
    )  # fmt: skip


def call_on_rows(function: RawKernel, rows: Array, length: int, *, lines: bool) -> Array:
    """What a raw kernel, called as a function, makes of each row: a row of `length`.

    Parameters
    ----------
    function : RawKernel
        Of doubles; see `_TAKES`.
    rows : ndarray
        A contiguous matrix of float64, which the kernel may change.
    length : int
        Of a result.
    lines : bool
        Whether the kernel is told the result's length.
    """
    count = 4 if lines else 3
    declared = function.source.reader.parameters(function.name)
    if declared is not None and len(declared) != count:
        raise TypeError(f"kernel {function.name} takes {counted(len(declared), 'argument')}; a filter's is "
                        f"__global__ void {function.name}{_TAKES[count]}")  # fmt: skip
    if not function.source.sources:
        raise TypeError(f"kernel {function.name} is of a compiled file: a filter needs its source")
    results = nl.empty((rows.shape[0], length))
    if results.size:
        caller = _caller(tuple(function.source.sources.values()), function.source.options, function.name, lines)
        arguments = (rows, rows.shape[1], results, length, rows.shape[0])
        caller((-(-rows.shape[0] // _THREADS),), (_THREADS,), arguments)
    return results


@lru_cache(64)
def _caller(sources: tuple[str, ...], options: tuple[str, ...], name: str, lines: bool) -> RawKernel:
    """A kernel with a thread for each row, that calls the user's as a function."""
    text = "\n".join((_SIZES, *(re.sub(r"\b__global__\b", "__device__", source) for source in sources)))
    told = ", nl_out_length" if lines else ""
    text += f"""
extern "C" __global__ void nl_each_row(
    double* nl_in, long long nl_in_length, double* nl_out, long long nl_out_length, long long nl_rows
) {{
    const long long nl_row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (nl_row < nl_rows) {name}(nl_in + nl_row * nl_in_length, nl_in_length, nl_out + nl_row * nl_out_length{told});
}}
"""
    return RawModule(text, options=options).get_function("nl_each_row")


__all__ = ["Rows", "call_on_rows", "over_rows"]
