"""Layer 9: linear algebra, with `numpy.linalg`'s names."""

from numpy.linalg import LinAlgError

from numloom.api.manipulation import matrix_transpose
from numloom.base.tracebacks import publish
from numloom.base.wording import no_name
from numloom.linalg.decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from numloom.linalg.equations import det, inv, lstsq, pinv, slogdet, solve, tensorinv, tensorsolve
from numloom.linalg.multiply import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from numloom.linalg.norms import cond, matrix_norm, matrix_rank, norm, vector_norm

_MISSING = {
    "expm": "use scipy.linalg.expm on x.get()",
    "lu": "use numloom.linalg.solve, or scipy.linalg.lu on x.get()",
    "lu_factor": "use numloom.linalg.solve, which takes several right-hand sides",
    "lu_solve": "use numloom.linalg.solve, which takes several right-hand sides",
    "solve_triangular": "use numloom.linalg.solve",
    "test": "it runs NumPy's own tests",
}

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    raise AttributeError(no_name(__name__, name, _MISSING, __all__, "; if SciPy has it, use scipy.linalg on x.get()"))


publish(globals(), __all__)
