"""An error stands at the user's line: a traceback has at most one frame of ours."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.base import tracebacks
from numloom.command.info import core_modules

PACKAGE = os.path.dirname(nl.__file__)

pytestmark = pytest.mark.skipif(not core_modules()[0], reason="shown in full where the core is not compiled")


@pytest.fixture(autouse=True)
def short() -> Iterator[None]:
    with nl.config(full_tracebacks=False):
        yield


def frames(call: Callable[[], Any]) -> list[str]:
    """Files of the frames of what `call` raises, without those of this test."""
    with pytest.raises(Exception) as caught:
        call()
    entries = traceback.extract_tb(caught.tb)
    assert any(entry.filename == __file__ for entry in entries)
    return [entry.filename for entry in entries if entry.filename != __file__ and "_pytest" not in entry.filename]


def unknown(x: Any) -> Any:
    raise KeyError("a function of the user's")


X = nl.arange(6.0)
ERRORS: dict[str, Callable[[], Any]] = {
    "operator": lambda: X + nl.arange(5.0),
    "ufunc": lambda: nl.add(X, nl.arange(5.0)),
    "ufunc of text": lambda: nl.sin("a"),
    "in place": lambda: X.__iadd__(nl.arange(7.0)),
    "method": lambda: X.reshape(4, 4),
    "method of a reduction": lambda: X.sum(axis=3),
    "reduction": lambda: nl.sum(X, axis=3),
    "reduction of objects": lambda: nl.mean([1, None]),
    "output": lambda: nl.argmax(X, out=3),
    "subscript": lambda: X[10],
    "store": lambda: X.__setitem__(slice(0, 3), nl.ones(4)),
    "found when it runs": lambda: X[nl.asarray([10])].get(),
    "found when it is printed": lambda: str(X[nl.asarray([10])]),
    "joined": lambda: nl.concatenate([X, nl.ones((2, 2))]),
    "einsum": lambda: nl.einsum("ij,jk", X, X),
    "matmul": lambda: X @ nl.ones((3, 3)),
    "made": lambda: nl.array([None, 1]),
    "zeros": lambda: nl.zeros(3, object),
    "median": lambda: nl.median(X, axis=3),
    "where": lambda: nl.where(X, X, nl.ones(3)),
    "where of one": lambda: nl.where(X, X),
    "linalg": lambda: nl.linalg.solve(nl.ones((3, 4)), X),
    "singular": lambda: nl.linalg.inv(nl.ones((3, 3))).get(),
    "fft": lambda: nl.fft.fft(X, norm="no"),
    "random": lambda: nl.random.normal(size=-1),
    "generator": lambda: nl.random.default_rng(1).normal(size=-1),
    "polynomial": lambda: nl.polyfit(X, X, -1),
    "kernel": lambda: nl.ElementwiseKernel("what x", "float64 y", "y = x", "f"),
    "setting": lambda: setattr(nl.config, "eager", 3),
}


@pytest.mark.parametrize("name", ERRORS)
def test_at_most_one_frame_is_ours(name: str) -> None:
    found = frames(ERRORS[name])
    assert len(found) <= 1 and all(file.startswith(PACKAGE) for file in found), found


def test_all_are_shown_on_demand() -> None:
    with nl.config(full_tracebacks=True):
        assert len(frames(ERRORS["joined"])) > 2


def test_functions_of_the_user_stay() -> None:
    with pytest.raises(KeyError) as caught:
        nl.apply_along_axis(unknown, 0, nl.ones((2, 2)))
    names = [entry.name for entry in traceback.extract_tb(caught.tb)]
    assert names == ["test_functions_of_the_user_stay", "unknown"]


def test_a_mistake_of_ours_keeps_its_frames() -> None:
    function = eval(compile("lambda: unknown()", os.path.join(PACKAGE, "api", "made_up.py"), "eval"), {})
    with pytest.raises(NameError) as caught:
        tracebacks.public(function)()
    assert [entry.name for entry in traceback.extract_tb(caught.tb)][-1] == "<lambda>"


def test_what_was_caught_on_the_way_is_not_told() -> None:
    with pytest.raises(ValueError) as caught:
        nl.array([1, 2]).reshape(5)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_an_error_of_the_user_that_is_being_handled_is_told() -> None:
    try:
        unknown(1)
    except KeyError as error:
        with pytest.raises(ValueError) as caught:
            nl.concatenate([])
        assert caught.value.__context__ is error and not caught.value.__suppress_context__


@pytest.mark.parametrize(
    "name", ["concatenate", "zeros", "where", "linalg.solve", "random.default_rng", "fft.rfft", "sort"]
)
def test_a_public_function_is_like_any(name: str) -> None:
    function, theirs = nl, np
    for part in name.split("."):
        function, theirs = getattr(function, part), getattr(theirs, part)
    assert callable(function) and inspect.isroutine(function)
    assert function.__name__ == theirs.__name__ and function.__doc__  # type: ignore[attr-defined]
    assert list(inspect.signature(function).parameters)  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function


def test_methods_bind() -> None:
    draws = nl.random.default_rng(3).normal
    assert draws.__self__ is not None and draws(size=3).shape == (3,)
    assert nl.random.Generator.normal(nl.random.default_rng(3), size=3).shape == (3,)
    assert pickle.loads(pickle.dumps(nl.random.Generator.normal)) is nl.random.Generator.normal


def test_errors_that_compiled_functions_catch() -> None:
    """Those have no traceback, and may be raised again."""
    x = nl.ones(3, "u1")
    for _ in range(3):
        assert (x == 300).tolist() == (x > 300).tolist() == [False] * 3
        assert frames(lambda: x + 300) == []
        assert frames(lambda: x.__iadd__(300)) == []
    assert (nl.arange(3) < 2**70).all() and not (nl.arange(3, dtype="i1") > 2**70).any()
