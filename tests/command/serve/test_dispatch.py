"""The tables of what shares and what writes memory are complete, and calls cross to NumPy and back without loss."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import numloom
from numloom.array.ndarray import ndarray
from numloom.command.serve import namespace
from numloom.command.serve.crossing import Crossing
from numloom.command.serve.dispatch import VIEWS, WRITES, Dispatcher, ServedFunction
from numloom.command.serve.ledger import NUMLOOM, NUMPY
from numloom.command.serve.namespace import AS_THEY_ARE, Server
from numloom.command.serve.program import ServedProgram

MODULES = {"": np, "linalg.": np.linalg, "fft.": np.fft, "lib.stride_tricks.": np.lib.stride_tricks}
FILES = frozenset(("save", "savez", "savez_compressed", "savetxt", "load", "fromfile", "genfromtxt", "loadtxt", "test"))
GIVES_ITS_ARGUMENT = frozenset(("diff", "polyint", "linalg.matrix_power", "fft.fftn", "fft.ifftn"))
"""Functions that give the very argument back where nothing is to be done: no differences, the first power, no axes."""


def functions() -> Iterator[tuple[str, Any]]:
    for path, module in MODULES.items():
        for name in sorted(dir(module)):
            function = getattr(module, name)
            known = name.startswith("_") or name in FILES | AS_THEY_ARE
            if callable(function) and not isinstance(function, type) and not known:
                yield path + name, function


def arrays_in(result: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(result, np.ndarray):
        yield result
    elif isinstance(result, (tuple, list)):
        for item in result:
            yield from arrays_in(item)


def test_tables_of_views_and_writes_are_complete() -> None:
    shares, writes = set(), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in functions():
            for shape in ((4,), (2, 2), ()):
                for more in ((), (0, 1), ((2, 2),), (None, 2)):
                    host = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
                    given = ("ii->i", host) if name == "einsum" else ([host] if name == "ix_" else (host, *more))
                    before = host.copy()
                    try:
                        result = function(*given)
                    except Exception:
                        continue
                    if any(np.shares_memory(array, host) for array in arrays_in(result)):
                        shares.add(name)
                    if not np.array_equal(host, before):
                        writes.add(name)
    assert len(shares) > 30
    assert shares - VIEWS == shares & GIVES_ITS_ARGUMENT
    assert writes <= WRITES


@pytest.fixture
def server() -> Iterator[Server]:
    # The tests are the program.
    with Server(ServedProgram(also=(__name__.partition(".")[0],))) as server:
        yield server


@pytest.mark.parametrize(
    "name",
    ["sum", "cumsum", "dot", "take", "clip", "matmul", "concatenate", "round", "max", "std", "trace", "compress"],
)
def test_results_go_to_numpy_arrays_and_to_ours(server: Server, name: str) -> None:
    """Whether ``out=`` is NumPy's array or ours, that very memory is written and given back."""
    x = np.arange(9.0).reshape(3, 3)
    chosen = [True, False, True]
    given = {
        "clip": (x, 2, 5), "compress": (chosen, x), "concatenate": ([x, x],), "dot": (x, x), "matmul": (x, x),
        "round": (x, 0), "take": (x, [2, 0]),
    }.get(name, (x,))  # fmt: skip
    function, real = getattr(server.module("numpy"), name), getattr(np, name)
    expected = real(*given)
    for out in (np.empty_like(expected), numloom.zeros(expected.shape, expected.dtype)):
        for arguments in (given, tuple(numloom.asarray(one) if one is x else one for one in given)):
            out[...] = 0
            assert function(*arguments, out=out) is out
            np.testing.assert_allclose(numloom.asnumpy(out), expected, rtol=1e-12)


def test_what_numpy_writes_is_written_back() -> None:
    x, y = numloom.arange(4.0), numloom.ones(4)
    crossing = Crossing([x])
    host, other = crossing.out((x, [y]))
    host[1] = 9
    with pytest.raises(ValueError, match="read-only"):
        other[0][0] = 1
    crossing.write_back()
    assert x.tolist() == [0, 9, 2, 3]
    assert crossing.back((host, np.ones(2)))[0] is x
    assert type(crossing.back({"a": np.ones(2)})["a"]) is ndarray
    assert type(crossing.back(np.array(["a"]))) is np.ndarray


def test_errors_of_the_data_are_raised_once() -> None:
    dispatcher = Dispatcher(ServedProgram(also=(__name__.partition(".")[0],)))
    calls = []

    def fail(x: Any) -> None:
        calls.append(x)
        raise np.linalg.LinAlgError("singular")

    with pytest.raises(np.linalg.LinAlgError):
        ServedFunction(dispatcher, "linalg.inv", fail, np.linalg.inv)(np.eye(2))
    assert len(calls) == 1
    assert "linalg.inv" not in dispatcher.ledger.calls  # it gave nothing


def test_libraries_get_their_own_arrays_from_callbacks(server: Server) -> None:
    """A function of the namespace that a library calls with NumPy's arrays gives NumPy's arrays, and is not counted."""
    library: dict[str, Any] = {"__name__": "some_library", "__file__": "/site-packages/some_library.py"}
    exec("def call(function, x): return function(x)", library)
    host = np.arange(3.0)
    assert type(library["call"](server.module("numpy").cumsum, host)) is np.ndarray
    assert type(server.module("numpy").cumsum(host)) is ndarray
    assert server.ledger.calls["cumsum"].count == {NUMLOOM: 1}


def test_functions_that_libraries_call_on_our_arrays(server: Server) -> None:
    """NumPy itself, given our arrays, answers where numloom has none: `__array_function__` and `__array_ufunc__`."""
    x = numloom.arange(4.0)
    assert np.frompyfunc(lambda v: v + 1, 1, 1)(x).tolist() == [1, 2, 3, 4]
    assert isinstance(np.ma.masked_greater(x, 1).filled(0), np.ndarray)
    host = np.ones(4)
    host *= x
    assert host.tolist() == [0, 1, 2, 3]
    assert np.kaiser(4, 2.0).shape == np.broadcast_to(x, (2, 4)).shape[1:]
    assert server.ledger.calls["multiply"].count == {NUMPY: 1}


def test_the_server_leaves_nothing_behind() -> None:
    before = importlib.import_module("builtins").__import__
    with Server(ServedProgram()) as server:
        assert server.module("numpy").linalg is server.module("numpy.linalg")
        assert repr(numloom.ones(2).sum()) == "np.float64(2.0)"
    assert importlib.import_module("builtins").__import__ is before
    assert repr(numloom.ones(2).sum()) == "array(2.)"
    with pytest.raises(TypeError):
        numloom.ones(2).astype(object)


def test_pillow_is_told_of_the_layout(server: Server) -> None:
    """It asks for ``__array_interface__`` and takes the bytes by ``tobytes``; other libraries do not see that."""
    x = numloom.zeros((2, 3), np.uint8)
    pillow: dict[str, Any] = {"__name__": "PIL.Image", "__file__": "/site-packages/PIL/Image.py"}
    exec("def describe(array): return array.__array_interface__", pillow)
    described = pillow["describe"](x)
    assert (described["shape"], described["typestr"], described["strides"]) == ((2, 3), "|u1", (3, 1))
    other: dict[str, Any] = {"__name__": "other", "__file__": "/site-packages/other.py"}
    exec("def is_described(array): return hasattr(array, '__array_interface__')", other)
    assert not other["is_described"](x)


def test_memory_that_the_host_does_not_see_is_copied(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``__array__`` does for the program on a GPU, where numloom refuses it."""
    gpu = SimpleNamespace(current=lambda: SimpleNamespace(discrete=True))
    monkeypatch.setattr(namespace, "registry", gpu)
    x = numloom.arange(4.0)
    host = server._host_array(x, np.float32)
    assert type(host) is np.ndarray and host.dtype == np.float32 and host.flags.writeable
    host[0] = 7
    assert x.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        server._host_array(x, None, False)


@pytest.mark.cuda
def test_libraries_get_copies_of_what_lies_on_a_gpu(server: Server) -> None:
    host = np.asarray(numloom.arange(4.0))
    assert type(host) is np.ndarray and host.tolist() == [0, 1, 2, 3]
    assert sum(copies.nbytes for copies in server.ledger.downloads.values()) == 32


class Result(tuple[Any, ...]):
    """As SciPy's results: a tuple with names, made of all its items at once, and more that stands beside them."""

    _fields = ("statistic", "pvalue")

    def __new__(cls, statistic: Any, pvalue: Any, df: Any) -> Result:
        return tuple.__new__(cls, (statistic, pvalue))

    def __init__(self, statistic: Any, pvalue: Any, df: Any) -> None:
        self.df = df


def test_named_tuples_with_more_beside_them_cross() -> None:
    array = numloom.asarray([1.0, 2.0])
    given = Result(array, 0.5, numloom.asarray([3.0]))
    crossing = Crossing([])
    out = crossing.out(given)
    assert type(out) is Result and out is not given
    assert type(out[0]) is np.ndarray and out[1] == 0.5 and type(out.df) is np.ndarray
    back = crossing.back(out)
    assert type(back) is Result and back[0] is array and type(back.df) is ndarray
    point = SimpleNamespace(x=1)
    assert crossing.out(point) is point
