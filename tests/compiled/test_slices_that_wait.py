"""Slices whose bounds wait for a call: minibatches of shared data, as Theano's users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled import matrix, scalar

DATA = np.random.default_rng(0).normal(size=(100, 5))


def same_as_numpy(take: Callable[[Any, Any], Any], data: Any, numbers: Any) -> int:
    """Compare with NumPy's slice for each number: equal, or refused where NumPy's has another length; how many are."""
    i = nl.symbol("i", (), "int64")
    taken = take(nl.asarray(data), i)
    function = nl.function([i], taken)
    equal = 0
    for number in numbers:
        try:
            wanted = take(data, number)
        except IndexError:  # An integer beside the slice.
            continue
        if wanted.shape == taken.shape:
            assert np.array_equal(function(number).get(), wanted)
            equal += 1
        else:
            with pytest.raises(IndexError, match="reaches over the ends of axis"):
                function(number).get()
    return equal


@pytest.mark.parametrize(
    "take",
    [
        lambda x, i: x[i * 20 : (i + 1) * 20],
        lambda x, i: x[i : i + 7],
        lambda x, i: x[2 * i - 3 : 2 * i + 4],
        lambda x, i: x[-i : 3 - i],
        lambda x, i: x[i : i + 10 : 3],
        lambda x, i: x[i : i + 1],
        lambda x, i: x[i + 6 : i : -1],
        lambda x, i: x[i + 9 : i : -4],
        lambda x, i: x[i : i + 20, 1],
        lambda x, i: x[i : i + 20, ::-2],
        lambda x, i: x[None, i : i + 20, ..., 0],
        lambda x, i: x[::-1][i : i + 4],
        lambda x, i: x.T[..., i : i + 4],
        lambda x, i: x[3, i : i + 2],
        lambda x, i: x[1:90:2][i : i + 5, i : i + 2],
        lambda x, i: x[i : i + 3, [0, 2, 1, 1]],
    ],
)
def test_they_are_numpys_slices_or_refused(take: Callable[[Any, Any], Any]) -> None:
    assert same_as_numpy(take, DATA, range(-104, 105)) > 1


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "int64"])
def test_their_bounds_are_integers_of_any_width(dtype: str) -> None:
    i = nl.symbol("i", (), dtype)
    function = nl.function([i], nl.asarray(DATA)[i : i + 4])
    assert np.array_equal(function(7).get(), DATA[7:11])


def test_a_bound_that_wraps_is_no_other_slice() -> None:
    i = nl.symbol("i", (), "int8")
    function = nl.function([i], nl.asarray(np.arange(400.0))[i * 20 : (i + 1) * 20])
    assert np.array_equal(function(3).get(), np.arange(60.0, 80.0))
    with pytest.raises(IndexError):
        function(6).get()  # 120 to 140, which int8 does not have.


def test_numbers_that_int64_does_not_have_are_beyond_the_end() -> None:
    i = nl.symbol("i", (), "uint64")
    function = nl.function([i], nl.asarray(DATA)[i : i + 4])
    for number in (2**64 - 20, 2**63, 2**64 - 4):
        assert not DATA[number : number + 4].size
        with pytest.raises(IndexError, match="reaches over the ends"):
            function(np.uint64(number)).get()
    assert np.array_equal(function(np.uint64(96)).get(), DATA[96:])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex128", "bfloat16"])
def test_every_dtype(dtype: str) -> None:
    data = nl.asarray(np.arange(30)).astype(dtype).reshape(10, 3)
    i = nl.symbol("i", (), "int64")
    function = nl.function([i], data[i : i + 3])
    assert np.array_equal(function(4).get(), data[4:7].get()) and function(0).dtype == data.dtype


def test_empty_and_nan() -> None:
    i = nl.symbol("i", (), "int64")
    nothing = nl.function([i], nl.zeros((0, 3))[i : i + 0])
    assert nothing(5).shape == (0, 3)
    same = nl.function([i], nl.asarray(DATA)[i:i])
    assert same(-300).shape == (0, 5)
    data = np.array([1.0, np.nan, np.inf, -0.0])
    assert np.array_equal(nl.function([i], nl.asarray(data)[i : i + 3])(1).get(), data[1:], equal_nan=True)


def test_what_is_taken_lies_as_numpys_slice_does() -> None:
    i = nl.symbol("i", (), "int64")
    turned = nl.asarray(np.asfortranarray(DATA))[i : i + 8]
    assert turned.strides == np.asfortranarray(DATA)[0:8].copy("K").strides
    assert np.array_equal(nl.function([i], turned.ravel("K"))(3).get(), np.asfortranarray(DATA)[3:11].ravel("K"))


def test_a_shared_variable_as_a_bound_is_read_in_each_call() -> None:
    place = nl.shared(np.int64(0), "place")
    step = nl.function([], nl.asarray(DATA)[place : place + 10].sum(), updates=[(place, place + 10)])
    for first in range(0, 100, 10):
        assert np.allclose(step(), DATA[first : first + 10].sum())
    with pytest.raises(IndexError):
        step().get()


def test_lengths_that_would_follow_from_values_are_refused() -> None:
    x, i, j = nl.asarray(DATA), nl.symbol("i", (), "int64"), nl.symbol("j", (), "int64")
    for index in (slice(i, None), slice(None, i), slice(i, j), slice(i, 2 * i), slice(i, 20)):
        with pytest.raises(nl.TreeError, match="would follow from values"):
            x[index]
    with pytest.raises(nl.TreeError, match="would follow from values"):
        x.copy()[i:] = 0
    with pytest.raises(nl.TreeError, match="step of a slice"):
        x[0:10:i]
    with pytest.raises(nl.TreeError, match="whether it is empty"):
        x[i + 3 : i]
    with pytest.raises(IndexError, match="does not fit"):
        x[i : i + 101]
    with pytest.raises(ValueError, match="cannot be zero"):
        x[i : i + 4 : 0]
    with pytest.raises(TypeError, match="must be integers"):
        x[nl.symbol("f") : 3]
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, i : i + 2]


def test_what_is_taken_is_no_view_and_cannot_be_written() -> None:
    i = nl.symbol("i", (), "int64")
    with nl.symbolic():
        y = nl.asarray(DATA).copy()
        with pytest.raises(ValueError, match="read-only"):
            y[i : i + 3][...] = 0
        with pytest.raises(ValueError, match="read-only"):
            y[i : i + 3] += 1


@pytest.mark.parametrize(
    "index",
    [
        lambda i: (slice(i, i + 3),),
        lambda i: (slice(i, i + 3), slice(None, None, -2)),
        lambda i: (2, slice(i, i + 3)),
        lambda i: (slice(1, 90, 2), slice(i + 2, i, -1)),
        lambda i: (Ellipsis, slice(i, i + 2)),
        lambda i: (None, slice(i, i + 4), 0),
    ],
)
def test_writing(index: Callable[[Any], Any]) -> None:
    i = nl.symbol("i", (), "int64")
    value = np.random.default_rng(1).normal(size=DATA[index(1)].shape)
    with nl.symbolic():
        y = nl.asarray(DATA).copy()
        y[index(i)] = value
    function = nl.function([i], y)
    for number in (0, 1, 2):
        wanted = DATA.copy()
        wanted[index(number)] = value
        assert np.array_equal(function(number).get(), wanted)
    with pytest.raises(IndexError, match="reaches over the ends"):
        function(98).get()


def test_several_slices_that_wait_are_not_written_to() -> None:
    i = nl.symbol("i", (), "int64")
    with nl.symbolic():
        y = nl.asarray(DATA).copy()
        with pytest.raises(nl.TreeError, match="one slice"):
            y[i : i + 2, i : i + 2] = 0


def test_gradients_go_to_what_was_taken() -> None:
    w, i = nl.shared(DATA, "w"), nl.symbol("i", (), "int64")
    function = nl.function([i], nl.grad((w[i : i + 3] ** 2).sum(), w))
    wanted = np.zeros_like(DATA)
    wanted[10:13] = 2 * DATA[10:13]
    assert np.allclose(function(10).get(), wanted)


def test_loops_and_compiled_functions_may_take_them() -> None:
    @nl.compile
    def windows(x: Any, i: Any) -> Any:
        return x[i : i + 3].sum()

    assert np.isclose(windows(nl.asarray(DATA), nl.asarray(5)), DATA[5:8].sum())
    assert np.isclose(windows(nl.asarray(DATA), nl.asarray(50)), DATA[50:53].sum())

    @nl.compile
    def moving(x: Any) -> Any:
        return nl.fori_loop(0, 90, lambda k, s: s + x[k : k + 10, 0].max(), nl.asarray(0.0))

    assert np.isclose(moving(nl.asarray(DATA)), sum(DATA[k : k + 10, 0].max() for k in range(90)))


def test_they_run_by_numpy_and_as_source_text() -> None:
    i, x = nl.symbol("i", (), "int64"), nl.symbol("x", DATA.shape)
    tree = x[i : i + 4, 1]
    known = nl.substitute(tree, [(x, nl.asarray(DATA)), (i, nl.asarray(7))])
    assert np.array_equal(known.asnumpy(), DATA[7:11, 1]) and np.array_equal(known.get(), DATA[7:11, 1])
    text = nl.source(tree)
    given = {"i": np.int64(7), "x": DATA}
    rest = {name: array.get() for name, array in text.arguments.items() if name not in given}
    assert np.array_equal(text.compile()(**given, **rest), DATA[7:11, 1])


def test_two_symbols_are_two_slices() -> None:
    x, i, j = nl.asarray(DATA), nl.symbol("i", (), "int64"), nl.symbol("j", (), "int64")
    for _ in range(3):  # What a call learns from one does not serve the other.
        one, other = nl.function([i, j], [x[i : i + 3, [0, 1]], x[j : j + 3, [0, 1]]])(3, 9)
        assert np.array_equal(one.get(), DATA[3:6, :2]) and np.array_equal(other.get(), DATA[9:12, :2])


def test_numbers_that_are_known_are_ordinary_slices() -> None:
    x, two = nl.asarray(DATA), nl.asarray(2)
    assert np.array_equal(x[two : two + 3].get(), DATA[2:5]) and np.array_equal(x[two:].get(), DATA[2:])
    with nl.symbolic():
        y = x[two * 2 : two * 2 + 3]
    assert np.array_equal(y.asnumpy(), DATA[4:7])
    assert np.array_equal(x[np.int64(3) : np.uint8(9)].get(), DATA[3:9])


# ---------------------------------------------------------------- givens and updates


@pytest.mark.parametrize("as_dict", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_minibatches_of_shared_data(as_dict: bool, known: bool) -> None:
    data, labels = nl.shared(DATA, "data"), nl.shared(np.arange(100) % 3, "labels")
    index = scalar("index", "int64")
    x = nl.symbol("x", (20, 5)) if known else matrix("x")
    y = nl.symbol("y", (20,) if known else (None,), "int64")
    w = nl.shared(np.zeros(5), "w")
    cost = ((x * w).sum(1) * y).sum() + (x * x).sum()
    step = nl.grad(cost, w)
    first, last = index * 20, (index + 1) * 20
    givens: Any = [(x, data[first:last]), (y, labels[first:last])]
    updates: Any = [(w, w - 0.1 * step)]
    train = nl.function(
        [index], cost, updates=dict(updates) if as_dict else updates, givens=dict(givens) if as_dict else givens
    )
    weights = np.zeros(5)
    for number in (0, 3, 4, 1):
        part, marks = DATA[number * 20 : number * 20 + 20], np.arange(100)[number * 20 : number * 20 + 20] % 3
        assert np.allclose(train(number), ((part * weights).sum(1) * marks).sum() + (part * part).sum())
        weights -= 0.1 * (part * marks[:, None]).sum(0)
        assert np.allclose(w.get_value(), weights)
    for number in (5, -6, -1):
        with pytest.raises(IndexError, match="reaches over the ends"):
            train(number)
        assert np.allclose(w.get_value(), weights)  # Nothing was updated.


def test_givens_of_unknown_extents_may_depend_on_each_other() -> None:
    x, y, z = matrix("x"), matrix("y"), nl.symbol("z", (2, 3))
    w = nl.shared(np.ones((2, 3)), "w")
    assert np.array_equal(nl.function([], (x + y).sum(0), givens=[(x, y * 2), (y, w)])().get(), [6.0, 6.0, 6.0])
    assert np.array_equal(nl.function([y], x, givens={x: y.T})(np.ones((2, 3))).get(), np.ones((3, 2)))
    assert np.array_equal(nl.function([z], x * 3, givens={x: z})(np.ones((2, 3))).get(), np.full((2, 3), 3.0))
    with pytest.raises(ValueError, match="circular"):
        nl.function([], x, givens=[(x, y * 1), (y, x * 1)])
    with pytest.raises(ValueError, match="2 axes"):
        nl.function([], x, givens=[(x, nl.shared(np.ones(3), "v"))])
    with pytest.raises(TypeError, match="float64"):
        nl.function([], x, givens=[(x, nl.shared(np.ones((2, 3), "f4"), "v"))])
    with pytest.raises(TypeError, match="y"):
        nl.function([], x + y, givens=[(x, w)])


def test_only_symbols_are_keys() -> None:
    w = nl.shared(np.ones(3), "w")
    assert {w: 1, nl.symbol("x"): 2}[w] == 1 and len({w, w}) == 1
    for array in (nl.ones(3), w * 2, w[:2]):
        with pytest.raises(TypeError, match=r"unhashable type: 'numloom\.ndarray'"):
            hash(array)


@pytest.mark.parametrize("outputs", [None, [], ()])
def test_functions_that_only_update(outputs: Any) -> None:
    w = nl.shared(np.ones(3), "w")
    step = nl.function([], outputs, updates={w: w * 2})
    for _ in range(3):
        assert step() == outputs
    assert np.array_equal(w.get_value(), [8.0, 8.0, 8.0])
