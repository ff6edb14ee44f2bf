"""Dask's own functions where they lose the type of our arrays: there are no tables for these.

Dask makes the type of a result known by computing with empty arrays (metas), and turns a scalar among them into an
array of NumPy's. Our results that NumPy has as scalars claim to be numbers (`array.scalars`), so the type of every sum
was taken for NumPy's; that of a mask's elements was, whatever the chunks; SciPy's blocks were NumPy's.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from dask.tokenize import tokenize

from numloom.api.creation import empty
from numloom.api.running import evaluate
from numloom.array.convert import asarray, asnumpy, to_numpy
from numloom.array.ndarray import ndarray
from numloom.base.nesting import deeper
from numloom.random.bit_generator import BitGenerator
from numloom.random.generator import Generator

Function = Callable[..., Any]


class _NumPy(ModuleType):
    """NumPy, but for the functions that are set on it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def array(values: Any, *args: Any, **options: Any) -> Any:
    """`numpy.array`, which leaves a number of ours an array of ours."""
    if type(values) is ndarray and not (values.ndim or args or options):
        return values
    return np.array(values, *args, **options)


def isscalar(element: Any) -> bool:
    """`numpy.isscalar`, to which a number of ours is an array."""
    return type(element) is not ndarray and np.isscalar(element)


def is_ours(collection: Any) -> bool:
    """Whether the chunks of a Dask array, or what could be one, are ours."""
    return type(collection) is ndarray or type(getattr(collection, "_meta", None)) is ndarray


def told(collection: Any, depth: int = 0) -> Any:
    """A Dask array, or several, that say from now on that their chunks are ours."""
    if isinstance(collection, (tuple, list)):
        depth = deeper(depth)
        return type(collection)([told(one, depth) for one in collection])
    if isinstance(getattr(collection, "_meta", None), np.ndarray):
        collection._meta = empty((0,) * collection.ndim, collection.dtype)
    return collection


def became(collection: Any, depth: int = 0) -> Any:
    """A Dask array with chunks of ours, also where Dask made them of shapes alone; anything else as it is."""
    if isinstance(collection, (tuple, list)):
        depth = deeper(depth)
        return type(collection)([became(one, depth) for one in collection])
    return collection.to_backend("numloom") if hasattr(collection, "to_backend") else collection


def results(change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """What changes the results of a function of Dask arrays where one of them has chunks of ours."""

    def changing(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            found = function(*args, **options)
            first = args[0] if args and type(args[0]) in (tuple, list) else args
            return change(found) if any(map(is_ours, (*first, *args, *options.values()))) else found

        return call

    return changing


def emptied(found: Any) -> Any:
    """What Dask made of a shape alone since nothing of the chunks is in it."""
    return found if found.size else found.map_blocks(asarray, dtype=found.dtype, meta=found._meta)


def counted(found: Any) -> Any:
    """Counts and edges of a histogram."""
    counts, edges = found
    return told(counts), asarray(edges) if isinstance(edges, np.ndarray) else told(edges)


def masking(function: Function) -> Function:
    """What masks of Dask arrays take: masks of ours take arrays of ours."""
    follow = results(lambda found: (told(found[0]), found[1]))(function)

    @functools.wraps(function)
    def call(x: Any, index: Any) -> Any:
        if not is_ours(x) and any(map(is_ours, index)):
            x = x.to_backend("numloom")
        return follow(x, index)

    return call


def supposing(compute: Function) -> Function:
    """Dask's type of a result: where a function takes no empty arrays, that of its arguments if they are ours."""

    @functools.wraps(compute)
    def call(function: Any, dtype: Any, *args: Any, **options: Any) -> Any:
        found = compute(function, dtype, *args, **options)
        if found is None and dtype is not None and any(map(is_ours, args)):
            return empty((0,), dtype)
        return found

    return call


def storing(setitem: Function) -> Function:
    """Storing in a chunk: of index arrays that are NumPy's, Dask drops what is beyond the chunk."""

    @functools.wraps(setitem)
    def call(x: Any, v: Any, indices: Any) -> Any:
        return setitem(x, v, [asnumpy(i) if type(i) is ndarray and i.dtype.kind in "iu" else i for i in indices])

    return call


def by_scipy(call_scipy: Function) -> Function:
    """What calls SciPy's linear algebra by its name: it gets the memory of ours, and its results become ours."""

    @functools.wraps(call_scipy)
    def call(name: str, *args: Any, **options: Any) -> Any:
        if not any(type(one) is ndarray for one in args):
            return call_scipy(name, *args, **options)
        return asarray(call_scipy(name, *[to_numpy(one) if type(one) is ndarray else one for one in args], **options))

    return call


def stacking(histogram: Function) -> Function:
    """Counts of one chunk for each of ours: one array with another axis, where Dask makes a list of it."""

    @functools.wraps(histogram)
    def call(*args: Any) -> Any:
        found = histogram(*args)
        return found[0][None] if len(found) == 1 and type(found[0]) is ndarray else found

    return call


def choosing(choice: Function) -> Function:
    """Choosing from an array of ours by a generator of NumPy's: which elements is theirs, the elements are ours."""

    @functools.wraps(choice)
    def call(state: Any, a: Any, *args: Any, **options: Any) -> Any:
        return a[choice(state, len(a), *args, **options)] if type(a) is ndarray else choice(state, a, *args, **options)

    return call


def placing(change: Function) -> Function:
    """Insertions and deletions: places as NumPy's integers, and what is inserted as a Dask array."""

    @functools.wraps(change)
    def call(arr: Any, obj: Any, *args: Any, **options: Any) -> Any:
        given = {name: asked(value) if type(value) is ndarray else value for name, value in options.items()}
        obj = asnumpy(obj) if type(obj) is ndarray else obj
        return change(arr, obj, *[asked(value) if type(value) is ndarray else value for value in args], **given)

    return call


def seeded(default_rng: Function) -> Function:
    """Dask's generator of a bit generator: also of ours, which Dask knows by what holds them."""

    @functools.wraps(default_rng)
    def call(seed: Any = None) -> Any:
        return default_rng(Generator(seed) if isinstance(seed, BitGenerator) else seed)

    return call


def drawing(draw: Function) -> Function:
    """Draws whose parameters are arrays of ours: cut as the result is, which is ours whatever the generator."""

    @functools.wraps(draw)
    def call(*args: Any, **options: Any) -> Any:
        if not any(map(is_ours, (*args, *options.values()))):
            return draw(*args, **options)
        given = {name: asked(value) if type(value) is ndarray else value for name, value in options.items()}
        return became(draw(*[asked(value) if type(value) is ndarray else value for value in args], **given))

    return call


def on_the_host(unique: Function) -> Function:
    """Distinct elements with their counts or places, for which Dask needs arrays of records: NumPy's."""

    @functools.wraps(unique)
    def call(ar: Any, *args: Any, **options: Any) -> Any:
        if is_ours(ar) and (any(args) or any(options.values())):
            return became(unique(asked(ar).to_backend("numpy"), *args, **options))
        return unique(ar, *args, **options)

    return call


def asked(x: Any) -> Any:
    """A Dask array of an array."""
    return sys.modules["dask.array"].asarray(x)  # type: ignore[attr-defined]


def naming(from_array: Function) -> Function:
    """Dask arrays of ours: other names than of NumPy's with equal values, or Dask takes one for the other."""

    @functools.wraps(from_array)
    def call(x: Any, chunks: Any = "auto", name: Any = None, *args: Any, **options: Any) -> Any:
        if type(x) is ndarray and (name is None or name is True):
            told_apart = {key: value for key, value in options.items() if key != "meta"}
            name = "array-" + tokenize("numloom", x, chunks, args, told_apart)
        return from_array(x, chunks, name, *args, **options)

    return call


def lu_of_block(block: Any) -> tuple[Any, Any, Any]:
    """SciPy's LU decomposition of a block, as arrays of ours."""
    import scipy.linalg

    p, l, u = scipy.linalg.lu(asnumpy(block))
    return asarray(p), asarray(l), asarray(u)


def factoring(lu: Function) -> Function:
    """LU decomposition: SciPy's of blocks give ours, and blocks of zeros are ours."""

    @functools.wraps(lu)
    def call(a: Any) -> Any:
        import scipy.linalg

        factors = lu(a)
        if not is_ours(a):
            return factors
        for layer in factors[0].dask.layers.values():
            for key, task in layer.items():
                if type(task) is tuple and task[0] is scipy.linalg.lu:
                    layer.mapping[key] = (lu_of_block, *task[1:])
        return tuple(factor.map_blocks(asarray, meta=factor._meta) for factor in factors)

    return call


def arrays_in(result: Any, depth: int = 0) -> list[Any]:
    """Our arrays that a task of Dask's gives, also in tuples, lists and dicts."""
    if type(result) is ndarray:
        return [] if result.storage.value.tree else [result]
    parts = result.values() if type(result) is dict else result if type(result) in (tuple, list) else ()
    depth = deeper(depth) if parts else depth
    return [array for part in parts for array in arrays_in(part, depth)]


def finishing(execute_task: Function) -> Function:
    """Tasks that run what they have recorded, in their own thread: chunks of like tasks then have one plan.

    Recorded work that is cut wherever there is much of it is another graph each time, since tasks end in any order.
    """

    @functools.wraps(execute_task)
    def call(key: Any, task_info: Any, dumps: Any, loads: Any, *others: Any) -> Any:
        def load(info: Any) -> Any:
            task, data = loads(info)

            def run(given: Any) -> Any:
                result = task(given)
                if arrays := arrays_in(result):
                    evaluate(*arrays)
                return result

            return run, data

        return execute_task(key, task_info, dumps, load, *others)

    return call


SEEN: dict[str, tuple[Function, ...]] = {
    "dask.array.utils": (array,),
    "dask.array.core": (array,),
    "dask.array.reductions": (isscalar,),
    "dask.array._reductions_generic": (isscalar,),
}
"""Which functions of NumPy each of Dask's modules sees as they are here."""

CHANGED: dict[str, dict[str, Function]] = {
    "dask.local": {"execute_task": finishing},
    "dask.array.utils": {"compute_meta": supposing, "scipy_linalg_safe": by_scipy},
    "dask.array.core": {"from_array": naming},
    "dask.array.creation": {"diagonal": results(emptied)},
    "dask.array.slicing": {"slice_with_bool_dask_array": masking, "setitem": storing},
    "dask.array.reductions": {"prefixscan_blelloch": results(told)},
    "dask.array.routines": {
        "_block_histogramdd_multiarg": stacking,
        "_block_histogramdd_rect": stacking,
        "average": results(became),
        "delete": placing,
        "insert": placing,
        "coarsen": results(told),
        "histogram": results(counted),
        "histogram2d": results(became),
        "histogramdd": results(became),
        "tril_indices_from": results(became),
        "triu_indices_from": results(became),
        "unique": on_the_host,
    },
    "dask.array.linalg": {"lstsq": results(told), "lu": factoring},
    "dask.array.random": {
        "_choice_rng": choosing,
        "_choice_rs": choosing,
        "_wrap_func": drawing,
        "default_rng": seeded,
    },
}
"""Dask's functions and what becomes of them."""


def register() -> None:
    """Change those of Dask's modules that have been imported and were not changed before."""
    for name, functions in SEEN.items():
        module: Any = sys.modules.get(name)
        if module is not None and getattr(module, "np", None) is np:
            module.np = _NumPy("numpy", np.__doc__)
            for function in functions:
                setattr(module.np, function.__name__, function)
    for name, changes in CHANGED.items():
        for attribute, change in changes.items():
            old = getattr(sys.modules.get(name), attribute, None)
            if old is None or hasattr(old, "numloom_told"):
                continue
            new: Any = change(old)
            new.numloom_told = True
            for place in list(sys.modules.values()):  # Modules take functions from each other by name.
                if (
                    getattr(place, "__name__", "").startswith(("dask.array", "dask.local"))
                    and vars(place).get(attribute) is old
                ):
                    setattr(place, attribute, new)


__all__ = ["register"]
