"""How the blocks of a launch read a vector, once: by packs of 16 bytes, several at once, where it has no gaps."""

from __future__ import annotations

from collections.abc import Callable

from numloom.device.cuda.routines.kernels import address
from numloom.device.interface import Strided

THREADS = 512
PACKS = 4
BLOCKS = 264

PACK = f"""\
constexpr int VEC = 16 / sizeof(T), SPAN = {THREADS} * VEC, TILE = {PACKS} * SPAN;
struct alignas(16) Pack {{ T x[VEC]; }};"""
"""What `each_element` needs, behind the definition of T."""


def each_element(statement: Callable[[str], str]) -> str:
    """Text of the loop over the elements of a block.

    Parameters
    ----------
    statement : callable
        The statement for one element, given the expression for it.

    Returns
    -------
    str
        The parameters `p` are to have ``const T* a`` and the i64 `n`, `step` and `wide`.
    """
    return f"""\
    const i64 step = (i64)gridDim.x * TILE;
    for (i64 start = (i64)blockIdx.x * TILE; start < p.n; start += step) {{
        if (p.wide && start + TILE <= p.n) {{
            Pack packs[{PACKS}];
#pragma unroll
            for (int k = 0; k < {PACKS}; ++k)
                packs[k] = *reinterpret_cast<const Pack*>(p.a + start + k * SPAN + (i64)threadIdx.x * VEC);
#pragma unroll
            for (int k = 0; k < {PACKS}; ++k)
#pragma unroll
                for (int v = 0; v < VEC; ++v) {statement("packs[k].x[v]")}
        }} else {{
            for (i64 i = start + threadIdx.x; i < start + TILE && i < p.n; i += {THREADS})
                {statement("p.a[i * p.step]")}
        }}
    }}"""


def is_wide(a: Strided) -> bool:
    """Whether the vector can be read by packs."""
    return a.strides[0] == 1 and address(a) % 16 == 0


def blocks_of(a: Strided, most: int = BLOCKS) -> int:
    """How many blocks read the vector."""
    return min(-(-a.shape[0] // (THREADS * PACKS * (16 // a.dtype.itemsize))), most)


__all__ = ["BLOCKS", "PACK", "THREADS", "blocks_of", "each_element", "is_wide"]
