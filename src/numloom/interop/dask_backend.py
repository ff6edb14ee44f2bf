"""Dask's array backend "numloom": new Dask arrays have our chunks where the setting ``array.backend`` says so."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
from dask.array.backends import ArrayBackendEntrypoint, array_creation_dispatch

from numloom.api.creation import empty
from numloom.array.ndarray import ndarray
from numloom.interop.dask import register as register_lookups
from numloom.interop.dask import to_numloom_dispatch
from numloom.random.bit_generator import Philox
from numloom.random.legacy import RandomState


class NumloomDaskBackend(ArrayBackendEntrypoint):  # type: ignore[misc]
    """What ``dask.config.set({"array.backend": "numloom"})`` chooses: new arrays have our chunks."""

    def __init__(self) -> None:
        register_lookups()

    @classmethod
    def to_backend_dispatch(cls) -> Any:
        return to_numloom_dispatch

    @classmethod
    def to_backend(cls, data: Any, **options: Any) -> Any:
        if type(data._meta) is ndarray:
            return data
        return data.map_blocks(to_numloom_dispatch, meta=empty((0,) * data.ndim, data.dtype), **options)

    @property
    def RandomState(self) -> type[RandomState]:
        return RandomState

    @property
    def default_bit_generator(self) -> type[Philox]:
        return Philox

    @staticmethod
    def ones(*args: Any, **options: Any) -> Any:
        return _created("ones", *args, **options)

    @staticmethod
    def zeros(*args: Any, **options: Any) -> Any:
        return _created("zeros", *args, **options)

    @staticmethod
    def empty(*args: Any, **options: Any) -> Any:
        return _created("empty", *args, **options)

    @staticmethod
    def full(*args: Any, **options: Any) -> Any:
        return _created("full", *args, **options)

    @staticmethod
    def arange(*args: Any, like: Any = None, **options: Any) -> Any:
        with dask.config.set({"array.backend": "numpy"}):
            return da.arange(*args, like=empty((0,)) if like is None else like, **options)


def _created(name: str, *args: Any, meta: Any = None, **options: Any) -> Any:
    """An array made by Dask, with our chunks unless `meta` asks for others."""
    with dask.config.set({"array.backend": "numpy"}):
        return getattr(da, name)(*args, meta=empty(()) if meta is None else meta, **options)


def register() -> None:
    """Enter the backend by its name, as the entry point of an installed numloom does."""
    array_creation_dispatch.register_backend("numloom", NumloomDaskBackend())
