"""Write the C++ text of the single-operation loops: ``python tools/generate_loops.py OUT.cpp``.

It also tells whether a processor has what the wide build of the same text needs. Runs ``numloom.emit.loops`` from the
source tree without importing the rest of the package, so that a build needs NumPy alone.
"""

from __future__ import annotations

import runpy
import sys
import types
from pathlib import Path

source = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(source))
package = types.ModuleType("numloom")
package.__path__ = [str(source / "numloom")]
sys.modules["numloom"] = package
runpy.run_module("numloom.emit.loops", run_name="__main__", alter_sys=True)

ASK = """
extern "C" int runs_wide_loops() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}
"""
with open(sys.argv[1], "a", encoding="utf-8") as file:
    file.write(ASK)
