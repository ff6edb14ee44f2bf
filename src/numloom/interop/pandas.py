"""pandas: our arrays as masks, positions, keys and groups, where pandas asks for NumPy's arrays by their type.

A mask of ours was taken for the positions 0 and 1, so that wrong rows came without a word. pandas has no table of array
types; every key passes through one function, which turns ours into NumPy's (over the same memory) here.
"""

from __future__ import annotations

import functools
from typing import Any

from numloom.array.convert import to_numpy
from numloom.array.ndarray import ndarray


def plain(value: Any) -> Any:
    """NumPy's array or scalar for ours, also within a tuple or list; anything else as it is."""
    if type(value) is ndarray:
        return to_numpy(value) if value.ndim else value.get()[()]
    if type(value) in (tuple, list) and any(type(one) is ndarray for one in value):
        return type(value)(map(plain, value))
    return value


def taking_ours(function: Any) -> Any:
    """A function of pandas whose first argument may be ours."""

    @functools.wraps(function)
    def call(first: Any, *args: Any, **options: Any) -> Any:
        return function(plain(first), *args, **options)

    return call


def register() -> None:
    """Tell pandas, when it has been imported."""
    import pandas
    import pandas.core.common
    import pandas.core.construction
    import pandas.core.groupby.grouper

    core: Any = pandas.core
    core.common.apply_if_callable = taking_ours(core.common.apply_if_callable)  # every key of [], loc, iloc and assign
    for name in ("construct_1d_object_array_from_listlike", "maybe_convert_platform"):  # lists of numbers
        if hasattr(core.construction, name):  # The second one was there before pandas 3.
            setattr(core.construction, name, taking_ours(getattr(core.construction, name)))
    convert = core.groupby.grouper._convert_grouper
    core.groupby.grouper._convert_grouper = functools.wraps(convert)(lambda axis, by: convert(axis, plain(by)))
    for name in ("factorize", "unique"):
        setattr(pandas, name, taking_ours(getattr(pandas, name)))


__all__ = ["register"]
