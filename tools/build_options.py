"""What every build of the compiled core knows: the one source for CMakeLists.txt, the backend and `build_inplace`.

``python tools/build_options.py`` prints it as CMake's settings, or ends with what is wrong and the cure.
"""

from __future__ import annotations

import re
import sys

CYTHON = (3, 3, 1)
"""The oldest Cython: slices that generator expressions share crash where 3.3.0 made them (seen on Python 3.12)."""
# Annotations say what Python's type checker sees; the C types stand in the .pxd alone. Instances are not pickled field
# by field: some count others, some hold addresses.
DIRECTIVES = ["-3", "-X", "annotation_typing=False", "-X", "auto_pickle=False"]
# What every compiled module includes first, below src/numloom.
INCLUDED = "base/tracebacks.h"
MODULE_FLAGS = ["-O3", "-fno-plt", "-DNDEBUG", "-fwrapv", "-ffp-contract=off", "-w"]
# They give the same bits as fused kernels, so nothing may relax arithmetic, whatever CXXFLAGS says before.
LOOP_FLAGS = [
    "-O3", "-fno-fast-math", "-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fno-trapping-math",
    "-fno-strict-aliasing", "-fno-exceptions", "-fno-rtti", "-fopenmp-simd", "-w",
]  # fmt: skip
WIDE_FLAGS = ["-mavx2", "-mfma"]


def check_cython() -> None:
    """End the build where Cython is not there, or is one that is known to make modules that crash."""
    wanted = ".".join(map(str, CYTHON))
    try:
        import Cython
    except ImportError:
        sys.exit(
            f"numloom is built by Cython, which is not installed: pip install 'cython>={wanted}' (or set "
            "NUMLOOM_PURE=1 for a slower package without a compiled core)"
        )
    if tuple(int(part) for part in re.findall(r"\d+", Cython.__version__)[:3]) < CYTHON:
        sys.exit(
            f"Cython {Cython.__version__} makes modules that crash: pip install 'cython>={wanted}' (a build without "
            "--no-build-isolation does that by itself)"
        )


def main() -> None:
    """Print the options for CMake."""
    check_cython()
    for name in ("MODULE_FLAGS", "LOOP_FLAGS", "WIDE_FLAGS"):
        print(f"set({name.lower()} {' '.join(globals()[name])})")
    print(f"set(included {INCLUDED})")


if __name__ == "__main__":
    main()
