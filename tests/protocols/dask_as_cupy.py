"""A plugin of pytest that runs Dask's own tests of CuPy's chunks with ours: ``import cupy`` gives numloom there."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import dask.array  # noqa: F401  (Dask's backends are entered by it)
import pytest
from dask.array.backends import array_creation_dispatch

import numloom.cupy
import numloom.cupyx
from numloom.interop.dask_backend import NumloomDaskBackend


class Stand(ModuleType):
    """CuPy's name and a version that Dask takes; all else is ours."""

    __version__ = "13.0.0"
    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(numloom.cupy, name)


sys.modules["cupy"] = Stand("cupy")
sys.modules["cupyx"] = numloom.cupyx
for name, module in list(sys.modules.items()):
    if name.startswith("numloom.cupy."):
        sys.modules[name.replace("numloom.", "", 1)] = module
array_creation_dispatch.register_backend("cupy", NumloomDaskBackend())

OTHERWISE = {
    "test_asanyarray[like0-arr1]": "NumPy's arrays are taken, which CuPy refuses",
    "test_asanyarray[like0-arr3]": "NumPy's arrays are taken, which CuPy refuses",
    "test_cupy_unsupported": "the method is supported",
    "test_unique_kwargs": "counts and places are given, which CuPy's chunks cannot",
    "test_sparse_hstack_vstack_csr": "Dask's tables do not know our sparse chunks",
    "test_sparse_concatenate": "Dask's tables do not know our sparse chunks",
    "test_sparse_dot": "Dask's tables do not know our sparse chunks",
}
"""Tests, or all of a name, that fail here, and why."""


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "gpu: Dask's")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    for item in items:
        if reason := OTHERWISE.get(item.name) or OTHERWISE.get(item.originalname):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))
