#!/usr/bin/env bash
# NVRTC 13.5 (release 13.5.37): what it folds of fmaxf(-0.0f, 0.0f) depends on the architecture: -0.0 for compute_75 and compute_90, 0.0 for compute_100 and compute_120.
#
# Expected: one result for all of them, though C leaves open which zero fmax gives. Seen: the signs of what is stored
#   compute_75: - + - + - + NVVM 7.0.1
#   compute_90: - + - + - + NVVM 7.0.1
#   compute_100: + + - - + + NVVM 23.0.0
#   compute_120: + + - - + + NVVM 23.0.0
# for CALLS below, and the compiler that made the PTX, by its own words. The older one keeps the first argument, the newer one
# orders the zeros, as maximumNumber of IEEE 754 does.
# What works: a comparison and a choice, a > b ? a : b, which both fold alike.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "cuda-bindings==13.5.0" "nvidia-cuda-nvrtc==13.5.37"
"$work/venv/bin/python" - <<'PY'
import re

from cuda.bindings import nvrtc

CALLS = (
    "fmaxf(-0.0f, 0.0f)", "fmaxf(0.0f, -0.0f)", "fminf(-0.0f, 0.0f)", "fminf(0.0f, -0.0f)",
    "(float)fmax(-0.0, 0.0)", "-0.0f > 0.0f ? -0.0f : 0.0f",
)
TEXT = 'extern "C" __global__ void kernel(float* q) { *q = %s; }'
EXPECTED = {75: "-+-+-+", 90: "-+-+-+", 100: "++--++", 120: "++--++"}


def ptx(text, architecture):
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, None, None)
    (code,) = nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=compute_{architecture}".encode()])
    assert code == nvrtc.nvrtcResult.NVRTC_SUCCESS, code
    _, size = nvrtc.nvrtcGetPTXSize(program)
    made = b" " * size
    nvrtc.nvrtcGetPTX(program, made)
    return made.decode()


def sign(made):
    """The sign of the zero that is stored: as an operand of the store, or of what moved it into a register."""
    (stored,) = re.findall(r"st\.global\.\w+\s+\[[^]]*\], ([^;]+);", made)
    moved = re.search(rf"mov\.\w+\s+{re.escape(stored)}, ([^;]+);", made)
    return {"0": "+", "0f00000000": "+", "-2147483648": "-", "0f80000000": "-"}[moved[1] if moved else stored]


print("NVRTC", *nvrtc.nvrtcVersion()[1:])
print("stored:", *CALLS, sep="\n  ")
for architecture, expected in EXPECTED.items():
    made = [ptx(TEXT % call, architecture) for call in CALLS]
    found = "".join(map(sign, made))
    print(f"compute_{architecture}:", *found, re.search(r"NVVM [\d.]+", made[0])[0])
    assert found == expected, "the behaviour has changed"
PY
