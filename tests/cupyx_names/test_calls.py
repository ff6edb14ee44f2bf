"""Every name of the table gives what SciPy's own gives for the same values."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy
import pytest
from tests.cupyx_names.calls import CALLS as OTHERS
from tests.cupyx_names.signal_calls import SIGNAL, SPECIAL, WINDOWS

import numloom as nl
from numloom.cupyx.scipy import host
from numloom.cupyx.scipy.lookup import member, public
from numloom.cupyx.scipy.table import ELSEWHERE, HOST, OURS

pytest.importorskip("scipy")
_draw = numpy.random.default_rng(5).random
POINTS = numpy.r_[numpy.array([[0, 0], [0, 3.0], [3, 0], [3, 3]]), _draw((6, 2)) * 2 + 0.4]
VALUES: dict[str, Any] = {
    "im": _draw((6, 7)), "sq": _draw((3, 3)) + numpy.eye(3), "tri": numpy.triu(_draw((3, 3)) + 1),
    "v": _draw(8) + 0.5, "v3": _draw(3), "v4": numpy.array([0.5, 1.25, 2.5, 3.0]), "v7": _draw(7),
    "piv": numpy.array([0, 2, 2], "int32"), "mask": _draw((5, 5)) > 0.4, "labels": numpy.arange(42).reshape(6, 7) // 9,
    "shear": numpy.array([[1, 0.2], [0.1, 1]]), "places": _draw((2, 5)) * 4, "t": numpy.arange(10.0), "w": _draw(10),
    "points": POINTS, "centre": numpy.array([[1.0, 1.5], [0.7, 1.1]]), "coeffs": _draw((3, 2)),
    "breaks": numpy.array([0.0, 2.0, 4.0]), "knots": numpy.array([0.0, 0, 0, 2, 4, 4, 4]),
    "inner": numpy.array([3.0, 6.0]),
    "sq4": _draw((4, 4)), "cube": _draw((3, 3, 2, 2)), "v3s": numpy.arange(3.0), "v4s": numpy.arange(4.0),
    "wave": numpy.sin(numpy.arange(64.0) / 3), "num": numpy.array([1.0, 0.5]), "den": numpy.array([1.0, 0.3, 0.1]),
    "sos": numpy.array([[1.0, 0.5, 0.2, 1, 0.3, 0.1]]), "col": _draw((3, 1)), "row": _draw((1, 3)),
    "one": _draw((1, 1)),
    "edges": numpy.array([0.0, 0.3, 0.5, 1]), "ends": numpy.array([1.0, 1, 0, 0]), "ones": numpy.ones((3, 3)),
    "peaks": numpy.array([5, 24]), "poles": numpy.array([-1.0, -2, -3]), "passb": numpy.array([0.1, 0.6]),
    "wide": numpy.outer(numpy.hanning(40), numpy.hanning(40)), "stopb": numpy.array([0.3, 0.4]),
    "im34": _draw((3, 4)), "lsq": numpy.array([0.0, 0, 0, 0, 4, 9, 9, 9, 9]), "x": numpy.linspace(0.1, 0.9, 5),
}  # fmt: skip


def double(line: Any, output: Any) -> None:
    output[...] = line * 2


def derivative(input: Any, axis: int, output: Any, mode: str, cval: float) -> Any:
    return importlib.import_module("scipy.ndimage").sobel(input, axis, output, mode, cval)


CALLS = {**OTHERS, "signal": SIGNAL, "signal.windows": WINDOWS, "special": SPECIAL}
KNOWN = {"greater": numpy.greater, "max": max, "float": float, "double": double, "derivative": derivative}
TABLE = [(module, name) for module, calls in CALLS.items() for name in calls]


def answer(function: Any, call: str, values: dict[str, Any]) -> Any:
    """The function's answer, or what the object that it makes answers to the arguments behind the semicolon."""
    first, _, second = call.partition(";")
    scope = {"f": function, **KNOWN, **values}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = eval(f"f({first})", scope)
        return eval(f"made({second})", {**scope, "made": made}) if second else made


def same(ours: Any, theirs: Any) -> None:
    """Our arrays have the values and dtypes of SciPy's; objects that hold SciPy's are of the same class."""
    if isinstance(theirs, numpy.ndarray | numpy.generic) and theirs.dtype.kind in "biufc":
        assert isinstance(ours, nl.ndarray) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
        numpy.testing.assert_allclose(ours.get(), theirs, rtol=1e-6, atol=1e-9)
    elif isinstance(theirs, tuple | list):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            same(*pair)
    elif isinstance(theirs, dict):
        same(list(ours.values()), list(theirs.values()))
    elif isinstance(ours, host.Held):
        assert ours._of is type(theirs)
    elif isinstance(theirs, Exception):
        assert type(ours) is type(theirs) and ours.args == theirs.args
    else:
        assert ours == theirs


@pytest.mark.parametrize(("module", "name"), TABLE)
def test_a_name_gives_what_scipy_gives(module: str, name: str) -> None:
    theirs = ELSEWHERE.get(module, {}).get(name, f"scipy.{module}.{name}")
    place, _, last = theirs.rpartition(".")
    arrays = {key: nl.asarray(value) for key, value in VALUES.items()}
    given = answer(member(module, name), CALLS[module][name], arrays)
    same(given, answer(getattr(importlib.import_module(place), last), CALLS[module][name], VALUES))


def test_every_name_that_scipy_computes_is_called() -> None:
    special = {*importlib.import_module("numloom.special").__all__}
    told = {(module, name) for module in HOST for name in public(module) if module != "special" or name not in special}
    ours = {(module, name) for module, names in OURS.items() for name in names}
    assert told - ours == {*TABLE}


@pytest.mark.parametrize(("module", "name"), [(m, n) for m in HOST for n in public(m)])
def test_every_name_is_there(module: str, name: str) -> None:
    assert callable(member(module, name))
    assert getattr(importlib.import_module(f"numloom.cupyx.scipy.{module}"), name) is not None
