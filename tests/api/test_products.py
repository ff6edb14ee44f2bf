"""Products against NumPy: shapes, dtypes, errors, tiny and large."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api import products
from numloom.api.products import CUBE, THIN, is_recorded
from numloom.device.registry import current
from numloom.testing import assert_allclose, assert_array_equal, assert_kernels, for_all_dtypes, matches_numpy

CASES = """
a @ b
a @ v
v @ b
v @ v
p @ b
p @ p.swapaxes(-1, -2)
p[0] @ p.swapaxes(-1, -2)
a[:, :0] @ b[:0]
a[:0] @ b
a @ a
v @ a
xp.matmul(2.0, a)
xp.matmul(a, b, dtype="c16")
a @ 3
xp.matmul(big, big.T)
xp.matmul(big, big[0])
xp.matmul(stack, big.T)
xp.matmul(big.T, big)
xp.matmul(z, z.T)
xp.dot(a, b)
xp.dot(v, v)
xp.dot(2, a)
xp.dot(a, v)
xp.dot(v, b)
xp.dot(p, b)
xp.dot(p, p.swapaxes(-1, -2))
xp.dot(a, a)
a.dot(b)
xp.vdot(a, a)
xp.vdot(z, z * 1j)
xp.vdot(a, b)
xp.inner(v, v)
xp.inner(a, a)
xp.inner(p, a)
xp.inner(a, b)
xp.inner(3, v)
xp.outer(v, a)
xp.outer(2, v)
xp.tensordot(p, b, 1)
xp.tensordot(p, p, ((1, 2), (1, 2)))
xp.tensordot(p, p, 3)
xp.tensordot(v, v, 0)
xp.tensordot(a, a, 1)
xp.tensordot(p, p, ((2, 0), (2, 0)))
xp.tensordot(p, v, ((2,), (0,)))
xp.kron(a, b)
xp.kron(v, a)
xp.kron(v, 2)
xp.cross(a[:, :3], a[:, 2:])
xp.cross(v[:3], a[:, :3])
xp.cross(v, v)
xp.cross(b[:3], b[:3] + 1, axis=0)
xp.trace(a)
xp.trace(a, 1)
xp.trace(a, -9)
xp.trace(p, 0, 1, 2)
a.trace(2)
xp.vecdot(a, a)
xp.vecdot(z, z * 1j)
xp.vecdot(p, v)
xp.vecdot(b, b, axis=0)
xp.vecdot(a, b)
xp.einsum("ij,jk", a, b)
xp.einsum("ij,jk->ki", a, b)
xp.einsum("ij->ji", a)
xp.einsum("ij->", a)
xp.einsum("ij->j", a)
xp.einsum("ii", s)
xp.einsum("ii->i", s)
xp.einsum("ij,ij->i", a, a)
xp.einsum("i,j->ij", v, v)
xp.einsum("i,i", v, v)
xp.einsum("bij,jk->bik", p, b)
xp.einsum("bij,bkj->bik", p, p)
xp.einsum("...ij,jk->...ik", p, b)
xp.einsum("...j,j", p, v)
xp.einsum("ij,jk,kl->il", a, b, a)
xp.einsum("bij,bij,j->b", p, p, v)
xp.einsum("ij,kj->", a, a)
xp.einsum(a, [0, 1], b, [1, 2])
xp.einsum(a, [0, 1], b, [1, 2], [2, 0])
xp.einsum(p, [Ellipsis, 1], v, [1])
xp.einsum("ij,jk->ik", big, big.T)
xp.einsum("ij,jk,kl,lm->im", big, big.T, big, big.T)
xp.einsum("ij,jk->ik", a, xp.ones((1, 3)))
xp.einsum("ij,jk->ik", a, a)
xp.einsum("ij->iz", a)
xp.einsum("ij->ii", a)
xp.einsum("ijk", a)
xp.einsum("i", a)
xp.einsum("i,j", v)
xp.einsum("ij,jk->ik", z, z.T)
xp.einsum("i?", a)
xp.einsum("ij,jk->ik", a, b, dtype="c16")
""".strip().splitlines()


KEYWORDS = """
xp.matmul(q, q, axes=[(1, 2), (2, 1), (0, 1)])
xp.matmul(q, q, axes=[(1, 2), (2, 1), (2, 0)])
xp.matmul(v, b, axes=[0, (0, 1), (0,)])
xp.matmul(v, v, axes=[(0,), (0,), ()])
xp.matmul(v, b, axes=[(0,), (0, 1)])
xp.matmul(a, b, axes=((0, 1), (0, 1), (0, 1)))
xp.matmul(a, b, axes=[(0, 0), (0, 1), (0, 1)])
xp.matmul(a, b, axes=[(0, 5), (0, 1), (0, 1)])
xp.matmul(a, b, axes=[0, (0, 1), (0, 1)])
xp.matmul(v, b, axes=[(0, 1), (0, 1), (0, 1)])
xp.matmul(a, b, axis=0)
xp.matmul(a, b, keepdims=True)
xp.matmul(a, b, axes=[(0, 1)] * 3, axis=0)
xp.vecdot(q, q, axes=[0, 0])
xp.vecdot(q, q, axes=[0, 0, 1], keepdims=True)
xp.vecdot(q, q, axes=[0, 0], keepdims=True)
xp.vecdot(q, q, axes=[0, 0, 1])
xp.vecdot(q, q, axes=[0])
xp.vecdot(q, q, axis=1, keepdims=True)
xp.vecdot(q, v[:3], axis=0, keepdims=True)
xp.vecdot(q, q, axis=3)
xp.vecdot(q, q, axis=None)
xp.matvec(q, a[:, :3][:, None], axes=[(1, 0), 2, 0])
xp.matvec(q, a, axis=0)
xp.matvec(q, a, keepdims=True)
xp.vecmat(v[:3], q, axes=[0, (0, 1), 0])
xp.vecmat(v, 2)
xp.matmul(a, b, out=xp.zeros((3, 4, 3)))
xp.matmul(a, b, out=xp.zeros((4, 4)))
xp.matmul(a, b, out=xp.zeros(3))
xp.matmul(a, b, out=xp.zeros((4, 3), "f4"))
xp.matmul(a, b, out=xp.zeros((4, 3), "i4"))
xp.matmul(a, b, out=xp.zeros((4, 3), "i4"), casting="unsafe")
xp.matmul(a, b, out=(xp.zeros((4, 3)),))
xp.matmul(a, b, out=xp.zeros((3, 4)), axes=[(0, 1), (0, 1), (1, 0)])
xp.vecdot(a, a, out=xp.zeros((4, 1)), keepdims=True)
xp.matmul(a, b, order="X")
xp.matmul(a, b, dtype="f4")
xp.matmul(a, b, signature="ff->f")
xp.matmul(a, b, signature=(None, None, "D"))
xp.matmul(a, b, signature="D")
xp.matmul(a, b, signature="ff->f", dtype="f4")
xp.matmul(a.astype("f4"), b, casting="no")
xp.dot(a, b, out=xp.zeros((4, 3), "f4"))
xp.dot(a, b, out=xp.zeros((4, 3), order="F"))
xp.dot(2, a, out=xp.zeros((4, 5)))
xp.dot(v, v, out=xp.zeros(()))
xp.outer(v, v, out=xp.zeros((2, 5, 5), "f4"))
xp.outer(v, v, out=xp.zeros((5, 5), "i4"))
xp.einsum("ij,jk", a, b, out=xp.zeros((4, 3), "f4"))
xp.einsum("ij,jk", a, b, out=xp.zeros((4, 3), "f4"), casting="unsafe")
xp.einsum("ij,jk", a, b, dtype="f4")
xp.trace(p, out=xp.zeros(5, "f4"))
xp.tensordot(p, p, axes=((1, 1), (1, 1)))
xp.tensordot(p, a, axes=-1)
xp.tensordot(p, a, axes=(-1, -1))
xp.tensordot(p, a, axes=[1, [0, 1]])
xp.tensordot(p, a, (np.array([2]), np.array([1])))
xp.cross(t, t + 1, axis=0)
xp.cross(t, t + 1, axisa=0, axisb=0, axisc=0)
""".strip().splitlines()


def arrays(xp: Any) -> dict[str, Any]:
    random = np.random.default_rng(3)
    real = {"a": (4, 5), "b": (5, 3), "v": (5,), "p": (2, 4, 5), "s": (4, 4), "big": (40, 60), "stack": (3, 30, 60)}
    names = {name: xp.asarray(random.standard_normal(shape)) for name, shape in real.items()}
    names["z"] = xp.asarray(random.standard_normal((20, 30)) + 1j * random.standard_normal((20, 30)))
    names["q"], names["t"] = (
        xp.asarray(random.standard_normal((3, 5, 2))),
        xp.asarray(random.standard_normal((3, 5, 2))),
    )
    return {"xp": xp, "np": np, **names}


@pytest.mark.parametrize("expression", CASES)
@matches_numpy(rtol=1e-11, atol=1e-12)
def test_matches(xp: Any, expression: str) -> Any:
    return eval(expression, arrays(xp))


@pytest.mark.parametrize("expression", KEYWORDS)
@matches_numpy(rtol=1e-5, atol=1e-6)
def test_keywords(xp: Any, expression: str) -> Any:
    return eval(expression, arrays(xp))


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_order(order: str) -> None:
    hosts = arrays(np)
    a, b, q = (hosts[name] for name in ("a", "b", "q"))
    x, y, z = (nl.asarray(host) for host in (a, b, q))
    assert nl.matmul(x, y, order=order).strides == np.matmul(a, b, order=order).strides
    assert nl.vecdot(z, z, axis=0, order=order).strides == np.vecdot(q, q, axis=0, order=order).strides
    assert nl.einsum("ij,jk", x, y, order=order).strides == np.einsum("ij,jk", a, b, order=order).strides
    assert nl.matmul(y.T, x.T, order=order).strides == np.matmul(b.T, a.T, order=order).strides


@for_all_dtypes()
@pytest.mark.parametrize("size", [3, 24])
def test_dtypes(dtype: Any, size: int) -> None:
    values = np.random.default_rng(1).integers(0, 3, (size, size)).astype(dtype)
    ours = nl.asarray(values)
    for result, expected in (
        (ours @ ours, values @ values), (ours @ ours[0], values @ values[0]), (ours[0] @ ours, values[0] @ values),
        (nl.dot(ours, ours), np.dot(values, values)), (nl.inner(ours, ours), np.inner(values, values)),
        (nl.einsum("ij,jk->ik", ours, ours), np.einsum("ij,jk->ik", values, values)),
        (nl.vdot(ours, ours), np.vdot(values, values)), (nl.outer(ours, ours), np.outer(values, values)),
    ):  # fmt: skip
        # Small whole numbers: exact in every dtype, but for float16 sums that NumPy rounds.
        if dtype == np.float16:
            assert_allclose(result, expected, rtol=2e-3)
        else:
            assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize("pair", [("i4", "f4"), ("f4", "f8"), ("u8", "i8"), ("?", "i1"), ("f4", "c8"), ("f2", "f4")])
@matches_numpy(rtol=1e-5)
def test_mixed_dtypes(xp: Any, pair: tuple[str, str]) -> Any:
    x, y = (xp.asarray(np.arange(12).reshape(3, 4).astype(dtype)) for dtype in pair)
    return x @ y.T, xp.dot(x, y[0]), xp.tensordot(x, y), xp.kron(x, y)


@matches_numpy(rtol=1e-12)
def test_out(xp: Any) -> Any:
    names = arrays(xp)
    out = xp.zeros((4, 3))
    same = xp.matmul(names["a"], names["b"], out=out) is out
    dotted = xp.zeros((4, 3))
    xp.dot(names["a"], names["b"], out=dotted)
    summed = xp.zeros((4, 3))
    xp.einsum("ij,jk->ik", names["a"], names["b"], out=summed)
    names["s"] @= names["s"]
    return out, same, dotted, summed, names["s"]


def test_matvec_vecmat() -> None:
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 3, 4)), random.standard_normal((2, 4))
    assert_allclose(nl.matvec(x, y), np.einsum("bij,bj->bi", x, y), rtol=1e-12)
    z = random.standard_normal((2, 3)) + 1j
    assert_allclose(nl.vecmat(z, x), np.einsum("bi,bij->bj", z.conj(), x), rtol=1e-12)
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        nl.matvec(x, y[:, :2])


@matches_numpy
def test_diagonal_of_einsum_is_a_view(xp: Any) -> Any:
    x = xp.asarray(np.arange(9.0).reshape(3, 3))
    xp.einsum("ii->i", x)[...] = 0
    return x


def test_a_cross_product_is_one_kernel() -> None:
    x, y = nl.asarray(np.arange(30.0).reshape(10, 3)), nl.asarray(np.ones((10, 3)))
    with assert_kernels(1):
        result = nl.cross(x, y)
    np.testing.assert_array_equal(result.get(), np.cross(x.get(), y.get()))


def test_size_rule() -> None:
    """What is bound by memory is recorded, what is not goes to the BLAS."""
    counters = nl.engine.state.counters
    edge = round(current().tiny_product ** (1 / 3))
    x = nl.asarray(np.ones((2 * edge, 2 * edge + 1)))
    before = counters.library_calls
    (x @ x[0]).get()
    (x[:, 0] @ x).get()
    small = nl.asarray(np.ones((edge - 1,) * 2))
    (small @ small).get()
    assert counters.library_calls == before
    (x @ x.T).get()
    assert counters.library_calls == before + 1


def test_thin_and_stacked_products_are_recorded_where_threads_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "current", lambda: SimpleNamespace(tiny_product=10, short_rows=True))
    assert is_recorded(10**6, 3, 3, 3) and is_recorded(10**5, 8, 8, 8) and not is_recorded(10**5, 9, 9, 9)
    assert is_recorded(1, 10**6, 3, 3) and not is_recorded(1, 3, 3, 10**6) and not is_recorded(1, 10**6, 5, 4)
    assert CUBE == 8**3 and THIN == 4**2
    monkeypatch.setattr(products, "current", lambda: SimpleNamespace(tiny_product=10, short_rows=False))
    assert not is_recorded(10**6, 3, 3, 3) and not is_recorded(1, 10**6, 3, 3) and is_recorded(1, 2, 2, 2)


@for_all_dtypes()
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("depth", [15, 16, 17, 100, 1000])
def test_few_columns_of_long_ones(width: int, depth: int, dtype: np.dtype[Any]) -> None:
    """Results that lie side by side and share the rows of one operand."""
    rng = np.random.default_rng(depth)
    x, y = (rng.integers(0, 2, shape).astype(dtype) for shape in ((3, depth), (depth, width)))
    got = (nl.asarray(x) @ nl.asarray(y)).get()
    want = x @ y
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    exact = np.dtype(dtype).kind != "b"
    if exact:
        np.testing.assert_array_equal(
            (nl.asarray(x)[:, None, :] * nl.asarray(y).T[None]).sum(-1).get(), (x[:, None, :] * y.T[None]).sum(-1)
        )


@pytest.mark.parametrize("code", ["?", "i1", "u2", "i4", "i8", "e", "f4", "f8", "F", "D"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((50, 3, 3), (50, 3, 3)), ((7, 1, 4, 5), (6, 5, 2)), ((300, 3), (3, 3)), ((3, 4), (4, 300)), ((2, 300, 8), (8, 8)),
     ((0, 3, 3), (3, 3)), ((4, 0), (0, 5)), ((30, 31), (31, 29))],
)  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_recorded_products_are_products(
    code: str, left: tuple[int, ...], right: tuple[int, ...], turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the device would have the library do them."""
    rng = np.random.default_rng(0)

    def operand(shape: tuple[int, ...]) -> np.ndarray:
        values = rng.integers(0, 5, (*shape[:-2], shape[-1], shape[-2]) if turned else shape).astype(code)
        return values.swapaxes(-1, -2) if turned else values

    a, b = operand(left), operand(right)
    x, y = nl.asarray(a), nl.asarray(b)
    monkeypatch.setattr(products, "is_recorded", lambda *sizes: True)
    got = x @ y
    want = a @ b
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got.get(), want)


OF_ONE: dict[str, Callable[..., Any]] = {
    "matmul": lambda xp, x, y: xp.matmul(x[:, None], y[None, :]),
    "matmul of one": lambda xp, x, y: xp.matmul(x[:1, None], y[None, :1]),
    "matmul by a vector": lambda xp, x, y: xp.matmul(x[:, None], y[:1]),
    "dot": lambda xp, x, y: xp.dot(x[:, None], y[None, :]),
    "dot of vectors": lambda xp, x, y: xp.dot(x[:1], y[:1]),
    "inner": lambda xp, x, y: xp.inner(x[:, None], y[:, None]),
    "outer": lambda xp, x, y: xp.outer(x, y),
    "tensordot": lambda xp, x, y: xp.tensordot(x, y, 0),
    "einsum": lambda xp, x, y: xp.einsum("i,j->ij", x, y),
    "einsum, optimized": lambda xp, x, y: xp.einsum("ij,jk->ik", x[:, None], y[None, :], optimize=True),
    "vdot": lambda xp, x, y: xp.vdot(x[:1], y[:1]),
    "vecdot": lambda xp, x, y: xp.vecdot(x[:, None], y[:, None]),
    "multi_dot": lambda xp, x, y: xp.linalg.multi_dot([x[:, None], y[None, :1], x[None, :]]),
    "kron": lambda xp, x, y: xp.kron(x, y),
}


@pytest.mark.parametrize("char", "efdFDil")
@pytest.mark.parametrize("name", OF_ONE)
def test_products_of_one_number_each(name: str, char: str) -> None:
    """By value: the sign of a zero is another in NumPy's `matmul` than in its `dot`."""
    for count in (3, 40):
        x, y = np.resize([-2, 0, 3], count).astype(char), np.resize([0, -1, 0, 5], count).astype(char)
        want = np.asarray(OF_ONE[name](np, x, y))
        got = nl.asnumpy(OF_ONE[name](nl, nl.asarray(x), nl.asarray(y)))
        assert got.dtype == want.dtype and np.array_equal(got, want)
