"""Truth values over memory that was not made of them: any byte but 0 is true, and counts as 1."""

import numpy as np
import pytest

import numloom as nl

USES = {
    "add": lambda xp, x, one: x + one,
    "sum": lambda xp, x, one: x.sum(),
    "astype": lambda xp, x, one: x.astype("int32"),
    "invert": lambda xp, x, one: ~x,
    "compare": lambda xp, x, one: x == True,  # noqa: E712
    "element": lambda xp, x, one: x[0, 0] + one[0],
    "part": lambda xp, x, one: x[0, :2] + one[0, :2],
    "reversed": lambda xp, x, one: x[::-1, ::-1] + one,
    "turned": lambda xp, x, one: x.T + one.T,
    "copy": lambda xp, x, one: x.copy() + one,
    "sort": lambda xp, x, one: xp.sort(x, axis=None),
    "cumsum": lambda xp, x, one: x.cumsum(),
    "where": lambda xp, x, one: xp.where(x, 2, 0),
    "select": lambda xp, x, one: one[x],
    "taken": lambda xp, x, one: x[xp.array([1, 0])] + one,
    "nonzero": lambda xp, x, one: x.nonzero()[1],
    "joined": lambda xp, x, one: xp.concatenate([x, x]).sum(axis=0),
}
OURS = {
    "of memory": lambda octets: nl.array(octets).view(bool),
    "of a result": lambda octets: (nl.array(octets) * 1).view(bool),
    "of NumPy": lambda octets: nl.asarray(octets.view(bool)),
}


@pytest.mark.parametrize("repeats", [1, 3000])
@pytest.mark.parametrize("way", OURS)
@pytest.mark.parametrize("use", USES)
def test_any_byte_is_true_once(use, way, repeats):
    octets = np.tile(np.array([[3, 1, 4], [-1, -5, 0]], np.int8), (1, repeats))
    one = np.ones(octets.shape, np.int8)
    expected = USES[use](np, octets != 0, one)
    found = nl.asnumpy(USES[use](nl, OURS[way](octets), nl.array(one)))
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


def test_bytes_stay_in_memory_and_writes_go_through():
    x = nl.array(np.array([3, 0, 4], np.int8))
    truths = x.view(bool)
    assert truths.view("int8").tolist() == [3, 0, 4]
    truths[0] = False
    x[1] = 7
    assert x.tolist() == [0, 7, 4]
    assert truths.tolist() == [False, True, True]
