"""What users of Theano and JAX write: derivatives of trees, results beside a cost, rules of their own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled import NoGradientError, vector

V = np.array([0.5, -1.0, 2.0])


# ---------------------------------------------------------------- jacobian and hessian of trees


def test_jacobians_of_trees_are_those_of_functions() -> None:
    x, w = nl.symbol("x", (3,)), nl.shared(np.arange(6.0).reshape(2, 3), "w")
    y = nl.tanh(nl.dot(w, x)) * x[0]
    by_x, by_w = nl.function([x], nl.jacobian(y, [x, w]))(V)
    assert by_x.shape == (2, 3) and by_w.shape == (2, 2, 3)
    wanted = nl.jacobian(lambda x, w: nl.tanh(nl.dot(w, x)) * x[0], argnums=(0, 1))(V, w.get_value())
    np.testing.assert_allclose(by_x.get(), wanted[0].get())
    np.testing.assert_allclose(by_w.get(), wanted[1].get())


def test_forms_of_jacobians() -> None:
    x = nl.symbol("x", (3,))
    assert nl.jacobian(x.sum(), x).shape == (3,) and nl.jacobian(x[:0], x).shape == (0, 3)
    assert isinstance(nl.jacobian(x * 2, [x]), list)
    turned = nl.jacobian(nl.outer(x, x)[::-1, ::-1].T, x)
    host = np.outer(V, V)
    wanted = np.stack([(np.outer(V + d, V + d) - host)[::-1, ::-1].T / 1e-7 for d in np.eye(3) * 1e-7], -1)
    np.testing.assert_allclose(nl.function([x], turned)(V).get(), wanted, atol=1e-6)
    z = nl.symbol("z", (2,), "complex128")
    found = nl.function([z], nl.jacobian(z**2, z))([1 + 1j, 2.0])
    np.testing.assert_allclose(found.get(), np.diag([2 + 2j, 4]))
    with pytest.raises(TypeError, match=r"complex ones \(z\) by way of conj"):
        nl.jacobian(z * z.conj(), z)
    single = nl.symbol("s", (2,), "float32")
    assert nl.jacobian(single**2, single).dtype == np.float32


def test_hessians_of_trees() -> None:
    x, w = nl.symbol("x", (3,)), nl.symbol("w", (2,))
    cost = (x**3).sum() * w[0] + (w**2).sum()
    by_x, by_w = nl.function([x, w], nl.hessian(cost, [x, w]))(V, [2.0, 1.0])
    np.testing.assert_allclose(by_x.get(), np.diag(6 * V * 2))
    np.testing.assert_allclose(by_w.get(), 2 * np.eye(2))
    linear = nl.function([x], nl.hessian((x * 3).sum(), x))(V)
    assert np.array_equal(linear.get(), np.zeros((3, 3)))
    assert np.array_equal(nl.hessian(lambda x: (x**2).sum(), 0)(V).get(), 2 * np.eye(3))


def test_derivatives_where_extents_are_unknown() -> None:
    x = vector("x")
    f = nl.function([x], [nl.jacobian(x**2, x), nl.hessian((x**3).sum(), x), *nl.jacobian(x * 2, [x])])
    for values in (V, V[:2]):
        first, second, third = f(values)
        np.testing.assert_allclose(first.get(), np.diag(2 * values))
        np.testing.assert_allclose(second.get(), np.diag(6 * values))
        np.testing.assert_allclose(third.get(), 2 * np.eye(len(values)))


def test_what_has_no_jacobian() -> None:
    x, n = nl.symbol("x", (3,)), nl.symbol("n", (3,), "int64")
    with pytest.raises(TypeError, match="say by what"):
        nl.jacobian(x * 2)
    with pytest.raises(TypeError, match="say by what"):
        nl.hessian(x.sum())
    with pytest.raises(TypeError, match="arrays of floats"):
        nl.jacobian(n * 2, x)
    with pytest.raises(TypeError, match="arrays of floats"):
        nl.jacobian(x * n, n)
    with pytest.raises(nl.CutError, match="ordinary array"):
        nl.jacobian(nl.ones(3) * 2, nl.ones(3))
    with pytest.raises(nl.UnusedError):
        nl.jacobian(x * 2, nl.symbol("y", (2,)))
    assert not nl.jacobian(x * 2, nl.symbol("y", (2,)), allow_unused=True).asnumpy().any()


# ---------------------------------------------------------------- has_aux


def with_more(x: Any, scale: float = 1.0) -> Any:
    inner = nl.sin(x) * scale
    return (inner**2).sum(), {"inner": inner, "name": "sine", "parts": [x * 2, None, 3]}


def test_results_beside_the_cost() -> None:
    (cost, aux), slope = nl.value_and_grad(with_more, has_aux=True)(V, scale=2.0)
    assert np.isclose(cost, (4 * np.sin(V) ** 2).sum()) and aux["name"] == "sine" and aux["parts"][1:] == [None, 3]
    np.testing.assert_allclose(aux["inner"].get(), 2 * np.sin(V))
    np.testing.assert_allclose(slope.get(), 8 * np.sin(V) * np.cos(V))
    again, aux = nl.grad(with_more, has_aux=True)(V, scale=2.0)
    assert np.array_equal(again.get(), slope.get()) and np.array_equal(aux["parts"][0].get(), 2 * V)
    rows, aux = nl.jacobian(lambda x: (x**2, x.sum()), has_aux=True)(V)
    np.testing.assert_allclose(rows.get(), np.diag(2 * V))
    assert aux == V.sum()
    value, back, aux = nl.vjp(lambda x: (x**2, [x + 1]), V, has_aux=True)
    assert np.array_equal(value.get(), V**2) and np.array_equal(aux[0].get(), V + 1)
    assert np.array_equal(back(np.ones(3))[0].get(), 2 * V)


def test_results_beside_the_cost_in_compiled_functions() -> None:
    step = nl.compile(lambda x: nl.grad(with_more, has_aux=True)(x)[1]["inner"])
    for values in (V, V + 1):
        np.testing.assert_allclose(step(nl.asarray(values)).get(), np.sin(values))


def test_what_is_no_pair_is_refused() -> None:
    with pytest.raises(TypeError, match="must give a pair"):
        nl.grad(lambda x: x.sum(), has_aux=True)(V)
    with pytest.raises(TypeError, match="has_aux is about functions"):
        x = nl.symbol("x", (3,))
        nl.grad(x.sum(), x, has_aux=True)
    with pytest.raises(TypeError, match="must give one array"):
        nl.grad(with_more)(V)


# ---------------------------------------------------------------- custom_gradient


def rule(g: Any, y: Any, x: Any, w: Any) -> Any:
    return g * w, None


product = nl.custom_gradient(lambda x, w: nl.exp(x) * w, gradient=rule)
"""Its gradient is wrong on purpose, so that it is seen."""


def test_a_rule_stands_for_the_way_back() -> None:
    w = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(product(nl.asarray(V), nl.asarray(w)).get(), np.exp(V) * w)
    slope = nl.grad(lambda x: (product(x, nl.asarray(w)) ** 2).sum())
    np.testing.assert_allclose(slope(V).get(), 2 * np.exp(V) * w * w)
    x = nl.symbol("x", (3,))
    y = product(nl.sin(x), nl.asarray(w))
    f = nl.function([x], [y, nl.grad(y.sum(), x)])
    for values in (V, V + 1):
        value, by = f(values)
        np.testing.assert_allclose(value.get(), np.exp(np.sin(values)) * w)
        np.testing.assert_allclose(by.get(), w * np.cos(values))
    assert not nl.grad(lambda w: product(nl.asarray(V), w).sum())(w).get().any()  # None: nothing flows back.


def test_rules_of_second_order_loops_and_pickles() -> None:
    @nl.custom_gradient(gradient=lambda g, y, x: g * 3 * x**2)
    def cube(x: Any) -> Any:
        return x * x * x

    assert cube.__name__ == "cube"
    np.testing.assert_allclose(nl.hessian(lambda x: cube(x).sum())(V).get(), np.diag(6 * V))
    _, direction = nl.jvp(cube, [V], [np.ones(3)])
    np.testing.assert_allclose(direction.get(), 3 * V**2)
    for steps in (5, 40):
        slope = nl.grad(lambda x, n=steps: nl.fori_loop(0, n, lambda i, s: cube(s) * 0.1 + x, x).sum())
        plain = nl.grad(lambda x, n=steps: nl.fori_loop(0, n, lambda i, s: s**3 * 0.1 + x, x).sum())
        np.testing.assert_allclose(slope(V * 0.3).get(), plain(V * 0.3).get(), rtol=1e-10)
    x, w = nl.symbol("x", (3,)), nl.shared(np.ones(3), "w")
    tree = pickle.loads(pickle.dumps(product(x, w)))
    symbol = nl.tree(tree).symbols["x"]
    assert np.array_equal(nl.function([symbol], nl.grad(tree.sum(), symbol))(V).get(), np.ones(3))


def test_arguments_of_any_form() -> None:
    @nl.custom_gradient(gradient=lambda g, y, layer, n, mode: ({"w": g * 2, "b": None}, None, None))
    def layered(layer: Any, n: Any, mode: str) -> Any:
        assert mode == "same"
        return layer["w"] * n + layer["b"]

    def cost(layer: Any) -> Any:
        return layered(layer, nl.asarray([1, 2, 3]), "same").sum()

    found = nl.grad(cost, allow_unused=True)({"w": nl.asarray(V), "b": nl.asarray(V)})
    assert np.array_equal(found["w"].get(), [2, 2, 2]) and not found["b"].get().any()


def test_trees_with_rules_run_by_numpy_and_as_source_text() -> None:
    x = nl.symbol("x", (3,))
    doubled = nl.custom_gradient(lambda x: nl.sin(x) * 2, gradient=lambda g, y, x: g)
    for steps in (0, 40):
        tree = nl.fori_loop(0, steps, lambda i, s: doubled(s) * 0.5, doubled(x))
        wanted = np.sin(V) * 2
        for _ in range(steps):
            wanted = np.sin(wanted)
        np.testing.assert_allclose(nl.function([x], tree)(V).get(), wanted, rtol=1e-12)
        np.testing.assert_allclose(nl.substitute(tree, (x, nl.asarray(V))).asnumpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(nl.source(doubled(x) + 1).compile()(V), np.sin(V) * 2 + 1)


def test_rules_where_extents_are_unknown() -> None:
    x = vector("x")
    y = product(x * 1.0, x * 0 + 2)
    f = nl.function([x], [y, nl.grad(y.sum(), x)])
    for values in (V, V[:2]):
        np.testing.assert_allclose(f(values)[0].get(), np.exp(values) * 2)
        np.testing.assert_allclose(f(values)[1].get(), np.full(len(values), 2.0))


def test_what_is_handed_through_is_no_alias() -> None:
    clipped = nl.custom_gradient(lambda x: x, gradient=lambda g, y, x: nl.clip(g, -1, 1))
    x, w = nl.symbol("x", (3,)), nl.shared(np.ones(3), "w")
    f = nl.function([x], [clipped(x), clipped(x[::-1])], updates={w: clipped(w) + 0})
    given = nl.asarray(V)
    for _ in range(4):
        same, turned = f(given)
        same[0] = 9
        turned[0] = 9
        assert np.array_equal(given.get(), V)
    np.testing.assert_allclose(nl.grad(lambda x: (clipped(x) ** 3).sum())(V).get(), [0.75, 1, 1])


def test_a_rule_goes_around_what_has_no_gradient() -> None:
    """The square root by Newton's iteration, differentiated as the solution of an equation."""

    @nl.custom_gradient(gradient=lambda g, y, x: g / (2 * y))
    def root(x: Any) -> Any:
        return nl.while_loop(lambda s: (abs(s * s - x) > 1e-12).any(), lambda s: 0.5 * (s + x / s), x)

    x = nl.symbol("x", (2,))
    f = nl.function([x], nl.grad(root(x).sum(), x))
    np.testing.assert_allclose(f([4.0, 9.0]).get(), [0.25, 1 / 6])
    with pytest.raises(NoGradientError):
        nl.grad(nl.while_loop(lambda s: s.sum() < 9, lambda s: s * x, x).sum(), x)


@pytest.mark.parametrize(
    ("gradient", "kind", "text"),
    [
        (lambda g, y, x, w: g, TypeError, "tuple with a part for each of its 2 arguments"),
        (lambda g, y, x, w: (g,), TypeError, "tuple with a part for each"),
        (lambda g, y, x, w: (g.sum(), g), ValueError, r"by x has shape \(\), and x has shape \(3,\)"),
    ],
)
def test_rules_that_do_not_fit(gradient: Any, kind: Any, text: str) -> None:
    def function(x: Any, w: Any) -> Any:
        return x * w

    ruled = nl.custom_gradient(function, gradient=gradient)
    with pytest.raises(kind, match=text):
        nl.grad(lambda x: ruled(x, x).sum())(V)
    several = nl.custom_gradient(lambda x: (x, x), gradient=lambda g, y, x: g)
    with pytest.raises(TypeError, match="must give one array"):
        nl.grad(lambda x: several(x)[0].sum())(V)


# ---------------------------------------------------------------- arguments are the caller's


def test_arguments_are_not_changed() -> None:
    given = nl.asarray(V)

    @nl.compile
    def plus(x: Any) -> Any:
        x = x.copy()
        x += 1
        x[0] = 7
        return x

    assert np.array_equal(plus(given).get(), [7, 0, 3]) and np.array_equal(given.get(), V)

    @nl.compile
    def in_place(x: Any) -> Any:
        x += 1
        return x

    with pytest.raises(ValueError, match="read-only"):
        in_place(given)
    assert np.array_equal(given.get(), V)


def test_a_scan_gives_updates() -> None:
    state = nl.shared(np.zeros(2), "state")
    w = nl.shared(np.eye(2) * 0.5, "w")
    seen = nl.symbol("seen", (40, 2))
    last, rows = nl.scan(lambda s, e: (nl.dot(w, s) + e, s), state, seen)
    f = nl.function([seen], rows.sum(), updates={state: last})
    values, host = np.random.default_rng(0).normal(size=(40, 2)), np.zeros(2)
    for _ in range(3):
        total = 0.0
        for row in values:
            total += host.sum()
            host = host * 0.5 + row
        assert np.isclose(f(values), total)
        np.testing.assert_allclose(state.get_value(), host)
