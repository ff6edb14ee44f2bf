"""pandas: our arrays as masks, keys, operands and groups, where pandas asks for NumPy's arrays by their type.

A mask of ours was taken for the positions 0 and 1, so that wrong rows came without a word, and a number of ours was in
no index. pandas has no table of array types; keys and operands pass through few functions, which get NumPy's arrays
(over the same memory) here.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numloom.array.convert import to_numpy
from numloom.array.ndarray import ndarray
from numloom.base.nesting import deeper


def plain(value: Any, depth: int = 0) -> Any:
    """NumPy's array or scalar for ours, also within a tuple or list; anything else as it is."""
    if type(value) is ndarray:
        return to_numpy(value) if value.ndim else value.get()[()]
    if type(value) in (tuple, list) and any(type(one) is ndarray for one in value):
        depth = deeper(depth)
        return type(value)([plain(one, depth) for one in value])
    return value


def taking_ours(function: Any) -> Any:
    """A function of pandas whose arguments may be ours."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if options:
            options = {name: plain(value) for name, value in options.items()}
        return function(*map(plain, args), **options)

    return call


def change(owner: Any, *names: str) -> None:
    """Let functions of a module, or methods that a class itself has, take ours."""
    for name in names:
        if name in vars(owner):  # Which ones there are differs between versions.
            setattr(owner, name, taking_ours(vars(owner)[name]))


def family(kind: type) -> list[type]:
    """A class and all that come from it."""
    below: list[type] = type.__subclasses__(kind)
    return [kind, *(one for each in below for one in family(each))]


def _giving_numbers(function: Any) -> Any:
    """A function of pandas (`map_infer`) that calls one for each element, which may give ours."""

    @functools.wraps(function)
    def call(array: Any, each: Any, *args: Any, **options: Any) -> Any:
        return function(array, lambda *given: plain(each(*given)), *args, **options)

    return call


def _of_objects(function: Any) -> Any:
    """The function of pandas that finds a dtype for an array of objects: numbers of ours among them are numbers."""

    @functools.wraps(function)
    def call(objects: Any, *args: Any, **options: Any) -> Any:
        found = function(objects, *args, **options)
        if type(found) is not np.ndarray or found.dtype.kind != "O" or ndarray not in set(map(type, found.flat)):
            return found
        numbers = np.empty(found.shape, object)
        for place, value in enumerate(found.flat):
            numbers.flat[place] = plain(value) if getattr(value, "ndim", 1) == 0 else value
        return function(numbers, *args, **options)

    return call


def register() -> None:
    """Tell pandas, when it has been imported."""
    import pandas
    import pandas._libs.lib
    import pandas.core.common
    import pandas.core.construction
    import pandas.core.groupby.grouper
    import pandas.core.indexing
    import pandas.core.ops.common

    core: Any = pandas.core
    change(core.common, "apply_if_callable")  # every key of [], loc, iloc and assign
    change(core.construction, "construct_1d_object_array_from_listlike", "maybe_convert_platform")  # lists of numbers
    for module in (core.construction, core.frame):
        change(module, *OF_SCALARS)
    change(core.ops.common, "item_from_zerodim")  # what stands right of an operator
    change(pandas.DataFrame, *FRAMES)
    change(pandas.Series, *SERIES)
    for kind in family(core.indexing._ScalarAccessIndexer):
        change(kind, "_convert_key")  # at and iat
    for kind in family(pandas.Index):
        change(kind, "__contains__", "get_loc")
    convert = core.groupby.grouper._convert_grouper
    core.groupby.grouper._convert_grouper = functools.wraps(convert)(lambda axis, by: convert(axis, plain(by)))
    change(pandas, "factorize", "unique")
    lib: Any = pandas._libs.lib
    lib.maybe_convert_objects = _of_objects(lib.maybe_convert_objects)  # of rows: lists of dicts, tuples, records
    for name in ("map_infer", "map_infer_mask"):
        setattr(lib, name, _giving_numbers(getattr(lib, name)))
    multiget = lib.fast_multiget
    lib.fast_multiget = functools.wraps(multiget)(
        lambda mapping, *args, **options: multiget({key: plain(mapping[key]) for key in mapping}, *args, **options)
    )


OF_SCALARS = ("construct_1d_arraylike_from_scalar", "construct_2d_arraylike_from_scalar", "infer_dtype_from_scalar")
"""What makes columns of a number."""

FRAMES = ("_align_for_op", "_set_value", "dot", "set_index")
SERIES = ("__setitem__", "_set_value", "dot")
"""Methods of frames and series that ask for NumPy's arrays by their type."""

__all__ = ["register"]
