"""Bit generators, seeds, states and threads; orders and samples; the older names."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.random import Generator, Philox, RandomState, SeedSequence
from numloom.testing import assert_array_equal


def rng(seed: int = 7) -> Any:
    return nl.random.default_rng(seed)


def first(generator: Any) -> list[float]:
    return generator.random(3).tolist()  # type: ignore[no-any-return]


# --- seeds and states -----------------------------------------------------------------------------


def test_seeds() -> None:
    for seed in (7, np.int64(7), SeedSequence(7), Philox(7), np.random.PCG64(7), np.random.default_rng(7)):
        assert first(nl.random.default_rng(seed)) == first(rng())
    assert first(RandomState(7)) == first(rng()) == first(nl.random.default_rng(RandomState(7)))
    assert first(nl.random.default_rng([7, 8])) != first(rng())
    generator = rng()
    assert nl.random.default_rng(generator) is generator
    assert nl.random.default_rng(generator.bit_generator).bit_generator is generator.bit_generator
    for seed, error in (("a", TypeError), (-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            nl.random.default_rng(seed)
    with pytest.raises(TypeError, match="default_rng takes a seed"):
        Generator(3)
    with pytest.raises(ValueError, match="between 0 and"):
        RandomState(2**40)


def test_bit_generator() -> None:
    bits = Philox(5)
    assert str(Generator(bits)) == "Generator(Philox)"
    state = bits.state
    raw = bits.random_raw(4)
    assert raw.dtype == np.uint64 and raw.shape == (4,)
    assert bits.state["state"]["counter"] == 2
    bits.state = state
    assert_array_equal(bits.random_raw(4), raw.get())
    assert bits.random_raw(2, output=False) is None
    assert bits.advance(-3) is bits and bits.state == state
    assert_array_equal(bits.advance(1).random_raw(2), raw.get()[2:])
    far = Philox(5).jumped(2)
    assert far.state["state"] == {"counter": 2 << 48, "key": state["state"]["key"]}
    assert Philox(key=3, counter=9).state["state"] == {"counter": 9, "key": 3}
    for wrong in (lambda: Philox(1, key=2), lambda: Philox(key=-1), lambda: Philox(counter=2**64)):
        with pytest.raises(ValueError, match=r"key|counter"):
            wrong()
    with pytest.raises(NotImplementedError):
        nl.random.BitGenerator(3)
    with pytest.raises(ValueError, match="Philox"):
        bits.state = np.random.PCG64(3).state
    with pytest.raises(TypeError, match="dict"):
        bits.state = 3  # type: ignore[assignment]


def test_copies_and_pickles_go_on_where_they_were_made() -> None:
    for made in (rng(), RandomState(7)):
        made.normal(size=5)
        others = [pickle.loads(pickle.dumps(made)), copy.deepcopy(made)]
        expected = first(made)
        assert all(first(other) == expected for other in others)


def test_spawn() -> None:
    children = rng().spawn(3) + rng().bit_generator.spawn(1)
    draws = [first(child) if isinstance(child, Generator) else first(Generator(child)) for child in children]
    assert len({tuple(draw) for draw in draws}) == 3 and draws[3] == draws[0]


def test_threads_never_share_a_number() -> None:
    generator = rng()
    found: list[Any] = []

    def draw() -> None:
        for _ in range(50):
            found.append(generator.bit_generator.reserve(3)[0])

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(0, 600, 3))


# --- whole numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_limits_of_integers(dtype: str) -> None:
    low, high = (0, 1) if dtype == "?" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    x = rng().integers(low, high, 2000, dtype, endpoint=True)
    assert x.dtype == dtype
    scaled = (x.get().astype(float) - low) / (high - low + 1)
    assert abs(scaled.mean() - (0.25 if dtype == "?" else 0.5)) < 0.03
    assert rng().integers(high, high, 3, dtype, endpoint=True).tolist() == [high] * 3
    for wrong in ((low - 1, high), (low, high + 2)):
        with pytest.raises(ValueError, match="out of bounds"):
            rng().integers(*wrong, dtype=dtype)


def test_integers_of_bounds_on_the_device() -> None:
    for low, high, dtype, endpoint in (
        ([0, -(2**63)], [10, 2**63 - 1], "i8", True), ([-5, 0], [5, 9], "i1", False), ([0, 1], [2, 2], "?", False),
    ):  # fmt: skip
        on_device = rng().integers(nl.asarray(low), nl.asarray(high), (50, 2), dtype, endpoint)
        assert on_device.dtype == dtype
        assert_array_equal(on_device, rng().integers(low, high, (50, 2), dtype, endpoint).get())
    wide = nl.asarray(np.array([2**64 - 1], "u8"))
    assert rng().integers(wide, wide, 2, "u8", True).tolist() == [2**64 - 1] * 2


def test_integers_are_not_biased() -> None:
    """Of 3 * 2**62 numbers a product of 64 bits alone would give the residues 1 : 1 : 2 by thirds."""
    count = 3 << 62
    x = rng().integers(0, count, 6000, np.uint64).get()
    parts = np.bincount((x // np.uint64(1 << 62)).astype(int), minlength=3)
    assert ((parts - 2000) ** 2 / 2000).sum() < 20
    low = np.bincount((x % np.uint64(3)).astype(int), minlength=3)
    assert ((low - 2000) ** 2 / 2000).sum() < 20


# --- orders and samples ---------------------------------------------------------------------------


def test_every_order_is_as_likely() -> None:
    rows = rng().permuted(np.tile(np.arange(4), (4800, 1)), axis=1).get()
    orders = {order: k for k, order in enumerate(itertools.permutations(range(4)))}
    counts = np.bincount([orders[tuple(row)] for row in rows.tolist()], minlength=24)
    assert ((counts - 200) ** 2 / 200).sum() < 60  # 23 degrees of freedom: beyond the 0.01 % quantile
    mixed = rng().permuted(np.arange(12).reshape(3, 4), axis=0).get()
    assert (np.sort(mixed, 0) == np.arange(12).reshape(3, 4)).all()
    out = nl.asarray(np.arange(12.0).reshape(3, 4))
    assert rng().permuted(out, out=out) is out
    assert sorted(out.ravel().tolist()) == list(range(12)) and out.ravel().tolist() != list(range(12))
    with pytest.raises(ValueError, match="same shape"):
        rng().permuted(np.arange(3), out=nl.zeros(4))
    with pytest.raises(TypeError):
        rng().permuted(3)


def test_shuffle_and_permutation() -> None:
    for axis in (0, 1):
        host = np.arange(40).reshape(8, 5)
        for x in (host.copy(), nl.asarray(host)):
            assert rng().shuffle(x, axis) is None
            got = x if isinstance(x, np.ndarray) else x.get()
            assert (np.sort(got, axis) == host).all() and (got != host).any()
            assert_array_equal(rng().permutation(host, axis), got)
    names = ["a", "b", "c", "d", "e"]
    rng().shuffle(names)
    assert sorted(names) == ["a", "b", "c", "d", "e"] != names
    for wrong, error in ((3, TypeError), (nl.asarray(3), TypeError), ((1, 2), TypeError), ("ab", TypeError)):
        with pytest.raises(error):
            rng().shuffle(wrong)
    with pytest.raises(NotImplementedError):
        rng().shuffle([1, 2], 1)
    assert rng().permutation(0).shape == (0,) and rng().permutation(nl.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(np.exceptions.AxisError):
        rng().permutation(3.5)


def test_samples_without_replacement() -> None:
    x = rng().choice(10**12, (50, 4), replace=False, shuffle=False).get()
    assert x.shape == (50, 4) and len(set(x.ravel().tolist())) == 200 and x.min() >= 0 and x.max() < 10**12
    assert abs(x.mean() / 10**12 - 0.5) < 0.1
    generator = rng()
    sparse = [generator.choice(1 << 16, 3, replace=False).tolist() for _ in range(30)]
    assert len({x for one in sparse for x in one}) > 85 and all(len(set(one)) == 3 for one in sparse)
    weights = nl.asarray([0.0, 0.25, 0.75])
    assert sorted(rng().choice(3, 2, replace=False, p=weights).tolist()) == [1, 2]
    assert set(rng().choice(3, 300, p=weights).tolist()) == {1, 2}
    try:
        rng().choice(3, 3, False, weights).get()
    except ValueError as error:  # What failed must not live on in a traceback that something keeps.
        found = str(error)
    assert found.startswith("Fewer non-zero entries in p than size; recorded at")
    table = np.arange(12).reshape(3, 4)
    columns = rng().choice(table, 4, replace=False, axis=1).get()
    assert sorted(columns[0].tolist()) == [0, 1, 2, 3] and (columns[1] - columns[0] == 4).all()


# --- older names ----------------------------------------------------------------------------------


def test_older_names_are_numpys() -> None:
    absent = {"MT19937", "PCG64", "PCG64DXSM", "SFC64"}  # streams that only run one after the other
    assert {name for name in np.random.__all__ if not hasattr(nl.random, name)} == absent


def test_random_state() -> None:
    state, other = RandomState(3), RandomState(3)
    assert_array_equal(state.poisson(4, 5), other.poisson(4, 5).get())
    assert state.rand(2, 3).shape == (2, 3) and state.randn().shape == () and state.tomaxint((2,)).dtype == np.int64
    saved = state.get_state()
    x = state.standard_gamma([1.0, 2.0]).tolist()
    state.set_state(saved)
    assert state.standard_gamma([1.0, 2.0]).tolist() == x
    with pytest.warns(DeprecationWarning, match="randint"):
        assert set(state.random_integers(2, size=60).tolist()) == {1, 2}
    assert state.randint(5, size=3, dtype="u1").dtype == np.uint8
    with pytest.raises(ValueError, match="alpha <= 0"):
        state.dirichlet([0, 1])
    with pytest.raises(ValueError, match="1-dimensional"):
        state.choice(np.zeros((2, 2)))
    assert state.multivariate_normal([0, 1], np.eye(2), 3).shape == (3, 2)
    state.seed(3)
    assert_array_equal(state.poisson(4, 5), RandomState(3).poisson(4, 5).get())


def test_the_shared_bit_generator() -> None:
    held = nl.random.get_bit_generator()
    try:
        nl.random.set_bit_generator(Philox(7))
        assert nl.random.random(3).tolist() == first(rng())
        nl.random.seed(7)
        assert nl.random.random_sample(3).tolist() == first(rng())
    finally:
        nl.random.set_bit_generator(held)
    assert nl.random.get_bit_generator() is held
