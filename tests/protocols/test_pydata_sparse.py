"""PyData's sparse arrays beside ours give what they give beside NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl

sparse = pytest.importorskip("sparse")

RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((3, 3)) > 0.4, RNG.random((3, 3)) + 0.5, 0)
X = RNG.random((3, 3)) + 0.25
Of = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def as_by_default() -> Iterator[None]:
    """It reads arrays on a GPU by itself, as it may where nobody says otherwise (tests do)."""
    with nl.config(host_copy="allow"):
        yield


def described(result: Any) -> Any:
    """What a result is, and its numbers."""
    if isinstance(result, sparse.SparseArray):
        return type(result).__name__, result.dtype, result.todense().tolist()
    host = np.asarray(nl.asnumpy(result) if type(result) is nl.ndarray else result)
    return "dense", host.dtype, host.tolist()


def same(call: Callable[[Of], Any]) -> None:
    """A call gives for arrays of ours what it gives for NumPy's, or is an error for both."""
    try:
        expected = described(call(np.asarray))
    except Exception as error:
        with pytest.raises(type(error)):
            call(nl.asarray)
        return
    np.testing.assert_equal(described(call(nl.asarray)), expected)


OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "gt", "le", "ge", "matmul")
KINDS = ("COO", "GCXS", "DOK")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, kind: str) -> None:
    operate, stored = getattr(operator, name), getattr(sparse, kind).from_numpy(DENSE)
    for x in (X, X[0], X[:, :1]):
        same(lambda of, x=x: operate(stored, of(x)))
        same(lambda of, x=x: operate(of(x), stored))
    same(lambda of: operate(stored, of(X)[0, 0]))
    same(lambda of: operate(of(X)[0, 0], stored))


def test_truth_values() -> None:
    stored = sparse.COO.from_numpy(DENSE > 0)
    for operate in (operator.and_, operator.or_, operator.xor):
        same(lambda of, operate=operate: operate(stored, of(X > 0.5)))
        same(lambda of, operate=operate: operate(of(X > 0.5), stored))


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{
        name: lambda module, s, x, name=name: getattr(module, name)(s, x)
        for name in ("dot", "matmul", "multiply", "add", "maximum", "kron", "outer", "vecdot")
    },
    **{
        f"{name} from the left": lambda module, s, x, name=name: getattr(module, name)(x, s)
        for name in ("dot", "matmul", "multiply", "add", "maximum", "kron", "outer", "vecdot")
    },
    "tensordot": lambda module, s, x: module.tensordot(s, x, 1),
    "tensordot from the left": lambda module, s, x: module.tensordot(x, s, axes=([0], [1])),
    "einsum": lambda module, s, x: module.einsum("ij,jk->ik", s, x),
    "where": lambda module, s, x: module.where(s > 0, x, x + 1),
    "concatenate": lambda module, s, x: module.concatenate([s, x]),
    "stack": lambda module, s, x: module.stack([s, x], axis=1),
    "clip": lambda module, s, x: module.clip(s, x * 0, x),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("module", [np, sparse], ids=["numpy", "sparse"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, module: Any, kind: str) -> None:
    stored = getattr(sparse, kind).from_numpy(DENSE)
    same(lambda of: FUNCTIONS[name](module, stored, of(X)))


@pytest.mark.parametrize("kind", KINDS)
def test_made_and_indexed(kind: str) -> None:
    family = getattr(sparse, kind)
    stored = family.from_numpy(DENSE)
    same(lambda of: family.from_numpy(of(DENSE)))
    same(lambda of: sparse.asarray(of(DENSE)))
    same(lambda of: sparse.as_coo(of(DENSE)))
    same(lambda of: sparse.COO(of(DENSE)))
    same(lambda of: sparse.COO(of(np.array([[0, 1], [1, 2]])), of(np.array([5.0, 6])), shape=(3, 3)))
    for index in (np.array([0, 2]), DENSE[0] > 0):
        same(lambda of, index=index: stored[of(index)])
    same(lambda of: stored[of(np.array([0, 2]))[1]])
    same(lambda of: stored.dot(of(X)))


def test_stores_into_dok() -> None:
    for of in (np.asarray, nl.asarray):
        stored = sparse.DOK((3, 3))
        stored[of(np.array([0, 2])), of(np.array([1, 1]))] = of(np.array([5.0, 6]))
        stored[1, 2] = of(np.array([7.0]))[0]
        assert stored.todense().tolist() == [[0, 5, 0], [0, 0, 7], [0, 6, 0]]


@pytest.mark.parametrize("name", ["iadd", "imul", "isub"])
def test_ours_is_not_taken_for_another_array_in_place(name: str) -> None:
    x = nl.array(X)
    with pytest.raises(TypeError):
        getattr(operator, name)(x, sparse.COO.from_numpy(DENSE))
    np.testing.assert_array_equal(nl.asnumpy(x), X)
