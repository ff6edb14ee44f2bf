"""Elements are results of their own, as NumPy's scalars are: who writes to one is told how to write to the array."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compilers
import numloom as nl
from numloom.device import registry
from numloom.pycuda import gpuarray

ELEMENTS: dict[str, Callable[[], Any]] = {
    "of a vector": lambda: nl.zeros(3)[1],
    "of a pending vector": lambda: (nl.arange(3.0) * nl.asarray([1.0, 2, 3]) + nl.ones(3).sum())[1],
    "of a large vector": lambda: nl.zeros(100_000)[70_000],
    "of a matrix": lambda: nl.zeros((2, 3))[1, 2],
    "of rows": lambda: nl.zeros((2, 3))[1][-1],
    "of a strided view": lambda: nl.zeros(8)[::-2][1],
    "of no dimensions": lambda: nl.zeros(())[()],
    "of a scalar": lambda: nl.zeros(3).sum()[()],
    "by one of ours": lambda: nl.zeros(3)[nl.asarray(2)],
    "by a pending index": lambda: nl.zeros(3)[nl.argmax(nl.asarray([1.0, 3, 2]) * 2 + nl.zeros(3))],
    "by one of NumPy's": lambda: nl.zeros(3)[np.int64(2)],
    "by flat": lambda: nl.zeros((2, 3)).flat[4],
    "by a loop": lambda: next(iter(nl.zeros(3))),
    "by a long loop": lambda: next(iter(nl.zeros(100_000))),
    "by unpacking": lambda: operator.itemgetter(1)([*nl.zeros(3)]),
    "part of a complex": lambda: nl.zeros(3, "c16")[1].real,
    "transposed": lambda: nl.zeros(3)[1].T,
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "a ufunc": lambda t: nl.add(1.0, 2.0, out=t),
    "a ufunc of one": lambda t: nl.sqrt(nl.asarray(4.0), out=t),
    "a ufunc by position": lambda t: nl.add(nl.asarray(1.0), 2.0, t),
    "a ufunc's outputs": lambda t: nl.modf(1.5, out=(t, nl.zeros(()))),
    "a reduction": lambda t: nl.ones(4).sum(out=t),
    "reduce": lambda t: nl.add.reduce(nl.ones(4), out=t),
    "a mean": lambda t: nl.mean(nl.ones(4), out=t),
    "a product": lambda t: nl.dot(nl.ones(3), nl.ones(3), out=t),
    "clip": lambda t: nl.clip(nl.asarray(3.0), 0, 1, out=t),
    "median": lambda t: nl.median(nl.ones(3), out=t),
    "take": lambda t: nl.take(nl.ones(3), 1, out=t),
    "assignment": lambda t: operator.setitem(t, (), 4.0),
    "assignment to all": lambda t: operator.setitem(t, ..., 4.0),
    "fill": lambda t: t.fill(4.0),
    "copyto": lambda t: nl.copyto(t, 4.0),
    "put": lambda t: nl.put(t, [0], [4.0]),
    "place": lambda t: nl.place(t, [True], [4.0]),
    "putmask": lambda t: nl.putmask(t, [True], [4.0]),
    "add.at": lambda t: nl.add.at(t, (), 4.0),
    "flat": lambda t: operator.setitem(t.flat, 0, 4.0),
}
KERNELS: dict[str, Callable[[Any], Any]] = {
    "a kernel": lambda t: nl.ElementwiseKernel("T x", "T y", "y = x", "into")(nl.asarray(5.0), t),
    "a kernel at once": lambda t: nl.ElementwiseKernel("T x", "raw T y", "y[0] = x", "into_raw")(nl.asarray(5.0), t),
    "a reduction kernel": lambda t: nl.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "summed")(
        nl.ones(3), t
    ),
    "a raw kernel": lambda t: nl.RawKernel('extern "C" __global__ void f(double* x) { *x = 5; }', "f")(
        (1,), (1,), (t,)
    ),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("element", ELEMENTS)
def test_what_would_be_lost_is_refused(element: str, write: str) -> None:
    t = ELEMENTS[element]()
    before = float(t)
    with pytest.raises(TypeError, match=r"x\[1, \.\.\.\]"):
        WRITES[write](t)
    assert float(t) == before


@pytest.mark.compiler
@pytest.mark.parametrize("write", KERNELS)
def test_kernels_refuse_it(write: str) -> None:
    if nl.config.cpu_compile == "never" or (registry.current().name == "cpu" and compilers.found() is None):
        pytest.skip("kernels of users need a compiler")
    for element in ("of a vector", "of no dimensions"):
        with pytest.raises(TypeError, match=r"x\[1, \.\.\.\]"):
            KERNELS[write](ELEMENTS[element]())
    g = nl.zeros(3)
    KERNELS[write](g[1, ...])
    assert g.tolist() == [0, 3 if "reduction" in write else 5, 0]


@pytest.mark.parametrize("write", sorted(set(WRITES) - {"a ufunc's outputs"}))
def test_the_cures_write_to_the_array(write: str) -> None:
    g = nl.full(3, -1.0)
    WRITES[write](g[1, ...])
    assert g[0] == g[2] == -1
    assert g[1] in (1, 2, 3, 4)
    alone = nl.full((), -1.0)
    WRITES[write](alone)
    assert alone in (1, 2, 3, 4)
    element = nl.full(3, -1.0)
    WRITES[write](own := nl.asarray(element[1]))
    assert own in (1, 2, 3, 4)
    assert element.tolist() == [-1] * 3


def test_what_elements_still_do() -> None:
    g = nl.arange(4.0)
    t = g[1]
    t += 1
    t *= 3
    assert t == 6
    assert g.tolist() == [0, 1, 2, 3]
    for made in (
        g[1].copy(),
        g[1] + 0,
        nl.array(g[1]),
        g[1].reshape(1),
        g[1].reshape(()) + 0,
        g[1][None],
        g[1].ravel(),
        g[1].astype("f4"),
        g[1][...],
        nl.atleast_1d(g[1]),
        g.sum(),
        g.max(),
    ):
        nl.add(made, 5, out=made)
        assert made.reshape(-1)[0] in (6, 11, 8)
    assert g.tolist() == [0, 1, 2, 3]
    host = np.asarray(g[1]) if nl.zeros(1).device == "cpu" else g[1].get()
    host += 1  # Memory of its own, as NumPy's array of a scalar has.
    assert host == 2
    assert not g[1].flags.writeable
    g[2] = g[3]
    g[0], g[3] = g[3], g[0]
    assert g.tolist() == [3, 1, 3, 0]
    with pytest.raises(ValueError, match="read-only"):
        nl.broadcast_to(nl.asarray(1.0), ())[...] = 2


def test_elements_of_pycuda_are_views() -> None:
    a = gpuarray.to_gpu(np.arange(4.0))
    a[1].fill(7)
    a[2].set(np.asarray(8.0))
    nl.add(1.0, 2.0, out=a[3].array)
    assert a.get().tolist() == [0, 7, 8, 3]
