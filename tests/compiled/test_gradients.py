"""`grad` and its family: what they take and give, kinks, errors, and random graphs beside JAX."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.compiled import control
from numloom.compiled.calls import wrap_all
from numloom.graph.node import VIEW
from numloom.graph.tree import TreeError

# ---------------------------------------------------------------- traced values


def test_of_a_tree() -> None:
    x = nl.symbol("x", (3,), "float64")
    w = nl.symbol("w", (3,), "float32")
    cost = ((x - w) ** 2).sum()
    by_x, by_w = nl.grad(cost, [x, w])
    assert (by_x.dtype, by_w.dtype, by_x.shape) == (np.float64, np.float32, (3,))
    f = nl.function([x, w], [cost, by_x, by_w])
    _, one, two = f(np.array([1.0, 2.0, 3.0]), np.ones(3, np.float32))
    assert one.tolist() == [0.0, 2.0, 4.0]
    assert two.tolist() == [-0.0, -2.0, -4.0]


def test_a_gradient_is_a_tree_that_prints() -> None:
    x = nl.symbol("x", (), "float64")
    assert "np.cos(x)" in nl.source(nl.grad(nl.sin(x), x)).text


def test_of_what_lies_between() -> None:
    with nl.symbolic():
        x = nl.array([1.0, 2.0, 3.0])
        h = x * 2
        cost = (h**3).sum()
        assert nl.grad(cost, h).get().tolist() == [12.0, 48.0, 108.0]
        assert nl.grad(cost, x).get().tolist() == [24.0, 96.0, 216.0]
        assert nl.grad(cost, h[::-1]).get().tolist() == [108.0, 48.0, 12.0]


def test_symbols_of_unknown_extents() -> None:
    x = nl.symbol("x", (None, 2), "float64")
    w = nl.shared(np.array([1.0, 2.0]), "w")
    cost = np.sum((x @ w - 1.0) ** 2)
    f = nl.function([x], cost, updates=[(w, w - 0.1 * nl.grad(cost, w))])
    one, two = (nl.function([x], g) for g in nl.grad(cost, [w, x]))
    data = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(one(data).get(), 2 * data.T @ (data @ [1.0, 2.0] - 1))
    np.testing.assert_allclose(two(data).get(), 2 * np.outer(data @ [1.0, 2.0] - 1, [1.0, 2.0]))
    f(data)
    np.testing.assert_allclose(w.get_value(), [1.0, 2.0] - 0.2 * data.T @ (data @ [1.0, 2.0] - 1))


def test_descent_in_a_compiled_function() -> None:
    generator = np.random.default_rng(0)
    data = generator.normal(size=(50, 4))
    target = (data @ [1.0, -2.0, 0.5, 0.0] > 0).astype(float)
    x, y = nl.symbol("x", (50, 4), "float64"), nl.symbol("y", (50,), "float64")
    w, b = nl.shared(np.zeros(4), "w"), nl.shared(np.zeros(()), "b")
    p = 1 / (1 + nl.exp(-(x @ w) - b))
    cost = -(y * nl.log(p) + (1 - y) * nl.log(1 - p)).mean() + 0.01 * (w**2).sum()
    by_w, by_b = nl.grad(cost, [w, b])
    train = nl.function([x, y], cost, updates=[(w, w - 0.5 * by_w), (b, b - 0.5 * by_b)])
    ours = np.zeros(4)
    offset = 0.0
    for _ in range(20):
        guess = 1 / (1 + np.exp(-(data @ ours) - offset))
        ours, offset = (
            ours - 0.5 * (data.T @ (guess - target) / 50 + 0.02 * ours),
            offset - 0.5 * (guess - target).mean(),
        )
        train(data, target)
    np.testing.assert_allclose(w.get_value(), ours, rtol=1e-9)
    np.testing.assert_allclose(b.get_value(), offset, rtol=1e-9)


# ---------------------------------------------------------------- functions


def test_value_and_grad() -> None:
    value, found = nl.value_and_grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(nl.arange(3.0), 2.0)
    assert float(value) == 6.0
    assert found[0].tolist() == [2.0, 2.0, 2.0]
    assert float(found[1]) == 3.0


def test_parameters_in_containers() -> None:
    parameters = {"w": [nl.ones((2, 2)), nl.ones(2)], "b": (nl.array(1.0),)}

    def cost(p: Any, x: Any) -> Any:
        return ((x @ p["w"][0] + p["w"][1]) * p["b"][0]).sum()

    found = nl.grad(cost)(parameters, nl.array([1.0, 2.0]))
    assert found["w"][0].tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert found["w"][1].tolist() == [1.0, 1.0]
    assert float(found["b"][0]) == 8.0


def test_vjp_and_jvp_agree_with_the_jacobian() -> None:
    def f(x: Any) -> Any:
        return nl.sin(x[:2]) * x[1:] ** 2

    x = nl.array([0.3, 0.7, 1.1])
    whole = nl.jacobian(f)(x)
    assert whole.shape == (2, 3)
    value, back = nl.vjp(f, x)
    np.testing.assert_allclose(value.get(), f(x).get())
    np.testing.assert_allclose(back(nl.array([1.0, 2.0]))[0].get(), whole.get().T @ [1.0, 2.0])
    value, slope = nl.jvp(f, [x], [nl.array([1.0, 2.0, 3.0])])
    np.testing.assert_allclose(slope.get(), whole.get() @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(value.get(), f(x).get())


def test_jvp_of_several() -> None:
    value, slope = nl.jvp(lambda x, y: nl.exp(x) * y, [nl.zeros(2), nl.ones(2)], [nl.ones(2), 3 * nl.ones(2)])
    assert value.tolist() == [1.0, 1.0]
    assert slope.tolist() == [4.0, 4.0]
    assert nl.jvp(lambda x: nl.ones(2) + 0 * nl.floor(x), [nl.zeros(2)], [nl.ones(2)])[1].tolist() == [0.0, 0.0]


def test_hessian() -> None:
    found = nl.hessian(lambda x: x[0] ** 2 * x[1] + nl.exp(x[1]))(nl.array([2.0, 0.0]))
    np.testing.assert_allclose(found.get(), [[0.0, 4.0], [4.0, 1.0]])
    assert nl.hessian(lambda x: x.sum())(nl.zeros((2, 3))).shape == (2, 3, 2, 3)


def test_third_derivative() -> None:
    third = nl.grad(nl.grad(nl.grad(lambda x: nl.sin(x))))
    np.testing.assert_allclose(float(third(nl.array(0.4))), -np.cos(0.4))


def test_gradient_inside_of_a_cost() -> None:
    def cost(x: Any) -> Any:
        return (nl.grad(lambda y: (y**3 * x).sum())(x) ** 2).sum()

    # d/dx of (3 x^3)^2
    np.testing.assert_allclose(nl.grad(cost)(nl.array([1.0, 2.0])).get(), [54.0, 54.0 * 32])


def test_a_closure_over_an_outer_variable() -> None:
    found = nl.grad(lambda x: nl.grad(lambda y: x * y**2)(nl.array(3.0)))(nl.array(2.0))
    assert float(found) == 6.0


def test_nothing_is_kept_of_the_arguments() -> None:
    x = nl.array([1.0, 2.0, 3.0])

    def cost(x: Any) -> Any:
        x[1:] = x[:2] ** 2
        x *= 2
        return x.sum()

    assert nl.grad(cost)(x).tolist() == [6.0, 8.0, 0.0]
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_branches_follow_the_values() -> None:
    branching = nl.grad(lambda x: (x**2).sum() if x[0] > 0 else x.sum())
    assert branching(nl.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert branching(nl.array([-1.0, 2.0])).tolist() == [1.0, 1.0]


def test_in_threads() -> None:
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        found[number] = nl.grad(lambda x: (x**number).sum())(nl.array([2.0])).tolist()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [number * 2.0 ** (number - 1)] for number in range(1, 9)}


def test_long_chains() -> None:
    def cost(x: Any) -> Any:
        y = x
        for _ in range(20_000):
            y = y + x
        return y.sum()

    x = nl.symbol("x", (2,), "float64")
    found = nl.grad(cost(x), x)
    assert found.shape == (2,)


# ---------------------------------------------------------------- loops


@pytest.mark.slow
def test_loops_of_known_length() -> None:
    x = nl.array([0.3, 0.7])
    assert control.UNROLLED < 40

    def plain(x: Any) -> Any:
        y, sums = x, []
        for number in range(40):
            y = nl.sin(y) * x + 0.1 * number
            sums.append(y * y)
        return y.sum() + nl.stack(sums).mean()

    def looped(x: Any) -> Any:
        last = control.fori_loop(0, 40, lambda i, y: nl.sin(y) * x + 0.1 * i, x)
        _, kept = control.scan(
            lambda y, i: ((nl.sin(y) * x + 0.1 * i), (nl.sin(y) * x + 0.1 * i) ** 2), x, nl.arange(40.0)
        )
        return last.sum() + kept.mean()

    np.testing.assert_allclose(nl.grad(looped)(x).get(), nl.grad(plain)(x).get(), rtol=1e-12)
    second = [nl.grad(lambda x, f=f: nl.grad(f)(x).sum())(x).get() for f in (looped, plain)]
    np.testing.assert_allclose(second[0], second[1], rtol=1e-12)


def test_loops_by_values_have_none() -> None:
    with pytest.raises(nl.NoGradientError, match="while_loop has no gradient"):
        nl.grad(lambda x: control.while_loop(lambda y: (y < 100).all(), lambda y: y * x, x).sum())(nl.array([2.0]))


# ---------------------------------------------------------------- dtypes and shapes


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_dtypes_are_kept(dtype: str) -> None:
    found = nl.grad(lambda x: nl.abs(x * 2).sum())(nl.array([1.0, -2.0], dtype))
    assert found.dtype == dtype
    assert found.tolist() == [2.0, -2.0]


def test_casts() -> None:
    found = nl.grad(lambda x: (x.astype("float64") * x.astype("complex64").real).sum())(nl.array([3.0], "float32"))
    assert found.dtype == np.float32
    assert found.tolist() == [6.0]
    assert nl.grad(lambda x: (x.astype(int) * x).sum())(nl.array([3.5])).tolist() == [3.0]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1, 1)])
def test_odd_shapes(shape: tuple[int, ...]) -> None:
    x = nl.full(shape, 2.0)
    for cost in (
        lambda x: (x**2).sum(),
        lambda x: nl.concatenate([x.ravel(), x.ravel() ** 2]).sum(),
        lambda x: x.prod() + nl.cumsum(x).sum(),
        lambda x: (nl.sort(x, None)[::-1] * x.ravel()).sum(),
        lambda x: (x[..., None] * nl.ones(3)).sum(),
    ):
        found = nl.grad(cost)(x)
        assert found.shape == shape
        np.testing.assert_array_equal(np.isnan(found.get()), False)


@pytest.mark.parametrize("left", [(3, 1), (1, 4), (3, 4), (), (4,), (2, 3, 4), (1,)])
@pytest.mark.parametrize("right", [(3, 1), (3, 4), (), (4,), (1, 3, 1)])
def test_broadcasting(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=left), generator.normal(size=right)
    whole = np.broadcast_shapes(left, right)
    one, two = nl.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(nl.array(a), nl.array(b))
    for found, own, other in ((one, a, b), (two, b, a)):
        spread = np.broadcast_to(other, whole)
        lead = len(whole) - own.ndim
        axes = (*range(lead), *(lead + k for k, extent in enumerate(own.shape) if extent == 1))
        np.testing.assert_allclose(found.get(), spread.sum(axes).reshape(own.shape))


# ---------------------------------------------------------------- kinks


def slope(f: Any, x: Any) -> Any:
    return nl.grad(lambda x: f(x).sum())(nl.array(x)).tolist()


def test_kinks() -> None:
    assert slope(nl.abs, [0.0, -0.0]) == [0.0, 0.0]
    assert slope(nl.sign, [0.0]) == [0.0]
    assert slope(lambda x: nl.maximum(x, 0.0), [0.0, 1.0, -1.0]) == [0.5, 1.0, 0.0]
    assert slope(lambda x: nl.minimum(x, 0.0), [0.0, 1.0, -1.0]) == [0.5, 0.0, 1.0]
    assert slope(lambda x: nl.clip(x, -1.0, 1.0), [-2.0, -1.0, 0.0, 1.0]) == [0.0, 0.5, 1.0, 0.5]
    assert slope(lambda x: x.max(), [1.0, 3.0, 3.0]) == [0.0, 0.5, 0.5]
    assert slope(nl.sqrt, [0.0]) == [np.inf]
    assert slope(lambda x: x**2, [0.0]) == [0.0]
    assert slope(lambda x: x**0.0, [0.0]) == [0.0]
    assert slope(lambda x: nl.hypot(x, 0.0), [0.0]) == [0.0]
    assert slope(nl.floor, [1.0, 1.5]) == [0.0, 0.0]
    assert slope(lambda x: nl.round(x, 1), [1.23]) == [0.0]
    assert slope(lambda x: nl.remainder(x, 2.0), [1.0, 3.5]) == [1.0, 1.0]
    assert slope(lambda x: nl.where(x > 0, x, 0.0), [0.0, 1.0]) == [0.0, 1.0]


def test_nan() -> None:
    assert np.isnan(slope(lambda x: x**2, [np.nan])).all()
    assert slope(lambda x: nl.fmax(x, np.nan), [1.0]) == [1.0]
    assert slope(lambda x: nl.nansum(x), [1.0, np.nan]) == [1.0, 0.0]
    assert np.isnan(slope(lambda x: x.max(), [1.0, np.nan])).any()


def test_powers_of_zero() -> None:
    assert slope(lambda x: x**3.0, [0.0]) == [0.0]
    assert slope(lambda x: 0.0**x, [2.0]) == [0.0]
    assert slope(lambda x: x ** nl.array(2.0), [0.0, -3.0]) == [0.0, -6.0]


# ---------------------------------------------------------------- random draws


@pytest.mark.parametrize("name", ["normal", "uniform", "laplace", "logistic", "gumbel"])
def test_draws_by_location_and_scale(name: str) -> None:
    def draw(a: Any, b: Any) -> Any:
        return getattr(nl.random.default_rng(3), name)(a, b, 5)

    a, b = 0.5, 1.5
    one, two = nl.grad(lambda a, b: (draw(a, b) ** 2).sum(), argnums=(0, 1))(nl.array(a), nl.array(b))
    cost = lambda a, b: float((draw(nl.array(a), nl.array(b)) ** 2).sum())  # noqa: E731
    step = 1e-6
    np.testing.assert_allclose(float(one), (cost(a + step, b) - cost(a - step, b)) / (2 * step), rtol=1e-5)
    np.testing.assert_allclose(float(two), (cost(a, b + step) - cost(a, b - step)) / (2 * step), rtol=1e-5)


def test_draws_without_a_derivative() -> None:
    with pytest.raises(nl.NoGradientError, match="shape of its distribution"):
        nl.grad(lambda a: nl.random.default_rng(0).standard_gamma(a, 3).sum())(nl.array(2.0))


def test_draws_go_on() -> None:
    generator = nl.random.default_rng(0)
    noisy = nl.grad(lambda x: (x * generator.normal(size=3)).sum())
    one, two = noisy(nl.ones(3)).tolist(), noisy(nl.ones(3)).tolist()
    assert one != two


# ---------------------------------------------------------------- kernels of users


def test_a_kernel_with_a_gradient() -> None:
    kernel = nl.ElementwiseKernel(
        "T x, T w", "T z", "z = x * x * w", "weighted", gradient=("2 * g * x * w", "g * x * x")
    )
    one, two = nl.grad(lambda x, w: kernel(x, w).sum(), argnums=(0, 1))(nl.array([1.0, 2.0]), nl.array(3.0))
    assert one.tolist() == [6.0, 12.0]
    assert float(two) == 5.0
    again = nl.grad(lambda x: nl.grad(lambda x: kernel(x, 3.0).sum())(x).sum())
    assert again(nl.array([1.0, 2.0])).tolist() == [6.0, 6.0]


def test_kernels_without() -> None:
    kernel = nl.ElementwiseKernel("T x", "T z", "z = x * x", "squared")
    with pytest.raises(nl.NoGradientError, match=r"user squared has no rule.*gradient="):
        nl.grad(lambda x: kernel(x).sum())(nl.ones(2))
    with pytest.raises(ValueError, match="one for each input"):
        nl.ElementwiseKernel("T x, T y", "T z", "z = x * y", "product", gradient="g")
    with pytest.raises(SyntaxError):
        nl.ElementwiseKernel("T x", "T z", "z = x", "same", gradient="g *")
    with pytest.raises(TypeError, match="texts"):
        nl.ElementwiseKernel("T x", "T z", "z = x", "same", gradient=[1])  # type: ignore[list-item]


# ---------------------------------------------------------------- errors


def test_errors() -> None:
    x = nl.symbol("x", (2,), "float64")
    other = nl.symbol("other", (2,), "float64")
    whole = nl.symbol("whole", (2,), "int64")
    cost = (x**2).sum()
    with pytest.raises(nl.UnusedError, match="does not depend on wrt \\(symbol other\\)"):
        nl.grad(cost, other)
    assert nl.function([x], nl.grad(cost, [other, x], allow_unused=True)[0])(np.ones(2)).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"must be one number.*sum it"):
        nl.grad(x**2, x)
    with pytest.raises(TypeError, match=r"floats, got int64.*astype"):
        nl.grad((whole * 1.5).sum(), whole)
    with pytest.raises(TypeError, match="cost must be a float"):
        nl.grad((x > 0).sum(), x)
    with pytest.raises(TypeError, match="real part"):
        nl.grad((x * 1j).sum(), x)
    with pytest.raises(TypeError, match="with respect to what"):
        nl.grad(cost)
    with pytest.raises(TypeError, match="numloom arrays, got float"):
        nl.grad(cost, 3.0)


def test_errors_of_functions() -> None:
    with pytest.raises(TypeError, match="got int64"):
        nl.grad(lambda x: (x * 1.0).sum())(nl.arange(3))
    with pytest.raises(nl.UnusedError, match="argument 0"):
        nl.grad(lambda x: nl.ones(3).sum())(nl.ones(3))
    assert nl.grad(lambda x: nl.ones(3).sum(), allow_unused=True)(nl.ones(3)).tolist() == [0.0] * 3
    with pytest.raises(TypeError, match="argument 2 was asked for, and 1 were given"):
        nl.grad(lambda x: x.sum(), argnums=2)(nl.ones(3))
    with pytest.raises(TypeError, match="must give one array, got tuple"):
        nl.grad(lambda x: (x, x))(nl.ones(3))
    with pytest.raises(TreeError):
        x = nl.symbol("x", (3,), "float64")
        nl.grad(lambda x: x.sum() if x[0] > 0 else x.prod())(x)
    with pytest.raises(TypeError, match="seen as int64"):
        nl.grad(lambda x: (x.view("int64") * 1.0).sum() + x.sum())(nl.ones(3))
    with pytest.raises(ValueError, match="has shape"):
        nl.vjp(nl.sin, nl.ones(3))[1](nl.ones(2))
    with pytest.raises(ValueError, match="directions"):
        nl.jvp(nl.sin, [nl.ones(3)], [])


def test_what_was_computed_before_is_a_constant() -> None:
    x = nl.array([1.0, 2.0])
    y = x**2
    y.get()
    with nl.symbolic():
        cost = (y * 2).sum()
    with pytest.raises(nl.CutError, match="computed outside of its tree"):
        nl.grad(cost, x)
    with nl.symbolic():
        cost = (nl.asarray([1.0, 2.0]) * 2).sum()
    with pytest.raises(nl.UnusedError, match="computed before is a constant"):
        nl.grad(cost, x)


def test_views_stay_views_when_all_runs_at_once() -> None:
    """A view that was held for a moment was computed, into memory that its strides left."""
    x = nl.asarray(np.arange(6.0))
    with config(max_pending=1000):
        views = [node_of((x * k)[::-1]) for k in range(2, 5)]
    with config(max_pending=0):
        arrays = wrap_all(views)
    assert all([node.kind == VIEW for node in views])
    assert [array.tolist() for array in arrays] == [(np.arange(6.0) * k)[::-1].tolist() for k in range(2, 5)]


@pytest.mark.parametrize("most", [0, 1, 2, 5, 1000])
def test_results_that_are_views_when_all_runs_at_once(most: int) -> None:
    x, v = nl.asarray(np.arange(6.0)), nl.asarray(np.arange(6.0) + 10)
    matrix = lambda x: nl.rot90(x.reshape(2, 3) * 2)  # noqa: E731
    wanted = {
        "view": (lambda x: x[::-1], v.get()[::-1]),
        "pending": (lambda x: (x * 2)[::-1], 2 * v.get()[::-1]),
        "apart": (lambda x: (x * 2)[::-2], 2 * v.get()[::-2]),
        "repeated": (lambda x: nl.broadcast_to(x[1:] * 3, (4, 5)), np.broadcast_to(3 * v.get()[1:], (4, 5))),
        "turned": (matrix, np.rot90(2 * v.get().reshape(2, 3))),
    }
    with config(max_pending=most):
        for function, want in wanted.values():
            for _ in range(3):
                np.testing.assert_array_equal(nl.jvp(function, (x,), (v,))[1].get(), want)
        for _ in range(3):
            gradient = nl.grad(lambda x: (nl.flip(x) * v).sum())(x)
            np.testing.assert_array_equal(gradient.get(), v.get()[::-1])
