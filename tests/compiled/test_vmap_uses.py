"""`vmap` with what programs have beside it: axes, nesting, gradients, compiled functions, loops, draws and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled import jacobians
from numloom.device import registry
from numloom.graph.tree import TreeError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(5, 3, 4))
W = RNG.normal(size=(4, 2))
ROWS = RNG.normal(size=(5, 40, 4))


def close(found: Any, want: Any) -> None:
    have, expected = nl.asnumpy(found), nl.asnumpy(want)
    assert (have.shape, have.dtype) == (expected.shape, expected.dtype)
    assert np.allclose(have, expected, 1e-10, 1e-10, equal_nan=True), (have, expected)


def each(function: Any, *arrays: Any) -> Any:
    """The function of one example after the other."""
    return nl.stack([function(*parts) for parts in zip(*arrays, strict=True)])


# ---------------------------------------------------------------- axes and forms


@pytest.mark.parametrize("in_axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_axes_may_stand_anywhere(in_axis: int, out_axis: int) -> None:
    found = nl.vmap(lambda a: a.sum(0), in_axis, out_axis)(nl.asarray(X))
    rows = [np.take(X, k, in_axis).sum(0) for k in range(X.shape[in_axis])]
    close(found, np.stack(rows, out_axis))


def test_forms_of_arguments_and_results() -> None:
    given = {"a": nl.asarray(X), "b": (nl.asarray(X[:, 0]), 2.0)}
    axes = ({"a": 0, "b": (0, None)}, None)
    found = nl.vmap(lambda d, s: {"sum": d["a"].sum() * s, "rest": [d["b"][0] * d["b"][1], s], "none": None}, axes)(
        given, 3
    )
    close(found["sum"], X.sum((1, 2)) * 3)
    close(found["rest"][0], X[:, 0] * 2.0)
    assert nl.asnumpy(found["rest"][1]).tolist() == [3] * 5 and found["none"] is None
    a, b = nl.vmap(lambda a: (a.T, a.sum()), out_axes=(2, 0))(nl.asarray(X))
    close(a, np.stack([one.T for one in X], 2))
    close(b, X.sum((1, 2)))


def test_arguments_by_name_have_their_examples_in_front() -> None:
    close(nl.vmap(lambda a, b: a + b, (0,))(nl.asarray(X), b=nl.asarray(X)), X + X)


def test_what_is_the_same_in_all_examples() -> None:
    one, two = nl.vmap(lambda a: (a.sum(), 7), out_axes=(0, None))(nl.asarray(X))
    close(one, X.sum((1, 2)))
    assert two.shape == () and int(two) == 7
    assert nl.vmap(lambda a: nl.arange(3), out_axes=1)(nl.asarray(X)).tolist() == [[k] * 5 for k in range(3)]


def test_weak_numbers_stay_weak_and_scalars_do_not() -> None:
    x = nl.asarray(X.astype("f4"))
    assert nl.vmap(lambda a, b: a * b, (0, None))(x, 2.0).dtype == np.float32
    assert nl.vmap(lambda a, b: a * b, (0, None))(x, np.float64(2)).dtype == np.float64
    assert nl.vmap(lambda a, b: a * b)(x, nl.arange(5.0)).dtype == np.float64


def test_numpy_arrays_are_taken() -> None:
    found = nl.vmap(lambda a, w: a @ w, (0, None))(X, W)
    assert isinstance(found, nl.ndarray)
    close(found, X @ W)


def test_vmap_of_vmap() -> None:
    a, b = nl.arange(3.0), nl.arange(4.0)
    found = nl.vmap(nl.vmap(lambda p, q: p * q + q, (None, 0)), (0, None))(a, b)
    close(found, np.arange(3.0)[:, None] * np.arange(4.0) + np.arange(4.0))
    thrice = nl.vmap(nl.vmap(nl.vmap(lambda p: p**2)))(nl.asarray(X))
    close(thrice, X**2)
    pairs = nl.vmap(lambda p: nl.vmap(lambda q: nl.linalg.norm(p - q))(nl.asarray(X[:, 0])))(nl.asarray(X[:, 1]))
    close(pairs, np.linalg.norm(X[:, 1][:, None] - X[:, 0][None], axis=-1))


# ---------------------------------------------------------------- gradients


def cost(a: Any) -> Any:
    return (nl.tanh(a) @ nl.asarray(W)).sum() ** 2


def test_gradients_of_each_example() -> None:
    x = nl.asarray(X)
    close(nl.vmap(nl.grad(cost))(x), each(nl.grad(cost), x))
    value, gradient = nl.vmap(nl.value_and_grad(cost))(x)
    close(value, each(cost, x))
    close(gradient, each(nl.grad(cost), x))
    by_weights = nl.vmap(nl.grad(lambda w, a: (a @ w).sum() ** 2), (None, 0))(nl.asarray(W), x)
    close(by_weights, each(lambda a: nl.grad(lambda w: (a @ w).sum() ** 2)(nl.asarray(W)), x))


def test_jacobians_of_each_example() -> None:
    x = nl.asarray(X[:, 0])
    close(nl.vmap(nl.jacobian(lambda v: nl.sin(v) * v.sum()))(x), each(nl.jacobian(lambda v: nl.sin(v) * v.sum()), x))
    close(nl.vmap(nl.hessian(lambda v: (v**3).sum()))(x), each(nl.hessian(lambda v: (v**3).sum()), x))
    _, derivative = nl.vmap(lambda v: nl.jvp(nl.sin, [v], [v]))(x)
    close(derivative, np.cos(X[:, 0]) * X[:, 0])


def test_rows_of_a_jacobian_run_in_blocks_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = nl.asarray(X[:, 0]), nl.asarray(W)
    function = lambda x: nl.tanh(x @ w)  # noqa: E731
    want = np.zeros((5, 2, 5, 4))
    for k in range(5):
        want[k, :, k] = ((1 - np.tanh(X[k, 0] @ W) ** 2)[:, None]) * W.T
    for elements in (1 << 24, 60, 1):
        monkeypatch.setattr(jacobians, "AT_ONCE", elements)
        close(nl.jacobian(function)(x), want)
        close(nl.jacobian(lambda x: function(x) * 1j)(x), want * 1j)
    assert nl.jacobian(function)(x[:0]).shape == (0, 2, 0, 4)


FUNCTIONS = {
    "products": lambda w, a: nl.tanh(a @ w).sum(),
    "stacks": lambda w, a: ((a[:, None] * a) @ w).sum(),
    "indices": lambda w, a: (w[nl.argsort(a[0])] * a[0][:, None]).sum(),
    "sorts": lambda w, a: (nl.sort(a, 1) @ w).max(),
    "running sums": lambda w, a: (nl.cumsum(a, 0) @ w).prod(),
    "solutions": lambda w, a: nl.linalg.solve(a[:, :3] + 9 * nl.eye(3), w[:3]).sum() ** 2,
    "one matrix": lambda w, a: nl.linalg.solve(w[:2] + 9 * nl.eye(2), a[:2]).sum() ** 2,
    "inverses": lambda w, a: (nl.linalg.inv(a[:, :3] + 9 * nl.eye(3)) @ w[:3]).sum(),
    "transforms": lambda w, a: (abs(nl.fft.rfft(a, axis=0)) ** 2 @ w).sum(),
    "convolutions": lambda w, a: (nl.convolve(a[0], w[:, 0]) ** 2).sum(),
    "scans": lambda w, a: nl.scan(lambda s, r: (nl.tanh(s * 0.5 + r @ w), s.sum()), nl.zeros(2), a)[1].sum(),
}


def written(w: Any, a: Any) -> Any:
    b = a.copy()
    b[1:] *= a[:-1]
    b[[0, 2], [1, 1]] = w[0]
    return (b @ w).sum()


FUNCTIONS["writes"] = written


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_a_mean_of_examples(name: str) -> None:
    function: Any = FUNCTIONS[name]
    w, x = nl.asarray(W), nl.asarray(X)
    found = nl.grad(lambda w, x: nl.vmap(function, (None, 0))(w, x).mean(), (0, 1))(w, x)
    want = nl.grad(lambda w, x: sum(function(w, x[k]) for k in range(5)) / 5, (0, 1))(w, x)
    for have, expected in zip(found, want, strict=True):
        close(have, expected)
    inner = nl.vmap(nl.grad(function, (0, 1)), (None, 0))(w, x)
    close(inner[0].mean(0), want[0])
    close(inner[1] / 5, want[1])


def test_rules_of_users_take_one_example_at_a_time() -> None:
    seen: list[tuple[int, ...]] = []

    def rule(g: Any, y: Any, a: Any, b: Any) -> Any:
        seen.append(a.shape)
        return nl.clip(g, -1, 1) * b.sum(), (g * a).sum(0)

    clipped = nl.custom_gradient(lambda a, b: a * b, gradient=rule)
    x, b = nl.asarray(X), nl.asarray(X[0, 0])
    function = lambda a, b: (clipped(a, b) * 3).sum()  # noqa: E731
    for found in (
        nl.vmap(nl.grad(function, (0, 1)), (0, None))(x, b),
        nl.grad(lambda a, b: nl.vmap(function, (0, None))(a, b).sum(), (0, 1))(x, b),
    ):
        close(found[0], np.full(X.shape, X[0, 0].sum()))
        close(found[1] if found[1].ndim == 1 else found[1].sum(0), (3 * X).sum((0, 1)))
    assert set(seen) == {(3, 4)}


# ---------------------------------------------------------------- compiled functions


def test_under_compile_and_function() -> None:
    x, symbol = nl.asarray(X), nl.symbol("x", X.shape)
    want = each(cost, x)
    compiled = nl.compile(nl.vmap(cost))
    function = nl.function([symbol], [nl.vmap(cost)(symbol), nl.grad(nl.vmap(cost)(symbol).sum(), symbol)])
    for _ in range(5):
        close(compiled(x), want)
        value, gradient = function(x)
        close(value, want)
        close(gradient, each(nl.grad(cost), x))


def test_of_compiled_functions() -> None:
    one = nl.symbol("one", (3, 4))
    function = nl.function([one], {"sum": nl.sin(one).sum(), "twice": one * 2})
    found = nl.vmap(function)(nl.asarray(X))
    close(found["sum"], np.sin(X).sum((1, 2)))
    close(found["twice"], X * 2)
    close(nl.vmap(nl.compile(cost))(nl.asarray(X)), each(cost, nl.asarray(X)))
    count = nl.shared(0, "count")
    counts = nl.function([one], one.sum(), updates=[(count, count + 1)])
    with pytest.raises(TypeError, match="updates"):
        nl.vmap(counts)(nl.asarray(X))


def test_with_unknown_extents_and_shared_variables() -> None:
    rows, w = nl.symbol("rows", (None, 4)), nl.shared(W, "w")
    function = nl.function([rows], nl.vmap(lambda row: row @ w)(rows))
    for count in (1, 5, 2):
        close(function(nl.asarray(X[:count, 0])), X[:count, 0] @ W)
    w.set_value(2 * W)
    close(function(nl.asarray(X[:, 0])), 2 * X[:, 0] @ W)


def test_every_way_beside_the_full_one() -> None:
    compiled = nl.compile(nl.vmap(nl.value_and_grad(cost)))
    with nl.config(verify=True):
        for _ in range(4):
            compiled(nl.asarray(X))


# ---------------------------------------------------------------- loops


def step(s: Any, row: Any) -> Any:
    after = nl.tanh(s * 0.5 + row @ nl.asarray(W))
    return after, (after.sum(), row[:2] * after)


def test_scans_of_each_example() -> None:
    for rows in (ROWS, ROWS[:, :6]):
        last, (sums, parts) = nl.vmap(lambda r: nl.scan(step, nl.zeros(2), r))(nl.asarray(rows))
        for k in range(5):
            one, (some, others) = nl.scan(step, nl.zeros(2), nl.asarray(rows[k]))
            close(last[k], one)
            close(sums[k], some)
            close(parts[k], others)


def test_steps_by_number_and_what_differs_only_after_a_step() -> None:
    def run(a: Any) -> Any:
        # The first state is the same in all examples, and the second value stays so.
        return nl.fori_loop(
            0,
            40,
            lambda i, s: (s[0] * 0.9 + a[i % 3], s[1] + i, s[2].T),
            (nl.zeros(4), 0, nl.ones((2, 3)).T @ nl.ones((2, 3))),
        )

    found = nl.vmap(run)(nl.asarray(X))
    for k in range(5):
        for have, want in zip(found, run(nl.asarray(X[k])), strict=True):
            close(have[k], want)


def test_a_while_loop_ends_for_each_example() -> None:
    found = nl.vmap(lambda x: nl.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (x, 0)))(
        nl.asarray([3, 7, 200])
    )
    assert [one.tolist() for one in found] == [[192, 112, 200], [6, 4, 0]]
    limits = nl.asarray([0, 3, 2])
    rows = nl.asarray(X[:3, 0, :3])

    def total(limit: Any, row: Any) -> Any:
        return nl.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + 1, s[1] + row[s[0]]), (0, 0.0))[1]

    # Examples that have ended would read behind the end.
    close(nl.vmap(total)(limits, rows), [X[k, 0, :limit].sum() for k, limit in enumerate((0, 3, 2))])
    with pytest.raises(IndexError):
        nl.vmap(total)(limits + 1, rows).get()


def test_a_number_of_steps_that_waits() -> None:
    run = nl.compile(lambda n, x: nl.vmap(lambda a: nl.fori_loop(0, n, lambda i, s: s + a * i, nl.zeros(4)))(x))
    for n in (0, 3, 50):
        close(run(nl.asarray(n), nl.asarray(X[:, 0])), X[:, 0] * sum(range(n)))


def test_decisions_and_loops_in_one() -> None:
    def one(a: Any) -> Any:
        return nl.ifelse(a.sum() > 0, lambda: nl.fori_loop(0, 50, lambda i, s: s * 0.5 + 1, a), lambda: -a)

    close(nl.vmap(one)(nl.asarray(X)), each(one, nl.asarray(X)))


# ---------------------------------------------------------------- random numbers


def test_draws_are_those_of_one_example_after_the_other() -> None:
    def noisy(a: Any) -> Any:
        b = a + rng.normal(size=4) if a.ndim == 1 else a
        return b * rng.integers(0, 9, 4)

    x = nl.asarray(X[:, 0])
    results = []
    for way in (nl.vmap(noisy), nl.compile(nl.vmap(noisy)), lambda x: each(noisy, x)):
        rng = nl.random.default_rng(5)
        results.append([way(x).get() for _ in range(3)])
    assert all(np.array_equal(a, b) for one in results[:2] for a, b in zip(one, results[2], strict=True))
    assert not np.array_equal(results[0][0], results[0][1])


def test_draws_within_loops_and_within_another_vmap() -> None:
    def walk(a: Any) -> Any:
        return nl.fori_loop(0, 40, lambda i, s: s + rng.random(2), a)

    x = nl.asarray(X[:, :, :2])
    rng = nl.random.default_rng(1)
    found = nl.vmap(nl.vmap(walk))(x).get()
    rng = nl.random.default_rng(1)
    assert np.allclose(found, nl.stack([each(walk, part) for part in x]).get(), 1e-14)


def test_a_generator_that_is_made_in_the_function_is_the_same_for_each() -> None:
    found = nl.vmap(lambda a: nl.random.default_rng(3).random(2) + 0 * a[0, :2])(nl.asarray(X)).get()
    assert np.array_equal(found, np.broadcast_to(nl.random.default_rng(3).random(2).get(), (5, 2)))


def test_no_examples_draw_nothing() -> None:
    rng, other = nl.random.default_rng(2), nl.random.default_rng(2)
    assert nl.vmap(lambda a: a + rng.random(4))(nl.asarray(X[:0, 0])).shape == (0, 4)
    assert rng.random() == other.random()


# ---------------------------------------------------------------- users' kernels


@pytest.mark.compiler
@pytest.mark.skipif(not hasattr(registry.current(), "module"), reason="no raw kernels on this device yet")
def test_kernels_of_users() -> None:
    square = nl.ElementwiseKernel("T x, T y", "T z", "z = x * x + y", "square")
    norm = nl.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    close(nl.vmap(square, (0, None))(nl.asarray(X), nl.asarray(X[0])), X * X + X[0])
    close(nl.vmap(lambda a: norm(a, axis=1))(nl.asarray(X)), np.linalg.norm(X, axis=2))
    window = nl.ElementwiseKernel("raw T x, int32 m", "T y", "y = x[i] + x[(i + 1) % m]", "window")
    close(nl.vmap(lambda a: window(a, 4, size=4))(nl.asarray(X[:, 0])), X[:, 0] + np.roll(X[:, 0], -1, 1))
    source = """extern "C" __global__ void flip(const double* x, double* y, double* z, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { y[i] = x[n - 1 - i]; z[i] = 2 * x[i]; }
    }"""
    flip = nl.operation(nl.RawKernel(source, "flip"), outputs={"y": "x", "z": "x"}, grid=1, block=32)
    flipped, twice = nl.vmap(lambda a: flip(a, 4))(nl.asarray(X[:, 0]))
    close(flipped, X[:, 0, ::-1])
    close(twice, 2 * X[:, 0])


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("function", [
    lambda x: x if x > 0 else -x, lambda x: float(x), lambda x: nl.arange(5)[int(x)], lambda x: bool(x),
    lambda x: x.item(), lambda x: nl.zeros(3)[: int(x)], lambda x: [v for v in range(x)],
])  # fmt: skip
def test_a_look_at_a_number_is_refused(function: Any) -> None:
    with pytest.raises(TreeError, match=r"x of <lambda> has one for each example.*nl\.where.*nl\.while_loop"):
        nl.vmap(function)(nl.arange(3))


def test_numbers_that_are_the_same_in_all_examples_may_be_looked_at() -> None:
    found = nl.vmap(lambda a, s: a * 2 if s > 0 else a * float(s), (0, None))
    close(found(nl.asarray(X), nl.asarray(3.0)), X * 2)
    close(found(nl.asarray(X), nl.asarray(-3.0)), X * -3)


def test_sizes_that_follow_from_values_are_refused() -> None:
    for function in (nl.unique, nl.nonzero, lambda a: a[a > 0]):
        with pytest.raises(TreeError, match="follows from values"):
            nl.vmap(function)(nl.asarray(X))


def test_arguments_and_outer_arrays_are_not_written_to() -> None:
    x, other = nl.asarray(X), nl.zeros(3)

    def add(x: Any) -> Any:
        x += 1
        return x

    def outside(x: Any) -> Any:
        other[0] = 1
        return x

    with pytest.raises(ValueError, match=r"read-only.*x = x \+ 1"):
        nl.vmap(add)(x)
    with pytest.raises(ValueError, match="body of a vmap"):
        nl.vmap(outside)(x)
    # A scalar is no array that is written to, so the name gets another one.
    assert nl.vmap(add)(nl.arange(3)).tolist() == [1, 2, 3]


@pytest.mark.parametrize(("axes", "args", "error", "message"), [
    (0, (X, X[:2]), ValueError, "a has 5 along axis 0, b has 2 along axis 0"),
    (None, (X, X), ValueError, "no array with an axis of examples"),
    (0, (X, 2.0), TypeError, "b .* is no array but float: say None"),
    ((0,), (X, X), ValueError, "in_axes .* has 1 entry, and the call has 2 arguments"),
    ((0, 3), (X, X), ValueError, "axis 3 of b, which has 3 axes"),
    ((0, (0, 0)), (X, X), ValueError, "not nested as what it is for: a ndarray"),
    (("x", 0), (X, X), TypeError, "must be integers and None"),
    ((True, 0), (X, X), TypeError, "must be integers and None"),
])  # fmt: skip
def test_wrong_axes_are_named(axes: Any, args: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        nl.vmap(lambda a, b: a, axes)(*args)


def test_wrong_axes_of_results_are_named() -> None:
    with pytest.raises(ValueError, match="out_axes says None"):
        nl.vmap(lambda a: a, out_axes=None)(X)
    with pytest.raises(ValueError, match="axis 3 of a result, which has 3 axes"):
        nl.vmap(lambda a: a, out_axes=3)(X)
    with pytest.raises(ValueError, match="not nested"):
        nl.vmap(lambda a: a, out_axes=(0, 0))(X)
    with pytest.raises(TypeError, match="takes a function"):
        nl.vmap(3)  # type: ignore[arg-type]


def test_errors_of_values_are_those_of_one_example() -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        nl.vmap(lambda i: nl.arange(3)[i])(nl.asarray([0, 3])).get()
    with pytest.raises(np.linalg.LinAlgError):
        nl.vmap(nl.linalg.inv)(nl.zeros((2, 2, 2))).get()


# ---------------------------------------------------------------- what is decided by values


RANDOM = np.random.default_rng(5)
VECTORS = RANDOM.random((4, 7))
LEVELS = np.sort(RANDOM.random((4, 3)))
EDGES = np.sort(RANDOM.random((4, 5)))
NUMBERS = RANDOM.integers(0, 4, (4, 7))
WITH_NAN = np.where(VECTORS > 0.8, np.nan, VECTORS)
WITH_NAN[:, 0] = 0.5


def placed(xp: Any, x: Any, mask: Any, values: Any) -> Any:
    found = x.copy()
    xp.place(found, mask, values)
    return found


BY_VALUES: dict[str, tuple[Any, ...]] = {
    "quantile": (lambda xp, x, q: xp.quantile(x, q), VECTORS, LEVELS),
    "quantile of a matrix": (lambda xp, x, q: xp.quantile(xp.outer(x, x), q, axis=0, keepdims=True), VECTORS, LEVELS),
    "quantile at one level": (lambda xp, x, q: xp.quantile(x, q[1]), VECTORS, LEVELS),
    "quantile of the same": (lambda xp, x, q: xp.quantile(xp.arange(9.0), q), VECTORS, LEVELS),
    "quantile with NaN": (lambda xp, x, q: xp.quantile(x, q), WITH_NAN, LEVELS),
    "quantile of float32": (lambda xp, x, q: xp.quantile(x, q), VECTORS.astype("f4"), LEVELS.astype("f4")),
    "quantile of integers": (lambda xp, x, q: xp.quantile(x, q), NUMBERS, LEVELS),
    "quantile at the ends": (lambda xp, x, q: xp.quantile(x, xp.round(q)), VECTORS, LEVELS),
    "percentile": (lambda xp, x, q: xp.percentile(x, q * 100), VECTORS, LEVELS),
    "nanquantile": (lambda xp, x, q: xp.nanquantile(x, q), WITH_NAN, LEVELS),
    "nanpercentile": (lambda xp, x, q: xp.nanpercentile(xp.outer(x, x), q * 100, axis=1), WITH_NAN, LEVELS),
    **{
        f"quantile by {method}": (lambda xp, x, q, m=method: xp.quantile(x, q, method=m), VECTORS, LEVELS)
        for method in (
            "lower",
            "higher",
            "midpoint",
            "nearest",
            "hazen",
            "weibull",
            "median_unbiased",
            "inverted_cdf",
            "averaged_inverted_cdf",
            "closest_observation",
            "interpolated_inverted_cdf",
        )
    },
    "digitize": (lambda xp, x, e: xp.digitize(x, e), VECTORS, EDGES),
    "digitize right": (lambda xp, x, e: xp.digitize(xp.concatenate((x, e)), e, right=True), VECTORS, EDGES),
    "digitize falling": (lambda xp, x, e: xp.digitize(xp.concatenate((x, e)), e[::-1]), VECTORS, EDGES),
    "digitize falling right": (lambda xp, x, e: xp.digitize(xp.concatenate((x, e)), -e, right=True), -VECTORS, EDGES),
    "digitize by one edge": (lambda xp, x, e: xp.digitize(x, e[:1]), VECTORS, EDGES),
    "digitize by equal edges": (lambda xp, x, e: xp.digitize(x, e * 0 + 0.5), VECTORS, EDGES),
    "average": (lambda xp, x, w: xp.average(x, weights=w), VECTORS, VECTORS[::-1]),
    "average along an axis": (lambda xp, x, w: xp.average(xp.outer(x, x), 1, w), VECTORS, VECTORS[::-1]),
    "average and weights": (lambda xp, x, w: xp.average(x, weights=w, returned=True)[1], VECTORS, VECTORS[::-1]),
    "unravel_index": (lambda xp, x: xp.unravel_index(xp.argmax(x), (7, 1))[0], VECTORS),
    "unravel_index in F": (lambda xp, i: xp.unravel_index(i, (3, 2), order="F")[1], NUMBERS),
    "ravel_multi_index": (lambda xp, i: xp.ravel_multi_index((i, i[::-1]), (5, 6)), NUMBERS),
    "ravel_multi_index wrapped": (lambda xp, i: xp.ravel_multi_index((i, i), (3, 4), mode=("wrap", "raise")), NUMBERS),
    "place": (lambda xp, x: placed(xp, x, x < 0.5, [9.0]), VECTORS),
    "place several": (lambda xp, x, q: placed(xp, x, x < 0.5, q), VECTORS, LEVELS),
    "place in a matrix": (lambda xp, x, q: placed(xp, xp.outer(x, x).T, xp.outer(x, x) < 0.2, q), VECTORS, LEVELS),
    "polyfit": (lambda xp, x, y: xp.polyfit(x, y, 2), VECTORS, VECTORS[::-1]),
    "polyfit with weights": (lambda xp, x, y: xp.polyfit(x, y, 1, w=y), VECTORS, VECTORS[::-1]),
    "polyfit of columns": (lambda xp, x, y: xp.polyfit(x, xp.stack([y, x * y], 1), 2), VECTORS, VECTORS[::-1]),
    "geomspace": (lambda xp, q: xp.geomspace(1.0, q[0] + 2, 5), LEVELS),
    "geomspace of vectors": (lambda xp, q: xp.geomspace(-q, -q - 2, 5, endpoint=False), LEVELS),
    "bincount": (lambda xp, i: xp.bincount(i, minlength=4), NUMBERS),
    "bincount with weights": (lambda xp, i, x: xp.bincount(i, x, 6), NUMBERS, VECTORS),
    "bincount of small ones": (lambda xp, i: xp.bincount(i, minlength=5), NUMBERS.astype("u1")),
}


@pytest.mark.parametrize(
    "name", [name for name in BY_VALUES if name != "bincount" and name != "bincount of small ones"]
)
def test_what_is_decided_by_values(name: str) -> None:
    function, *given = BY_VALUES[name]
    want = np.stack([function(np, *rows) for rows in zip(*given, strict=True)])
    arrays = [nl.asarray(one) for one in given]
    close(nl.vmap(lambda *rows: function(nl, *rows))(*arrays), want)
    close(nl.stack([nl.compile(lambda *rows: function(nl, *rows))(*rows) for rows in zip(*arrays, strict=True)]), want)


@pytest.mark.parametrize("name", ["bincount", "bincount of small ones"])
def test_counts_of_a_length_that_is_said(name: str) -> None:
    function, given = BY_VALUES[name]
    want = np.stack([np.bincount(row, minlength=4 if name == "bincount" else 5) for row in given])
    close(nl.vmap(lambda row: function(nl, row))(nl.asarray(given)), want)
    with pytest.raises(TreeError, match="say minlength="):
        nl.vmap(nl.bincount)(nl.asarray(given))


@pytest.mark.parametrize(
    ("function", "values", "error", "message"),
    [
        (lambda x: nl.quantile(x, x), [[0.1, 0.2], [0.5, 1.5]], ValueError, r"must be in \[0, 1\]"),
        (lambda x: nl.percentile(x, x), [[0.1, 0.2], [0.5, -1.5]], ValueError, r"must be in the range \[0, 100\]"),
        (lambda x: nl.digitize(x, x), [[1.0, 2, 3], [1, 3, 2]], ValueError, "monotonically"),
        (lambda x: nl.average(x, weights=x), [[1.0, 2], [1, -1]], ZeroDivisionError, "sum to zero"),
        (lambda i: nl.unravel_index(i, (2, 2))[0], [[0, 3], [1, 4]], ValueError, "out of bounds"),
        (lambda i: nl.ravel_multi_index((i, i), (2, 2)), [[0, 1], [1, 2]], ValueError, "invalid entry"),
        (lambda x: nl.geomspace(x, 2.0, 3), [1.0, 0.0], ValueError, "cannot include zero"),
        (lambda x: nl.polyfit(x, x, 1), [[1.0, 2, 3], [2, 2, 2]], np.linalg.LinAlgError, "do not determine"),
        (lambda i: nl.bincount(i, minlength=2), [[0, 1], [1, 2]], ValueError, "minlength=2"),
        (lambda i: nl.bincount(i, minlength=2), [[0, 1], [1, -1]], ValueError, "no negative elements"),
    ],
)  # fmt: skip
def test_values_that_are_wrong_raise_at_the_next_look(function: Any, values: Any, error: Any, message: str) -> None:
    good, bad = nl.asarray(values), nl.asarray(values)
    assert nl.vmap(function)(good[:1]).shape[0] == 1
    nl.vmap(function)(good[:1]).get()
    with pytest.raises(error, match=message):
        nl.vmap(function)(bad).get()


def test_pieces_that_are_functions_are_refused_with_the_cure() -> None:
    with pytest.raises(TreeError, match="where"):
        nl.vmap(lambda x: nl.piecewise(x, [x < 0.5], [lambda v: v * 2]))(nl.asarray(VECTORS))
    found = nl.vmap(lambda x: nl.piecewise(x, [x < 0.3, x > 0.6], [-1, nl.sqrt, 5]))(nl.asarray(VECTORS))
    close(found, np.select([VECTORS < 0.3, VECTORS > 0.6], [-1, np.sqrt(VECTORS)], 5))
