"""Names of NumPy that are handed on or refused."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest

import numloom as nl
from numloom.api.namespace import OF_NUMPY, OF_OTHERS, REFUSED
from numloom.testing import assert_kernels


@pytest.mark.parametrize("name", [*REFUSED, "no_such_name"])
def test_a_refused_name_says_what_to_do(name: str) -> None:
    with pytest.raises(AttributeError, match=name) as caught:
        getattr(nl, name)
    assert REFUSED.get(name, "no attribute") in str(caught.value)
    assert not hasattr(nl, name) and name not in dir(nl)


def test_objects_of_numpy_are_its_own() -> None:
    for name in OF_NUMPY:
        if hasattr(np, name):
            assert getattr(nl, name) is getattr(np, name)
            assert name in dir(nl)
    assert nl.exceptions is np.exceptions and nl.dtypes is np.dtypes


def test_dir_names_all_that_there_is() -> None:
    """Names that are imported later too: who looks for gradients in `dir` finds them."""
    here = set(dir(nl))
    assert here >= {"compiled", "cuda", "cupy", "distributed", "sparse", "profile"}
    assert here >= set(nl.compiled.__all__) - {"matrix", "scalar", "tensor3", "tensor4", "vector"}
    for name in here:
        assert hasattr(nl, name), name


def test_types_for_annotations() -> None:
    from numloom.typing import ArrayLike, DTypeLike, NDArray

    assert NDArray[nl.float32].__origin__ is nl.ndarray
    assert nl.ndarray in ArrayLike.__args__ and DTypeLike is not None
    assert nl.typing.NDArray is NDArray


GONE = {
    "NaN": "numloom.nan", "float": "float64", "in1d": "numloom.isin", "trapz": "numloom.trapezoid",
    "scatter_add": "numloom.add.at", "NINF": "-numloom.inf", "rank": "x.ndim",
    "random.PCG64": "Philox", "special.comb": "special.binom", "special.log1p": "numloom.log1p",
    "special.wofz": "scipy.special", "linalg.expm": "scipy.linalg.expm", "fft.dct": "scipy.fft.dct",
    "testing.nothing": "numpy.testing", "foo": "'floor'", "aranged": "'arange'", "random.nromal": "'normal'",
}  # fmt: skip


@pytest.mark.parametrize("name", GONE)
def test_what_is_not_here_says_what_to_use(name: str) -> None:
    module, _, last = f"numloom.{name}".rpartition(".")
    with pytest.raises(AttributeError) as caught:
        getattr(importlib.import_module(module), last)
    assert last in str(caught.value) and GONE[name] in str(caught.value)


@pytest.mark.parametrize("name", [*OF_OTHERS, *REFUSED])
def test_what_is_named_as_the_cure_is_here(name: str) -> None:
    for cure in re.findall(r"numloom((?:\.[A-Za-z_0-9]+)+)", {**OF_OTHERS, **REFUSED}[name]):
        thing: object = nl
        for part in cure[1:].split("."):
            thing = getattr(thing, part)


GIVEN = [
    ((k for k in range(3)), "generator", "fromiter"),
    (None, "None", "nan"),
    ("abc", "'abc' is text", "float"),
    (["a", 1], "'a' is text", "float"),
    ([1, None], "holds None", "nan"),
    ([object()], "type object", "float()"),
    ({1, 2}, "a set", "list"),
    (np.array(["a"]), "text", "float"),
    (np.datetime64("2020"), "dates", "int64"),
    (np.zeros(2, "f4,i4"), "fields", "each field"),
    ([1 << 70], "integer", "float"),
]


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: given[1])
def test_what_no_device_holds_is_named_with_the_cure(given: tuple[object, str, str]) -> None:
    with pytest.raises(TypeError) as caught:
        nl.asarray(given[0])
    assert given[1] in str(caught.value) and given[2] in str(caught.value)


def test_one_is_not_plural() -> None:
    with pytest.raises(AssertionError, match="expected 1 kernel, 0 ran"), assert_kernels(1):
        pass
