"""``ndarray(shape, dtype, buffer, offset, strides, order)`` beside NumPy's."""

from __future__ import annotations

import array
import operator
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numloom as nl
from numloom.device import registry

DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]
BYTES = np.random.default_rng(5).integers(0, 2, 128).astype(np.uint8)  # as bools, too
BUFFERS = {
    "bytes": lambda: BYTES.tobytes(),
    "bytearray": lambda: bytearray(BYTES),
    "memoryview": lambda: memoryview(bytearray(BYTES)),
    "read-only memoryview": lambda: memoryview(BYTES.tobytes()),
    "array": lambda: array.array("d", BYTES.tobytes()),
    "numpy": lambda: BYTES.copy(),
    "numpy in order F": lambda: np.asfortranarray(BYTES.copy().reshape(2, 64)),
    "numpy read-only": lambda: np.frombuffer(BYTES.tobytes(), "f8"),
}
shared_with_host = pytest.mark.skipif(registry.current().discrete, reason="memory of the host is copied to a GPU")


def same(ours, theirs):
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert ours.strides == theirs.strides or not theirs.size
    assert ours.flags.writeable == theirs.flags.writeable
    assert ours.get().tobytes() == theirs.tobytes()


def both(ours, theirs):
    """What both give, or that both refuse by the same kind of error."""
    try:
        expected = theirs()
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            ours()
        return None
    return ours(), expected


@pytest.mark.parametrize("order", [None, "C", "F", "A", "K"])
@pytest.mark.parametrize("dtype", [*DTYPES, float, None])
@pytest.mark.parametrize("shape", [(), 3, (2, 3), [4, 1, 2], (0, 3), np.int64(2)])
def test_memory_of_its_own(shape, dtype, order):
    made, expected = both(lambda: nl.ndarray(shape, dtype, order=order), lambda: np.ndarray(shape, dtype, order=order))
    assert made.shape == expected.shape and (made.strides == expected.strides or not expected.size)
    assert made.dtype == expected.dtype and made.base is None and made.flags.writeable
    made[...] = 1
    assert (made == 1).all()


def test_programs_that_fill_what_they_make():
    element = nl.ndarray(3)
    element[0] = 5
    element[1:] = [6, 7]
    assert element.tolist() == [5, 6, 7]
    assert (nl.ndarray((2, 3)) + 1).shape == (2, 3)
    assert str(nl.ndarray(shape=(2, 3)))
    assert repr(nl.ndarray.__new__(nl.ndarray, (2,), "i4")).startswith("array([")
    assert isinstance(nl.ndarray(()), nl.ndarray) and not nl.ndarray(()).is_scalar


@pytest.mark.parametrize("strides", [(8, 16), (24, 8), (0, 0), (16, 8), (-8, 8), (8,), (64, 8), (0, 8)])
def test_strides_of_memory_of_its_own(strides):
    pair = both(lambda: nl.ndarray((2, 2), strides=strides), lambda: np.ndarray((2, 2), strides=strides))
    if pair is not None:
        for made in pair:
            made[...] = 3
            made[1, 1] = 4
        same(*pair)


@pytest.mark.parametrize("arguments", [
    (), ("a",), (-1,), ((2, -1),), (2, "f8", None, 0, None, "X"), (2, "f8", 3), (2, "f8", "text"), (2.5,),
    (3, "f8", bytearray(23)), (3, "f8", bytearray(24), 1), (1, "f8", bytearray(24), 25),
    (3, "f8", bytearray(24), 0, (9,)), (2, "f8", bytearray(24), 0, (17,)), (2, "f8", bytearray(24), 0, (-8,)),
    ((2, 2), "f8", bytearray(99), 0, (8,)), (-2, "f8", bytearray(24)), ((-1, 2), "f8", bytearray(24)),
    (2, "f8", np.zeros(9)[::2]), (2, "f8", [1, 2]), (2, "f8", bytearray(24), 1.5), (2, "nothing"),
    (2, "f8", bytearray(24), 0, "ab"),
])  # fmt: skip
def test_what_numpy_refuses_is_refused(arguments):
    with pytest.raises((TypeError, ValueError)) as expected:
        np.ndarray(*arguments)
    with pytest.raises(expected.type):
        nl.ndarray(*arguments)


@pytest.mark.parametrize("buffer", [bytearray(24), nl.zeros(3)])
def test_nothing_lies_before_the_buffer(buffer):
    with pytest.raises(ValueError, match="offset"):  # NumPy reads what is there
        nl.ndarray(2, "f8", buffer, -8)


def test_a_buffer_of_ours_that_is_not_contiguous_is_refused():
    with pytest.raises(ValueError, match="not contiguous"):
        nl.ndarray(2, "f8", nl.zeros(9)[::2])


@pytest.mark.parametrize("copied", [False, True], ids=["shared", "copied"])
@pytest.mark.parametrize("kind", BUFFERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_that_is_there(kind, dtype, copied, monkeypatch):
    """Where a GPU copies it, elements lie in the copy as in the buffer, also those that lie in one place."""
    copied = copied or registry.current().discrete
    if copied:
        gpu = SimpleNamespace(current=lambda: SimpleNamespace(discrete=True))
        monkeypatch.setattr(sys.modules["numloom.api.construct"], "registry", gpu)
    size = np.dtype(dtype).itemsize
    for shape, offset, strides, order in (
        ((-1,), 0, None, None), ((-1,), size, None, None), ((2, 3), 0, None, None), ((2, 3), size, None, "F"),
        ((), 3, None, None), ((2, 2), 0, (size, 0), None), ((3,), 4 * size, (-size,), None), ((0, 2), 0, None, None),
        ((2, 2), 1, (2 * size, size + 1), None), ((3,), 0, (size + 1,), None), ((3, 2), 0, (size, size), None),
    ):  # fmt: skip
        first, second = BUFFERS[kind](), BUFFERS[kind]()
        made = nl.ndarray(shape, dtype, first, offset, strides, order)
        expected = np.ndarray(shape, dtype, second, offset, strides, order)
        same(made, expected)
        same(nl.asarray(made + made), np.asarray(expected + expected))
        if made.flags.writeable:
            made[...] = expected[...] = 1
            same(made, expected)
            if not copied:
                assert bytes(
                    memoryview(first).cast("B") if kind != "numpy in order F" else first.tobytes("A")
                ) == bytes(memoryview(second).cast("B") if kind != "numpy in order F" else second.tobytes("A"))
        else:
            with pytest.raises(ValueError, match="read-only"):
                made[...] = 1


@shared_with_host
def test_writable_memory_of_the_host_is_shared():
    memory = bytearray(32)
    made = nl.ndarray((2, 2), "f8", memory)
    seen = np.frombuffer(memory)
    made[0, 1] = 7
    made += 1
    assert seen.tolist() == [1, 8, 1, 1] and made.base is memory
    seen[3] = 40
    assert made.tolist() == [[1, 8], [1, 40]] and float(made.sum()) == 50
    with pytest.raises(BufferError):
        memory.extend(b"more")  # as long as the array lives


@given(
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(0, 40),
    st.lists(st.integers(-24, 24), max_size=3),
    st.booleans(),
)
def test_views_of_our_memory(dtype, shape, offset, strides, whole):
    theirs = np.arange(12.0) / 3
    ours = nl.asarray(theirs)
    if whole:  # bytes that are numbers again
        size = np.dtype(dtype).itemsize
        offset, strides = offset // size * size, [stride // size * size for stride in strides]
    arguments = tuple(shape), dtype, offset, tuple(strides) if len(strides) == len(shape) else None
    pair = both(
        lambda: nl.ndarray(arguments[0], dtype, ours, *arguments[2:]),
        lambda: np.ndarray(arguments[0], dtype, theirs, *arguments[2:]),
    )
    if pair is None:
        return
    same(*pair)
    assert pair[0].base is ours
    for made in pair:
        made[...] = 1
    same(ours, theirs)
    ours[...] = theirs[...] = 0
    same(*pair)


def test_read_only_memory_of_ours_stays_so():
    fixed = nl.zeros(4)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        nl.ndarray(2, "f8", fixed)[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        nl.ndarray((), "f8", nl.zeros(4).sum())[()] = 1


@pytest.mark.parametrize("write", [operator.iadd, operator.imul])
def test_what_is_read_before_a_write_stays(write):
    memory = np.arange(6.0) if not registry.current().discrete else nl.arange(6.0)
    made = nl.ndarray((3, 2), "f8", memory, order="F")
    before = made * 2
    made = write(made, 3)
    assert before.tolist() == [[0, 6], [2, 8], [4, 10]]
    assert np.asarray(nl.asarray(memory).get()).tolist() == made.get().T.ravel().tolist()
