#!/usr/bin/env bash
# Tests under gcc's sanitizers of addresses and of undefined behaviour: the compiled core, its thread pool, the
# single-operation loops, the loops of routines, fused kernels and users' kernels on the CPU.
#
#   tools/sanitize.sh PYTHON [ARGUMENTS OF PYTEST]
#
# PYTHON has Cython and what the tests need. The tree is copied and built in the copy, so that nothing of the sanitizers
# stays. Kernels need nothing of their own: CXX may have flags, which are part of a kernel's identity; what a kernel calls
# of the sanitizers is there since they are loaded first.
#
# Not checked:
# - signed overflow, which is defined everywhere here by -fwrapv (gcc then leaves the check out);
# - vptr, which needs what -fno-rtti leaves out;
# - division by zero of floating point, which is IEEE's (it is not part of "undefined");
# - leaks, since an interpreter that ends leaves much; tests/faults counts what we leave;
# - users' kernels with config.check, which are built for a sanitizer of their own (threads), and refused beside this one.
set -euo pipefail
python=$1
shift
cd "$(dirname "$0")/.."

runtime() { gcc -print-file-name="$1"; }
if [ ! -e "$(runtime libasan.so)" ] || [ ! -e "$(runtime libubsan.so)" ]; then
    echo "gcc's sanitizers are not installed: nothing was checked"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git ls-files -z --cached --others --exclude-standard 2> /dev/null | xargs -0 cp --parents -t "$work" 2> /dev/null \
    || cp -r pyproject.toml LICENSE README.md docs src tests tools "$work"
find "$work/src" -name '*.so' -delete
cd "$work"

checks="-fsanitize=address,undefined,float-cast-overflow -fno-sanitize=vptr -fno-sanitize-recover=all"
export CC="gcc $checks -fno-omit-frame-pointer -g1" CXX="g++ $checks -fno-omit-frame-pointer -g1"
CFLAGS=-O0 CXXFLAGS=-O0 "$python" tools/build_inplace.py --jobs 2 > built
echo "$(wc -l < built) modules and libraries were built with sanitizers"

export PYTHONPATH=$work/src NUMLOOM_CACHE_DIR=$work/cache NUMLOOM_TEST_FAULTS=${NUMLOOM_TEST_FAULTS:-1}
export LD_PRELOAD="$(runtime libasan.so) $(runtime libubsan.so)" PYTHONMALLOC=malloc
# Threads of users' kernels are fibres on stacks of their own.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1
if [ $# -eq 0 ]; then
    set -- -q -p no:cacheprovider -n 2 tests/graph tests/array tests/engine/test_words.py tests/engine/test_direct.py \
        tests/device/test_cpu_routines.py tests/device/simt/test_warps.py tests/faults/test_injection.py \
        -k "not (faults and (anew or eager or twos))"
fi
"$python" -m pytest "$@"
