"""``cupyx.scipy.sparse`` is `numloom.sparse`."""

import sys

from numloom import sparse

sys.modules[__name__] = sparse
sys.modules[f"{__name__}.linalg"] = sparse.linalg
