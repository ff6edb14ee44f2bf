"""Ready-made loops over every kind of layout, at sizes around the widths of their vectors.

A result's bits do not depend on how its operands lie: an operation on a view has the bits of the same on a packed copy.
The memory of results holds no zeros (``config.poison``, which the suite sets), so that what is left unwritten shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl

uncompiled = sys.modules["numloom.array.ndarray"].__file__.endswith(".py")  # type: ignore[union-attr]
pytestmark = pytest.mark.skipif(uncompiled, reason="there are no ready-made loops in the uncompiled core")
Host = np.ndarray[Any, Any]
SIZES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130, 257, 1000)
DTYPES = "?bBhHiIqQefdFD"
SHORT = (2, 3, 7)


def layouts(size: int) -> Iterator[tuple[str, int, Any]]:
    """Kinds of views of about `size` elements: a name, elements of memory, and what makes a view of an array."""

    def strided(xp: Any, a: Any, *args: Any) -> Any:
        shape, steps = args
        return xp.lib.stride_tricks.as_strided(a, shape, tuple(step * a.dtype.itemsize for step in steps))

    yield "packed", size, lambda xp, a: a
    yield "offset", size + 1, lambda xp, a: a[1:]
    yield "reversed", size, lambda xp, a: a[::-1]
    yield "every other", 2 * size, lambda xp, a: a[::2]
    yield "every eighth", 8 * size, lambda xp, a: a[::8]
    yield "backwards by three", 3 * size, lambda xp, a: a[::-3]
    yield "one element", 1, lambda xp, a: xp.broadcast_to(a, (size,))
    yield "a column", 8 * size, lambda xp, a: a.reshape(size, 8)[:, 3]
    for width in SHORT:
        rows = max(size // width, 1)
        cut = lambda xp, a, rows=rows, width=width: a.reshape(rows, 8)[:, :width]  # noqa: E731
        yield f"rows of {width}", 8 * rows, cut
        yield f"rows of {width}, both ways round", 8 * rows, lambda xp, a, cut=cut: cut(xp, a)[::-1, ::-1]
        yield f"columns of {rows} beside {width}", 8 * rows, lambda xp, a, cut=cut: cut(xp, a).T
        yield f"a row of {width} again", width, lambda xp, a, n=rows, w=width: xp.broadcast_to(a, (n, w))
        yield f"a column beside {width}", rows, lambda xp, a, n=rows, w=width: xp.broadcast_to(a[:, None], (n, w))
        yield f"windows of {width}", rows + width, lambda xp, a, n=rows, w=width: strided(xp, a, (n, w), (1, 1))


def numbers(rng: np.random.Generator, dtype: str, size: int) -> Host:
    """Numbers of a dtype in which zeros are few, and of floats all kinds of special ones."""
    if dtype == "?":
        return rng.random(size) < 0.7
    found = rng.integers(1, 90, size) * np.where((rng.random(size) < 0.3) & (dtype not in "BHIQ"), -1, 1)
    host = found.astype(dtype)
    if dtype in "efdFD":
        host /= host.dtype.type(8)
        for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            host[rng.random(size) < 0.06] = special
        if dtype in "FD":
            host = host + host.dtype.type(1j) * np.roll(host.real, 1)
    return host


def bits(array: Any) -> tuple[Any, bytes]:
    """A result's dtype and bytes, NaN of any sign and payload being one; of bools as they lie in memory."""
    host = np.ascontiguousarray(nl.asnumpy(array)).reshape(-1)
    if host.dtype.kind in "fc":
        parts = host.view(host.real.dtype)
        host = np.where(np.isnan(parts), np.nan, parts)
    return array.shape, host.tobytes()


def of_any_zero(found: Any, right: Any) -> bool:
    """Return True if results are equal; of zeros of either sign their order decides which one is the maximum."""
    return bool(found.dtype == right.dtype and np.array_equal(found.get(), right.get(), equal_nan=True))


def check_layouts(function: Any, dtype: str, same: Any = lambda found, right: bits(found) == bits(right)) -> None:
    """Compare a function of one array on each kind of view with the same on a packed copy."""
    rng = np.random.default_rng(len(dtype))
    for size in SIZES:
        for name, count, view in layouts(size):
            memory = numbers(rng, dtype, count)
            lent = nl.asarray(memory)
            nl.evaluate(lent)
            packed = nl.asarray(np.ascontiguousarray(view(np, memory)))
            nl.evaluate(packed)
            found, right = function(view(nl, lent)), function(packed)
            assert same(found, right), (name, size, dtype)


def taken(function: Any, dtype: str) -> bool:
    """Return True if NumPy's function of this name takes a dtype."""
    one = np.ones(2, dtype)
    try:
        getattr(np, function.__name__)(*[one] * function.nin)
    except TypeError:
        return False
    return True


UNARY = sorted(
    name
    for name in dir(nl)
    if isinstance(f := getattr(nl, name), nl.ufunc) and (f.nin, f.nout, f.signature) == (1, 1, None)
)
BINARY = sorted(
    name
    for name in dir(nl)
    if isinstance(f := getattr(nl, name), nl.ufunc) and (f.nin, f.nout, f.signature) == (2, 1, None)
)


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Ready-made loops do all work; what a loop says of numbers out of its range is not asked here."""
    with nl.config(cpu_compile="never"), nl.errstate(all="ignore"), np.errstate(all="ignore"):
        yield


def test_memory_holds_no_zeros() -> None:
    assert nl.config.poison
    assert nl.empty(400, "u1").get().tolist() == [0xFB] * 400


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand(name: str) -> None:
    function = getattr(nl, name)
    for dtype in DTYPES:
        if taken(function, dtype):
            check_layouts(function, dtype)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands(name: str) -> None:
    function = getattr(nl, name)
    for dtype in "?bHiqefD":
        if not taken(function, dtype) or (dtype in "bHiq" and name in ("pow", "power", "float_power", "ldexp")):
            continue
        check_layouts(lambda view: function(view, view), dtype)
        if dtype in "iD":
            check_layouts(lambda view: function(view, view[:1]), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_copies_choices_and_parts(dtype: str) -> None:
    for other in DTYPES:
        if not (dtype in "FD" and other not in "FD"):
            check_layouts(lambda view, to=other: view.astype(to), dtype)
    check_layouts(lambda view: view.copy(), dtype)
    check_layouts(lambda view: nl.where(view != 1, view, view[:1]), dtype)
    check_layouts(lambda view: view[view != 1], dtype)
    check_layouts(lambda view: view[nl.arange(len(view) - 1, -1, -1)], dtype)
    check_layouts(lambda view: nl.concatenate([view, view]), dtype)
    check_layouts(lambda view: view.real + view.imag, dtype if dtype in "FD" else "d")


@pytest.mark.parametrize(
    "name", ["max", "min", "argmax", "argmin", "any", "all", "sum", "prod", "cumsum", "count_nonzero"]
)
@pytest.mark.parametrize("dtype", "?biqfdD")
def test_reductions(name: str, dtype: str) -> None:
    function = getattr(nl, name)
    for axis in (None, 0, -1):
        if name in ("sum", "prod") and dtype in "fdD":  # What lies dense decides in which order these are added up.
            continue
        by = (of_any_zero,) if name in ("max", "min") else ()
        check_layouts(lambda view, axis=axis: function(view, axis=axis), dtype, *by)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_that_do_not_lie_packed(dtype: str) -> None:
    """Into views of every kind an operation writes what it gives, and nothing beside them."""
    rng = np.random.default_rng(3)
    for size in SIZES:
        for name, count, view in layouts(size):
            if "again" in name or "one element" in name or "column beside" in name or "windows" in name:
                continue  # Elements that share memory.
            memory = numbers(rng, dtype, count)
            values = numbers(rng, dtype, view(np, memory).size).reshape(view(np, memory).shape)
            ours = nl.asarray(memory)
            nl.evaluate(ours)
            for function in (nl.isfinite, nl.logical_not, nl.conjugate):
                if dtype == "?" and function is nl.conjugate:
                    continue
                host = memory.copy()
                view(np, host)[...] = getattr(np, function.__name__)(values).astype(dtype)
                view(nl, ours)[...] = function(nl.asarray(values)).astype(dtype)
                assert bits(ours) == bits(host), (name, size, function)
                memory = host
