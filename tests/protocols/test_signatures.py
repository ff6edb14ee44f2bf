"""Every function and method that NumPy has too takes its arguments: names, order, defaults, what may be positional."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl

Parameter = inspect.Parameter
NO_VALUE = np._NoValue

ADDED = {
    "argsort": {"descending": "NumPy 2.5's"},
    "sort": {"descending": "NumPy 2.5's"},
    "ndarray.sort": {"descending": "NumPy 2.5's"},
    "ndarray.argsort": {"descending": "NumPy 2.5's"},
    "ndarray.conj": {"out": "as the ufunc"},
    "ndarray.conjugate": {"out": "as the ufunc"},
    "fft.fftfreq": {"dtype": "the array API's"},
    "fft.rfftfreq": {"dtype": "the array API's"},
}
"""Parameters that NumPy does not have."""

DIFFERENT = {
    "arange": "takes start by name and dtype by position, as NumPy's does beyond what its signature says",
    "where": "NumPy's None stands for not given, and is refused",
    "kernel": "ours",
    "ndarray.reshape": "the shape is one argument or several",
    "ndarray.transpose": "the axes are one argument or several",
    "ndarray.view": "NumPy's signature says nothing; the type of a view is always ours",
    "ndarray.setflags": "takes the flags by position too, as NumPy's does beyond what its signature says",
    "ndarray.put": "NumPy's indices and values are positional only",
    "fromstring": "NumPy writes none",
    "vectorize": "a class with our own options",
}
"""Signatures that are not NumPy's, and why."""

MEANING = {"keepdims": False, "where": True, "descending": None}
"""What "not given" means for these: NumPy distinguishes it for the sake of subclasses."""


def shared() -> Iterator[tuple[str, Any, Any]]:
    for part in ("", "linalg", "fft"):
        theirs, mine = (getattr(np, part), getattr(nl, part, None)) if part else (np, nl)
        for name in dir(theirs):
            function, same = getattr(theirs, name), getattr(mine, name, None)
            if name[0] == "_" or same is None or same is function or isinstance(function, (type, np.ufunc)):
                continue
            if inspect.isroutine(function):
                yield f"{part}.{name}".lstrip("."), function, same
    array = nl.ones((2, 2))
    for name in dir(np.ndarray):
        method = getattr(np.ndarray, name)
        if name[0] != "_" and callable(method) and hasattr(array, name):
            yield f"ndarray.{name}", method, getattr(array, name)
    for name in np.ufunc.__dict__:
        method = np.ufunc.__dict__[name]
        if name[0] != "_" and callable(method) and hasattr(nl.add, name):
            yield f"ufunc.{name}", method, getattr(nl.add, name)


def parameters(function: Any, bound: bool) -> list[Parameter] | None:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None  # Written in C, and NumPy says nothing of its arguments.
    return found[1:] if bound and found and found[0].name == "self" else found


def problems(path: str, theirs: list[Parameter], mine: list[Parameter]) -> list[str]:
    """How a call of NumPy's function would be misunderstood by ours."""
    found = []
    rest = {p.name: p for p in mine}
    loose = any(p.kind is Parameter.VAR_KEYWORD for p in theirs)
    places = [p for p in mine if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    for place, one in enumerate(theirs):
        if one.kind is Parameter.VAR_KEYWORD:
            continue
        if one.kind is Parameter.VAR_POSITIONAL:
            if not any(p.kind is Parameter.VAR_POSITIONAL for p in mine):
                found.append(f"*{one.name} is missing")
            rest = {name: p for name, p in rest.items() if p.kind is not Parameter.VAR_POSITIONAL}
            continue
        if one.kind is Parameter.POSITIONAL_ONLY:
            same = places[place] if place < len(places) else None
        else:
            same = rest.get(one.name)
        if same is None:
            found.append(f"{one.name} is missing")
            continue
        rest.pop(same.name, None)
        if one.kind is Parameter.POSITIONAL_OR_KEYWORD:
            if same.kind is not one.kind or place >= len(places) or places[place] is not same:
                found.append(f"{one.name} is not at position {place}")
        elif one.kind is Parameter.KEYWORD_ONLY and same.kind is not one.kind:
            found.append(f"{one.name} is not by keyword alone")
        default = MEANING.get(one.name, one.default) if one.default is NO_VALUE else one.default
        if same.default is not default and same.default != default and same.default is not one.default:
            found.append(f"{one.name}={same.default!r}, NumPy has {default!r}")
    for name, same in rest.items():
        if name not in ADDED.get(path, {}) and not loose and same.kind is not Parameter.VAR_KEYWORD:
            found.append(f"{name} is not NumPy's")
        if loose and same.kind is Parameter.VAR_POSITIONAL:
            found.append(f"*{name} is not NumPy's")
    return found


def test_functions_and_methods_take_numpys_arguments() -> None:
    wrong = []
    count = 0
    for path, function, same in shared():
        theirs, mine = parameters(function, "." in path), parameters(same, bound=False)
        if theirs is None or mine is None or path in DIFFERENT:
            continue
        count += 1
        found = problems(path, theirs, mine)
        if found:
            wrong.append(f"{path}: {'; '.join(found)}")
    assert not wrong, "\n".join(wrong)
    assert count >= (250 if np.lib.NumpyVersion(np.__version__) >= "2.4.0" else 150)


def test_ufuncs_take_numpys_arguments() -> None:
    wrong = [
        name
        for name in dir(nl)
        if isinstance(getattr(nl, name), nl.ufunc)
        and (theirs := parameters(getattr(np, name), bound=False)) is not None
        and parameters(getattr(nl, name), bound=False) != theirs
    ]
    assert not wrong


@pytest.mark.parametrize(
    "call",
    [
        lambda like: np.asarray([1, 2], like=like), lambda like: np.zeros((2, 3), like=like),
        lambda like: np.ones(2, dtype="f4", like=like), lambda like: np.full(2, 3.0, like=like),
        lambda like: np.eye(2, like=like), lambda like: np.arange(3, like=like),
        lambda like: np.array([[1, 2]], like=like), lambda like: np.empty(0, like=like),
        lambda like: np.identity(2, like=like), lambda like: np.tri(2, like=like),
        lambda like: np.fromiter([1, 2], int, like=like), lambda like: np.frombuffer(b"ab", "u1", like=like),
        lambda like: np.asanyarray(3.5, like=like), lambda like: np.ascontiguousarray([3.5], like=like),
        lambda like: np.require([1], like=like), lambda like: np.fromfunction(lambda i: i, (3,), like=like),
    ],
)  # fmt: skip
def test_numpys_functions_make_our_arrays_where_like_says_so(call: Any) -> None:
    mine, theirs = call(nl.ones(1)), call(np.ones(1))
    assert type(mine) is nl.ndarray and mine.dtype == theirs.dtype
    np.testing.assert_array_equal(mine.get(), theirs)


def test_like_of_our_functions() -> None:
    class Foreign:
        def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
            return function.__name__, args, options

    for name, args in (("zeros", (3,)), ("ones", (3,)), ("empty", (3,)), ("full", (3, 1)), ("eye", (2,)), ("tri", (2,)),
                       ("identity", (2,)), ("arange", (3,)), ("array", ([1],)), ("asarray", ([1],)),
                       ("asanyarray", ([1],)), ("ascontiguousarray", ([1],)), ("asfortranarray", ([1],)),
                       ("require", ([1],)), ("frombuffer", (b"abcdefgh",)), ("fromiter", ([1], int)),
                       ("fromfunction", (lambda i: i, (2,)))):  # fmt: skip
        make = getattr(nl, name)
        assert type(make(*args, like=nl.ones(1))) is nl.ndarray, name
        assert type(make(*args, like=np.ones(1))) is nl.ndarray, name
        found = make(*args, like=Foreign())
        assert found[0] == name and found[1][0] is args[0]
        with pytest.raises(TypeError, match="like"):
            make(*args, like=3)


def test_keywords_that_were_missing_elsewhere() -> None:
    x = np.array([[3.0, 1, 2], [0, 5, 4]])
    y = nl.asarray(x)
    for mine, theirs in (
        (nl.sum(y, where=y > 1, initial=2.0), np.sum(x, where=x > 1, initial=2.0)),
        (nl.std(y, axis=0, mean=y.mean(0, keepdims=True), correction=1), np.std(x, axis=0, correction=1)),
        (nl.clip(y, min=1, max=4), np.clip(x, min=1, max=4)),
        (nl.count_nonzero(y, axis=1, keepdims=True), np.count_nonzero(x, axis=1, keepdims=True)),
        (nl.sort(y, axis=0, stable=True), np.sort(x, axis=0, stable=True)),
        (y.argsort(kind="stable"), x.argsort(kind="stable")),
        (nl.max(y, axis=1, initial=4, where=y < 5), np.max(x, axis=1, initial=4, where=x < 5)),
        (nl.lexsort(y, axis=0), np.lexsort(x, axis=0)),
        (nl.array([[1]], ndmax=2), np.array([[1]])),
        (nl.diff(y, prepend=0, append=[[1], [2]]), np.diff(x, prepend=0, append=[[1], [2]])),
    ):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine.get(), theirs)
    with pytest.raises(ValueError):
        nl.array([[1]], ndmax=1)
    assert nl.array2string(y, precision=1, separator="|", suppress_small=True) == np.array2string(
        x, precision=1, separator="|", suppress_small=True
    )
