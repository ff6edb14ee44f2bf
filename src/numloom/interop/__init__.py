"""What other libraries ask for beside the protocols: told to them when they are imported, never before.

Dask, einops, autoray, Numba and sqlite3 keep tables of types; pandas, NetworkX, SciPy, scikit-learn, zarr and NumPy's
generators ask for arrays of NumPy's or SciPy's. Importing numloom imports none of them; `watch` sees to it that each is
told of our arrays right after its own import, in whatever order a program imports the two.
"""

from __future__ import annotations

from numloom.interop.imports import watch

watch(
    {
        "autoray": "numloom.interop.autoray",
        "dask.array.backends": "numloom.interop.dask_backend",
        "dask.array.dispatch": "numloom.interop.dask",
        **{
            f"dask.array.{name}": "numloom.interop.dask_modules"
            for name in (
                "utils",
                "core",
                "creation",
                "slicing",
                "_reductions_generic",
                "reductions",
                "routines",
                "linalg",
                "random",
            )
        },
        "dask.sizeof": "numloom.interop.dask_sizeof",
        "einops": "numloom.interop.einops",
        "numba.extending": "numloom.interop.numba",
        "numpy.random": "numloom.interop.numpy_random",
        "networkx.convert": "numloom.interop.networkx",
        "pandas": "numloom.interop.pandas",
        "scipy.ndimage": "numloom.interop.scipy_filled",
        "scipy.sparse": "numloom.interop.scipy_sparse_classes",
        "scipy.sparse._sputils": "numloom.interop.scipy_sparse",
        "scipy.sparse.csgraph": "numloom.interop.scipy_sparse_linalg",
        "scipy.sparse.linalg": "numloom.interop.scipy_sparse_linalg",
        "scipy.spatial.distance": "numloom.interop.scipy_filled",
        "sklearn.svm._base": "numloom.interop.sklearn_svm",
        "sklearn.utils.validation": "numloom.interop.sklearn",
        "sparse": "numloom.interop.pydata_sparse",
        "sqlite3": "numloom.interop.sqlite",
        "zarr.core.buffer.cpu": "numloom.interop.zarr",
    }
)

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
