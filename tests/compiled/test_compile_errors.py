"""What a user reads where a compiled function fails: names of its own parameters, its own lines."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import numloom as nl

X = [1.0, 2.0, 3.0]


def looks(x: Any) -> Any:
    return float(x.sum())


def looks_at_a_keyword(x: Any, *, scale: Any) -> Any:
    return float(scale.sum())


def looks_within(x: Any, d: Any) -> Any:
    return float(d["a"][1].sum())


def looks_at_the_rest(x: Any, *rest: Any, **more: Any) -> Any:
    return float(rest[1].sum() + more["k"].sum())


@pytest.mark.parametrize(
    "function, args, named, names",
    [
        (looks, [0], {}, "x is"),
        (looks_at_a_keyword, [0], {"scale": 0}, "scale is"),
        (looks_within, [0, {"a": [0, 0]}], {}, "d_a_1 is"),
        (looks_at_the_rest, [0, 0, 0], {"k": 0}, "k, rest_1 are"),
        (lambda d, d_a: float(d["a"].sum() + d_a.sum()), [{"a": 0}, 0], {}, "d_a, d_a_ are"),
    ],
)
def test_errors_name_parameters(function: Callable[..., Any], args: Any, named: Any, names: str) -> None:
    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: filled(part) for name, part in value.items()}
        return list(map(filled, value)) if isinstance(value, list) else nl.asarray(X)

    with pytest.raises(nl.TreeError, match=names):
        nl.compile(function)(*filled(args), **filled(named))


def adds(x: Any) -> Any:
    x += 1
    return x


def stores(x: Any) -> Any:
    x[1:][0] = 5.0
    return x


def sorts(x: Any) -> Any:
    x.sort()
    return x


def gives_out(x: Any) -> Any:
    return nl.add(x, 1, out=x)


def copies(x: Any) -> Any:
    nl.copyto(x, 2.0)
    return x


def at(x: Any) -> Any:
    nl.add.at(x, nl.asarray([0]), 1)
    return x


def flat(x: Any) -> Any:
    x.flat[0] = 1
    return x


@pytest.mark.parametrize("function", [adds, stores, sorts, gives_out, copies, at, flat])
def test_arguments_are_not_changed(function: Callable[..., Any]) -> None:
    """They are the caller's arrays: what would change them in plain code is refused, with what to write instead."""
    x = nl.asarray(X)
    with pytest.raises(ValueError, match=r"read-only: x stands for .* x = x \+ 1 .* x = x.copy\(\)"):
        nl.compile(function)(x)
    assert x.tolist() == X

    def of_a_copy(x: Any) -> Any:
        return function(x.copy())

    assert nl.compile(of_a_copy)(x).tolist() == function(nl.asarray(X)).tolist()
    assert x.tolist() == X


def test_what_is_read_only_otherwise_names_a_copy() -> None:
    x = nl.asarray(X)
    x.flags.writeable = False
    with pytest.raises(ValueError, match=r"^output array is read-only: write to a copy of it, x\.copy\(\)$"):
        x += 1


def frames(call: Callable[[], Any]) -> list[str]:
    with pytest.raises(Exception) as caught:
        call()
    ours = str(Path(nl.__file__).parent)
    return [entry.name for entry in traceback.extract_tb(caught.tb) if entry.filename.startswith(ours)]


@pytest.mark.skipif(
    "not __import__('numloom.base.tracebacks').base.tracebacks.Public", reason="the core is not compiled"
)
def test_at_most_one_frame_of_ours_is_shown() -> None:
    x, wide = nl.asarray(X), nl.ones((2, 3))
    function = nl.function([nl.symbol("x", (3,))], nl.ones(3), name="f")

    def gives_several(x: Any) -> Any:
        return x * 2

    for call in (
        lambda: nl.compile(lambda x: x @ wide)(x), lambda: nl.compile(looks)(x), lambda: nl.compile(lambda x: x[9])(x),
        lambda: nl.compile(looks)([1], {}, 3), lambda: nl.compile(lambda x, y: x)(x, [object, {1: ...}], {}),
        lambda: function(wide), lambda: function(), lambda: nl.grad(gives_several)(x), lambda: nl.grad(gives_several)(),
        lambda: nl.value_and_grad(gives_several)(x), lambda: nl.jacobian(lambda x: (x, x))(x),
        lambda: nl.hessian(gives_several)(x),
    ):  # fmt: skip
        shown = frames(call)
        assert len(shown) <= 1, shown


def test_sources_have_a_display() -> None:
    x = nl.symbol("x", (3,))
    found = nl.source((x < 2) * x)
    assert repr(found) == f"<source of tree(x), {found.text.count(chr(10))} lines>"
    html = found._repr_html_()
    assert html.startswith("<pre") and "x &lt; 2" in html and "def tree(x)" in html
