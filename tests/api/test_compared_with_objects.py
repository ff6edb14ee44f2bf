"""``==`` and ``!=`` between arrays and objects that are no numbers answer for each element, as in NumPy."""

import operator

import numpy as np
import pytest

import numloom as nl


class HasEqual:
    def __eq__(self, other):
        return (other == 2) | (other == 4)


class HasUnequal:
    def __ne__(self, other):
        return (other == 2) | (other == 4)


class Refuses:
    __array_ufunc__ = None


OBJECTS = [None, Ellipsis, object(), np._NoValue, int, "text", HasEqual(), HasUnequal()]
CASES = [
    (compare, value, swapped)
    for compare in (operator.eq, operator.ne)
    for value in OBJECTS
    for swapped in (False, True)
    # There Python itself negates an array, under NumPy too.
    if not (swapped and compare is operator.ne and isinstance(value, HasEqual))
]


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64", "complex128"])
@pytest.mark.parametrize(("compare", "value", "swapped"), CASES)
def test_each_element_is_asked(compare, value, swapped, dtype):
    host = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    found, expected = (compare(value, x) if swapped else compare(x, value) for x in (nl.array(host), host))
    assert found.dtype == expected.dtype == bool
    assert np.array_equal(nl.asnumpy(found), expected)


def test_who_takes_no_part_is_another_object():
    x = nl.arange(3)
    assert (x == Refuses()) is False
    assert (x != Refuses()) is True
