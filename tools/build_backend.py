"""The build backend: scikit-build-core's, which is not asked where the package could only be built wrong.

A build that fails becomes a pure wheel (pyproject.toml), since a machine may have no compiler. A tool that is of the
wrong version is no such case: it has a cure, and nobody would see that the package has no compiled core.
"""

from __future__ import annotations

import os
from typing import Any

from build_options import check_cython
from scikit_build_core import build as scikit
from scikit_build_core.build import *  # noqa: F403

__all__ = scikit.__all__


def _check() -> None:
    if os.environ.get("NUMLOOM_PURE", "").lower() not in ("1", "true", "yes", "on"):
        check_cython()


def build_wheel(*args: Any, **options: Any) -> str:
    """`scikit_build_core.build.build_wheel`."""
    _check()
    return scikit.build_wheel(*args, **options)


def build_editable(*args: Any, **options: Any) -> str:
    """`scikit_build_core.build.build_editable`."""
    _check()
    return scikit.build_editable(*args, **options)
