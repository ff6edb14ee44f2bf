"""Users' kernels in trees, compiled functions and gradients; NumPy is the oracle."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled import vector
from numloom.device import registry
from numloom.pycuda import SourceModule

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not hasattr(registry.current(), "module"), reason="no raw kernels on this device yet"),
]

rng = np.random.default_rng(5)
SOURCE = r"""
extern "C" __global__ void saxpy(double a, const double* x, const double* y, double* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + y[i];
}
extern "C" __global__ void polar(const double* x, const double* y, double* radius, double* angle, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { radius[i] = sqrt(x[i] * x[i] + y[i] * y[i]); angle[i] = atan2(y[i], x[i]); }
}
extern "C" __global__ void total(const double* x, double* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
extern "C" __global__ void double_in_place(double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
extern "C" __global__ void scribble(double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = x[i] + 1; x[i] = -1; }
}
extern "C" __global__ void transpose(const double* x, double* y, int rows, int columns) {
    int r = blockIdx.x, c = threadIdx.x;
    y[c * rows + r] = x[r * columns + c];
}
"""
MODULE = nl.RawModule(code=SOURCE)


def blocks(n: int) -> int:
    return -(-n // 32)


def saxpy_gradient(g: Any, z: Any, a: Any, x: Any, y: Any, n: Any) -> dict[str, Any]:
    return {"a": (g * x).sum(), "x": a * g, "y": g} if isinstance(a, nl.ndarray) else {"x": float(a) * g, "y": g}


SAXPY = nl.operation(
    MODULE.get_function("saxpy"),
    outputs="x",
    grid=lambda a, x, y, n: blocks(x.size),
    block=32,
    gradient=saxpy_gradient,
)
POLAR = nl.operation(
    MODULE.get_function("polar"),
    outputs=["x", "y"],
    grid=lambda x, y, n: blocks(x.size),
    block=32,
    gradient=lambda g, result, x, y, n: {
        "x": g[0] * x / result[0] - g[1] * y / result[0] ** 2,
        "y": g[0] * y / result[0] + g[1] * x / result[0] ** 2,
    },
)
FIXED = nl.operation(MODULE.get_function("saxpy"), outputs=((40,), "f8"), grid=2, block=32)
X, Y = rng.standard_normal(40), rng.standard_normal(40)


# ---------------------------------------------------------------- kernels in CUDA C++


def test_an_operation_by_itself() -> None:
    x, y = nl.asarray(X), nl.asarray(Y)
    z = SAXPY(2.0, x, y, 40)
    np.testing.assert_array_equal(z.get(), 2 * X + Y)
    np.testing.assert_array_equal(SAXPY(2.0, x[::2], X[::-1][:20], 20).get(), 2 * X[::2] + X[::-1][:20])
    radius, angle = POLAR(x, y, 40)
    np.testing.assert_allclose(radius.get(), np.hypot(X, Y))
    np.testing.assert_allclose(angle.get(), np.arctan2(Y, X))
    assert SAXPY(1.0, x[:0], y[:0], 0).shape == (0,)
    np.testing.assert_array_equal(x.get(), X)


@pytest.mark.parametrize("where", ["function", "compile", "asnumpy", "ascuda", "source", "pickle", "symbolic"])
@pytest.mark.filterwarnings("ignore:no GPU")
def test_an_operation_in_a_tree(where: str) -> None:
    def compute(x: Any, y: Any) -> Any:
        return (FIXED(3.0, x * 2, nl.sin(y), 40) + 1).sum() - FIXED(3.0, x, y, 40)[0]

    expected = (3 * 2 * X + np.sin(Y) + 1).sum() - (3 * X + Y)[0]
    x, y = nl.symbol("x", (40,)), nl.symbol("y", (40,))
    tree = compute(x, y)
    if where == "function":
        function = nl.function([x, y], tree)
        found = [function(X, Y), function(X, Y), function(nl.asarray(X), nl.asarray(Y))]
    elif where == "compile":
        compiled = nl.compile(compute)
        found = [compiled(X, Y), compiled(nl.asarray(X), nl.asarray(Y))]
    elif where == "source":
        text = nl.source(tree)
        assert "saxpy(" in str(text) and "Kernels of users" in str(text)
        found = [text.compile()(X, Y)]
    elif where == "symbolic":
        with nl.symbolic():
            value = compute(nl.asarray(X), nl.asarray(Y))
        found = [value, value.asnumpy()]
    else:
        known = nl.substitute(tree, [(x, nl.asarray(X)), (y, nl.asarray(Y))])
        if where == "pickle":
            known = pickle.loads(pickle.dumps(known))
        found = [known.ascuda() if where == "ascuda" else known.asnumpy()]
    for one in found:
        np.testing.assert_allclose(nl.asnumpy(one), expected)


def test_a_tree_names_the_kernel() -> None:
    x = nl.symbol("x", (40,))
    assert "user saxpy(" in repr(nl.tree(SAXPY(1.0, x, x, 40)))
    assert repr(SAXPY) == "<operation saxpy(double a, const double* x, const double* y, int n)>"


def test_several_results_are_of_one_launch() -> None:
    counter = nl.RawModule(
        code=r"""
__device__ int launches = 0;
extern "C" __global__ void both(const double* x, double* y, double* z) {
    y[threadIdx.x] = x[threadIdx.x] + 1; z[threadIdx.x] = x[threadIdx.x] + 2;
    if (threadIdx.x == 0) atomicAdd(&launches, 1);
}"""
    )
    both = nl.operation(counter.get_function("both"), outputs=["x", "x"], grid=1, block=3)
    x = nl.symbol("x", (3,))
    function = nl.function([x], both(x))
    for count in range(1, 4):
        one, two = function(np.arange(3.0) + count)
        np.testing.assert_array_equal(one.get(), np.arange(3.0) + count + 1)
        np.testing.assert_array_equal(two.get(), np.arange(3.0) + count + 2)
        assert int(counter.get_global("launches")) == count


def test_numbers_may_be_symbols() -> None:
    a, x = nl.symbol("a"), nl.symbol("x", (40,))
    function = nl.function([a, x], SAXPY(a * 2, x, x, 40))
    for number in (1.5, -2.0):
        np.testing.assert_array_equal(function(number, X).get(), 2 * number * X + X)
    np.testing.assert_array_equal(SAXPY(nl.asarray(2.0), X, Y, 40).get(), 2 * X + Y)
    n = nl.symbol("n", (), "int32")
    np.testing.assert_array_equal(nl.function([n, x], SAXPY(1.0, x, x, n))(40, X).get(), 2 * X)


def test_what_the_kernel_begins_with() -> None:
    total = nl.operation(
        MODULE.get_function("total"), outputs={"sum": ((), "f8", 10)}, grid=lambda x, n: blocks(x.size), block=32
    )
    x = nl.symbol("x", (40,))
    function = nl.function([x], total(x, 40) * 2)
    for _ in range(3):
        np.testing.assert_allclose(function(X).get(), 2 * (10 + X.sum()))
    np.testing.assert_allclose(total(X, 40).get(), 10 + X.sum())


def test_what_a_kernel_changes_is_a_copy() -> None:
    change = nl.operation(MODULE.get_function("double_in_place"), changed="x", grid=2, block=32)
    scribble = nl.operation(MODULE.get_function("scribble"), outputs={"y": "x"}, grid=2, block=32)
    given = nl.asarray(X)
    for operation, expected in ((change, 2 * X), (scribble, X + 1)):
        np.testing.assert_array_equal(operation(given, 40).get(), expected)
        np.testing.assert_array_equal(given.get(), X)
        x = nl.symbol("x", (40,))
        function = nl.function([x], [operation(x, 40), x, operation(operation(x, 40), 40)])
        for _ in range(3):
            one, same, _ = function(given)
            np.testing.assert_array_equal(one.get(), expected)
            np.testing.assert_array_equal(same.get(), X)
            np.testing.assert_array_equal(given.get(), X)
    w = nl.shared(X, "w")
    step = nl.function([], w.sum(), updates=[(w, change(w, 40))])
    np.testing.assert_allclose([float(step()), float(step())], [X.sum(), 2 * X.sum()])


def test_extents_that_are_not_known() -> None:
    x = vector("x")
    function = nl.function([x], SAXPY(2.0, x, x, 7))
    np.testing.assert_array_equal(function(X[:7]).get(), 3 * X[:7])
    radius, angle = POLAR(x, x, 9)
    one, two = nl.function([x], [radius, angle])(X[:9])
    np.testing.assert_allclose(one.get(), np.hypot(X[:9], X[:9]))
    np.testing.assert_allclose(two.get(), np.arctan2(X[:9], X[:9]))


def test_memory_comes_in_c_order() -> None:
    transpose = nl.operation(
        MODULE.get_function("transpose"),
        outputs=lambda x, rows, columns: (x.shape[::-1], x.dtype),
        grid=lambda x, rows, columns: x.shape[0],
        block=lambda x, rows, columns: x.shape[1],
    )
    a = rng.standard_normal((3, 4))
    x = nl.symbol("x", (3, 4))
    function = nl.function([x], [transpose(x, 3, 4), transpose(x.T, 4, 3), transpose(x[::-1], 3, 4)])
    for given in (a, np.asfortranarray(a)):
        for found, expected in zip(function(given), (a.T, a, a[::-1].T), strict=True):
            np.testing.assert_array_equal(found.get(), expected)


def test_functions_of_a_source_module() -> None:
    module = SourceModule("__global__ void add(const double* a, const double* b, double* c) {"
                          " c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }")  # fmt: skip
    add = nl.operation(module.get_function("add"), outputs="a", grid=1, block=40)
    x = nl.symbol("x", (40,))
    np.testing.assert_array_equal(nl.function([x], add(x, x) - 1)(X).get(), 2 * X - 1)


def test_gradients_of_operations() -> None:
    def cost(x: Any, y: Any) -> Any:
        return (SAXPY(3.0, x, y, 40) ** 2).sum()

    by_x, by_y = nl.grad(cost, argnums=(0, 1))(nl.asarray(X), nl.asarray(Y))
    z = 3 * X + Y
    np.testing.assert_allclose(by_x.get(), 6 * z)
    np.testing.assert_allclose(by_y.get(), 2 * z)
    x, y = nl.symbol("x", (40,)), nl.symbol("y", (40,))
    radius, angle = POLAR(x, y, 40)
    for value, expected in ((radius, X / np.hypot(X, Y)), (angle, -Y / (X**2 + Y**2))):
        function = nl.function([x, y], nl.grad(value.sum(), x))
        np.testing.assert_allclose(function(X, Y).get(), expected)
    both = nl.function([x, y], nl.grad((radius * angle).sum(), [x, y]))(X, Y)
    plain = nl.grad(lambda x, y: (nl.hypot(x, y) * nl.arctan2(y, x)).sum(), argnums=(0, 1))(X, Y)
    for found, wanted in zip(both, plain, strict=True):
        np.testing.assert_allclose(found.get(), wanted.get())
    a = nl.symbol("a")
    found = nl.function([a, x], nl.grad(SAXPY(a, x, x, 40).sum(), a))(2.0, X)
    np.testing.assert_allclose(found.get(), X.sum())
    second = nl.hessian(lambda x: (SAXPY(3.0, x, x, 2) ** 2).sum())(nl.asarray(X[:2]))
    np.testing.assert_allclose(second.get(), 32 * np.eye(2), atol=1e-12)


def test_a_profile_names_the_kernel() -> None:
    x = nl.symbol("x", (40,))
    function = nl.function([x], FIXED(1.0, x * 2, x, 40), profile=True)
    np.testing.assert_array_equal(function(X).get(), 3 * X)
    assert "user saxpy" in str(function.profile)


@pytest.mark.parametrize("steps", [4, 60])
def test_operations_in_loops(steps: int) -> None:
    x = nl.symbol("x", (40,))
    looped = nl.fori_loop(0, steps, lambda i, s: sum(POLAR(s, s + 1, 40)) % 5, x)
    expected = X
    for _ in range(steps):
        expected = (np.hypot(expected, expected + 1) + np.arctan2(expected + 1, expected)) % 5
    function = nl.function([x], looped)
    np.testing.assert_allclose(function(X).get(), expected, rtol=1e-6)
    np.testing.assert_allclose(function(X).get(), expected, rtol=1e-6)
    until = nl.while_loop(lambda s: s.sum() < 1000, lambda s: FIXED(1.0, s, s, 40), nl.asarray(X * X))
    total, steps = (X * X).sum(), 0
    while total < 1000:
        total, steps = 2 * total, steps + 1
    np.testing.assert_allclose(until.get(), X * X * 2**steps)


def test_training_by_an_operation() -> None:
    x, w = nl.symbol("x", (40,)), nl.shared(np.zeros(40), "w")
    cost = ((SAXPY(1.0, x, w, 40) - 1) ** 2).sum()
    step = nl.function([x], cost, updates=[(w, w - 0.25 * nl.grad(cost, w))])
    for _ in range(60):
        last = step(X)
    assert float(last) < 1e-20
    np.testing.assert_allclose(w.get_value(), 1 - X, atol=1e-9)


def test_mistakes() -> None:
    saxpy = MODULE.get_function("saxpy")
    x = nl.symbol("x", (40,))
    with pytest.raises(nl.compiled.TreeError, match=r"waits by nl\.operation"):
        saxpy(2, 32, (1.0, x, x, nl.zeros(40), 40))
    with pytest.raises(nl.NoGradientError, match=r"user saxpy has no rule.*gradient="):
        nl.grad(FIXED(1.0, x, x, 40).sum(), x)
    with pytest.raises(TypeError, match=r"takes 4 inputs \(double a, .*\), 2 were given"):
        SAXPY(1.0, x)
    with pytest.raises(TypeError, match=r"points to float64.*float32"):
        SAXPY(1.0, x.astype("f4"), x, 40)
    with pytest.raises(TypeError, match=r"takes int32, got float 2.5"):
        SAXPY(1.0, x, x, 2.5)
    with pytest.raises(TypeError, match=r"double a takes a number, got an array of shape \(40,\)"):
        SAXPY(x, x, x, 40)
    with pytest.raises(ValueError, match=r"outputs names const double. x, which the kernel only reads"):
        nl.operation(saxpy, outputs={"x": "y"}, grid=1, block=1)
    with pytest.raises(ValueError, match="no parameter of it"):
        nl.operation(saxpy, outputs={"w": "y"}, grid=1, block=1)
    with pytest.raises(ValueError, match="2 outputs given, and the kernel may write to z"):
        nl.operation(saxpy, outputs=["x", "y"], grid=1, block=1)
    with pytest.raises(ValueError, match="needs an output"):
        nl.operation(saxpy, grid=1, block=1)
    with pytest.raises(TypeError, match="ElementwiseKernel or a ReductionKernel is one already"):
        nl.operation(nl.ElementwiseKernel("T x", "T y", "y = x"), "x", grid=1, block=1)
    with pytest.raises(TypeError, match=r"the output's dtype is float32"):
        nl.operation(saxpy, outputs=((40,), "f4"), grid=1, block=1)(1.0, X, X, 40)
    with pytest.raises(TypeError, match="cannot be pickled: its gradient"):
        pickle.dumps(SAXPY(1.0, x, x, 40))

    def rule(flows: Any) -> Any:
        wrong = nl.operation(saxpy, outputs="x", grid=2, block=32, gradient=lambda g, z, *inputs: flows(g))
        return nl.grad(wrong(1.0, x, x * 2, 40).sum(), x)

    with pytest.raises(TypeError, match="must give a dict of arrays"):
        rule(lambda g: (g, g))
    with pytest.raises(ValueError, match="gives none for y"):
        rule(lambda g: {"x": g})
    with pytest.raises(ValueError, match="no array among its inputs"):
        rule(lambda g: {"z": g})
    with pytest.raises(ValueError, match=r"gradient for x has shape \(\)"):
        rule(lambda g: {"x": g.sum(), "y": g})
    found = nl.function([x], rule(lambda g: {"x": g, "y": None}))(X)
    np.testing.assert_array_equal(found.get(), np.ones(40))


# ---------------------------------------------------------------- lines of C++

SQUARES = nl.ElementwiseKernel(
    "T x, T y", "T z", "z = (x - y) * (x - y)", "squares", gradient=("2 * g * (x - y)", "-2 * g * (x - y)")
)
NORM = nl.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm", gradient="g * x / y")
DOT = nl.ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot", gradient=("g * y", "g * x"))
PICK = nl.ElementwiseKernel("raw T x, int64 k", "T z", "z = x[k]", "pick")
COUNT = nl.ElementwiseKernel("int64 k", "raw int64 counts", "atomicAdd(&counts[k], 1)", "count")
MOST = nl.ReductionKernel(
    "T x", "T y", "best(x)", "(a.value < b.value ? b : a)", "y = a.value", "best(-1e30)", "most", "best",
    preamble="struct best { double value; __device__ best(double v = 0) : value(v) {} };",
)  # fmt: skip


@pytest.mark.parametrize("kernel", [SQUARES, NORM, DOT, PICK, MOST], ids=lambda kernel: kernel.name)
def test_lines_in_trees(kernel: Any) -> None:
    two = kernel.nin == 2
    second = np.arange(40)[::-1].copy() if kernel is PICK else Y
    x, y = nl.symbol("x", (40,)), nl.symbol("y", (40,), second.dtype)
    symbols, values = ([x, y], [X, second]) if two else ([x], [X])
    tree = kernel(*symbols) * 2
    numpy: Any = {
        "squares": lambda x, y: (x - y) ** 2, "norm": np.linalg.norm, "dot": np.dot, "pick": lambda x, k: x[k],
        "most": np.max,
    }[kernel.name]  # fmt: skip
    expected = 2 * numpy(*values)
    pairs = list(zip(symbols, map(nl.asarray, values), strict=True))
    known = nl.substitute(tree, pairs)
    text = nl.source(tree)
    assert kernel.name in str(text)
    assert kernel.name in repr(nl.tree(tree))
    function = nl.function(symbols, tree)
    for found in (
        function(*values), function(*values), known.asnumpy(), pickle.loads(pickle.dumps(known)).asnumpy(),
        text.compile()(*values), pickle.loads(pickle.dumps(kernel))(*map(nl.asarray, values)) * 2,
        nl.compile(lambda *given: kernel(*given) * 2)(*values),
    ):  # fmt: skip
        np.testing.assert_allclose(nl.asnumpy(found), expected, rtol=1e-12)


def test_extents_that_lines_do_not_know() -> None:
    x = vector("x")
    found = nl.function([x], [SQUARES(x, 1.0), NORM(x), MOST(x, keepdims=True)])(X)
    np.testing.assert_allclose(found[0].get(), (X - 1) ** 2)
    np.testing.assert_allclose(found[1].get(), np.linalg.norm(X))
    np.testing.assert_array_equal(found[2].get(), [X.max()])


def test_counts_in_a_tree() -> None:
    k, start = nl.symbol("k", (6,), "int64"), nl.symbol("start", (3,), "int64")

    def counted(k: Any, start: Any) -> Any:
        counts = start.copy()
        COUNT(k, counts)
        return counts

    with nl.symbolic():
        tree = counted(k, start)
    function = nl.function([k, start], [tree, start])
    given = nl.asarray([10, 0, 0])
    for _ in range(3):
        counts, same = function(np.array([0, 1, 1, 2, 2, 2]), given)
        assert counts.tolist() == [11, 2, 3] and same.tolist() == given.tolist() == [10, 0, 0]
    assert nl.compile(counted)(np.array([0, 1, 1, 2, 2, 2]), given).tolist() == [11, 2, 3]


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_gradients_of_reductions(axis: Any, keepdims: bool) -> None:
    a, b = rng.standard_normal((3, 4)), rng.standard_normal(4)

    def own(a: Any, b: Any) -> Any:
        return (NORM(a, axis=axis, keepdims=keepdims) ** 3).sum() + (DOT(a * 2, b, axis=axis) ** 2).sum()

    def plain(a: Any, b: Any) -> Any:
        norm = nl.sqrt((a * a).sum(axis, keepdims=keepdims))
        return (norm**3).sum() + ((a * 2 * b).sum(axis) ** 2).sum()

    for found, expected in zip(
        nl.grad(own, argnums=(0, 1))(a, b), nl.grad(plain, argnums=(0, 1))(a, b), strict=True
    ):  # fmt: skip
        np.testing.assert_allclose(found.get(), expected.get(), rtol=1e-10)
    second = nl.hessian(lambda a: NORM(a))(nl.asarray(b))
    np.testing.assert_allclose(second.get(), nl.hessian(lambda a: nl.sqrt((a * a).sum()))(nl.asarray(b)).get())


def test_a_loop_of_its_own_with_a_gradient() -> None:
    scaled = nl.ElementwiseKernel(
        "raw T table, int64 k, T x", "T z", "z = table[k] * x", "scaled",
        gradient=("0", "0", "g * table[k]"),
    )  # fmt: skip
    k, x, table = np.arange(40) % 5, nl.symbol("x", (40,)), nl.asarray(X[:5])
    function = nl.function([x], nl.grad((scaled(table, nl.asarray(k), x) ** 2).sum(), x))
    np.testing.assert_allclose(function(X).get(), 2 * X[:5][k] ** 2 * X)


def test_names_in_rules() -> None:
    kernel = nl.ElementwiseKernel("T x, T y", "T z", "z = exp(x * y)", "product", gradient=("g * y * z", "g * x * z"))
    by_x, by_y = nl.grad(lambda x, y: kernel(x, y).sum(), argnums=(0, 1))(nl.asarray(X), nl.asarray(Y))
    np.testing.assert_allclose(by_x.get(), Y * np.exp(X * Y))
    np.testing.assert_allclose(by_y.get(), X * np.exp(X * Y))
    for name in ("g", "lambda"):
        with pytest.raises(ValueError, match=f"gradient: {name} cannot be a parameter's name"):
            nl.ReductionKernel(f"T {name}", "T y", name, "a + b", "y = a", "0", "bad", gradient="g")


def test_reductions_without() -> None:
    kernel = nl.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "plain")
    with pytest.raises(nl.NoGradientError, match=r"user plain has no rule.*ReductionKernel\(\.\.\., gradient="):
        nl.grad(lambda x: kernel(x))(nl.ones(3))
    with pytest.raises(nl.NoGradientError, match="user pick has no rule"):
        nl.grad(lambda x: PICK(x, nl.asarray([0, 1])).sum())(nl.ones(3))


def test_functions_of_the_inputs_are_asked_at_each_call() -> None:
    """Shapes and blocks may follow from a number that is an array, or from elements."""
    twice = nl.RawKernel(
        r"""extern "C" __global__ void twice(const double* x, double* y, long long n) {
            long long i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = 2 * x[i];
        }""",
        "twice",
    )
    some = nl.operation(twice, outputs=lambda x, n: ((int(n),), "f8"), grid=lambda x, n: -(-int(n) // 32), block=32)
    many = nl.operation(twice, outputs=lambda x, n: ((int(x[-1]),), "f8"), grid=lambda x, n: -(-n // 32), block=32)
    x = np.arange(100.0)
    for n in (10, 100, 50, 0, 10):
        np.testing.assert_array_equal(some(nl.asarray(x), nl.asarray(n)).get(), 2 * x[:n])
        given = np.append(x, n)
        np.testing.assert_array_equal(many(nl.asarray(given), n).get(), 2 * x[:n])
    assert some._call([nl.asarray(x), np.int64(9)]) is some._call([nl.asarray(x), np.int64(9)])
