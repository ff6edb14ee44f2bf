"""Layer 9: sparse arrays and matrices, by the names of `scipy.sparse`.

On the host SciPy works on the same memory; where data live on a device, our own array operations and kernels do.
"""

from scipy.sparse import SparseEfficiencyWarning, SparseWarning

from numloom.base.wording import no_name
from numloom.sparse import csgraph, linalg
from numloom.sparse.building import dok_array, dok_matrix, lil_array, lil_matrix
from numloom.sparse.construct import (
    block_array,
    block_diag,
    bmat,
    diags,
    diags_array,
    expand_dims,
    eye,
    eye_array,
    find,
    get_index_dtype,
    hstack,
    identity,
    kron,
    kronsum,
    load_npz,
    matrix_transpose,
    permute_dims,
    rand,
    random,
    random_array,
    safely_cast_index_arrays,
    save_npz,
    spdiags,
    swapaxes,
    tril,
    triu,
    vstack,
)  # fmt: skip
from numloom.sparse.formats import (
    bsr_array,
    bsr_matrix,
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
    isspmatrix_bsr,
    isspmatrix_coo,
    isspmatrix_csc,
    isspmatrix_csr,
    isspmatrix_dia,
    isspmatrix_dok,
    isspmatrix_lil,
    sparray,
    spmatrix,
)  # fmt: skip

__all__ = [
    "SparseEfficiencyWarning", "SparseWarning", "block_array", "block_diag", "bmat", "bsr_array", "bsr_matrix",
    "coo_array", "coo_matrix", "csc_array", "csc_matrix", "csgraph", "csr_array", "csr_matrix", "dia_array",
    "dia_matrix", "diags", "diags_array", "dok_array", "dok_matrix", "expand_dims", "eye", "eye_array", "find",
    "get_index_dtype", "hstack", "identity", "issparse", "isspmatrix", "isspmatrix_bsr", "isspmatrix_coo",
    "isspmatrix_csc", "isspmatrix_csr", "isspmatrix_dia", "isspmatrix_dok", "isspmatrix_lil", "kron", "kronsum",
    "lil_array", "lil_matrix", "linalg", "load_npz", "matrix_transpose", "permute_dims", "rand", "random",
    "random_array", "safely_cast_index_arrays", "save_npz", "sparray", "spdiags", "spmatrix", "swapaxes", "tril",
    "triu", "vstack",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    raise AttributeError(no_name(__name__, name, {}, __all__, "; if SciPy has it, use scipy.sparse on A.get()"))
