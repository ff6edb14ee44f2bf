"""Layer 9: sparse arrays and matrices, by the names of `scipy.sparse`.

On the host SciPy works on the same memory; where data live on a device, our own array operations and kernels do.
"""

from numloom.base.wording import no_name
from numloom.sparse import linalg
from numloom.sparse.construct import (
    block_array,
    block_diag,
    bmat,
    diags,
    diags_array,
    eye,
    eye_array,
    find,
    hstack,
    identity,
    kron,
    kronsum,
    load_npz,
    rand,
    random,
    random_array,
    save_npz,
    spdiags,
    tril,
    triu,
    vstack,
)
from numloom.sparse.formats import (
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
    issparse,
    isspmatrix,
    sparray,
    spmatrix,
)

_MISSING = {
    **dict.fromkeys(
        ("bsr_array", "bsr_matrix", "dok_array", "dok_matrix", "lil_array", "lil_matrix"),
        "use scipy.sparse's on A.get(), and numloom.sparse.csr_array of it",
    ),
    "csgraph": "use scipy.sparse.csgraph on A.get()",
}

__all__ = [
    "block_array",
    "block_diag",
    "bmat",
    "coo_array",
    "coo_matrix",
    "csc_array",
    "csc_matrix",
    "csr_array",
    "csr_matrix",
    "dia_array",
    "dia_matrix",
    "diags",
    "diags_array",
    "eye",
    "eye_array",
    "find",
    "hstack",
    "identity",
    "issparse",
    "isspmatrix",
    "kron",
    "kronsum",
    "linalg",
    "load_npz",
    "rand",
    "random",
    "random_array",
    "save_npz",
    "sparray",
    "spdiags",
    "spmatrix",
    "tril",
    "triu",
    "vstack",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    raise AttributeError(no_name(__name__, name, _MISSING, __all__, "; if SciPy has it, use scipy.sparse on A.get()"))
