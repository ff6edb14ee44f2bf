#!/usr/bin/env bash
# Kernels under compute-sanitizer, on a machine with a GPU: memcheck (accesses out of bounds), racecheck (shared memory).
#
#   tools/gpu_sanitize.sh [PYTHON]
#
# Four runs at once, none longer than SECONDS_EACH (420); prints the errors of each, and fails if there are any. Those of
# routines take four processes each (pytest-xdist): under racecheck one alone needs a quarter of an hour. The
# programs of tests/faults go through most kinds of kernels, and their device gives each array memory of its own, which
# is where accesses beyond an array are found: blocks of the pool are larger than what they hold. Answers of the driver
# are not reported: asking for what is not ready yet is none. Backtraces are of the device alone: for those of the host the
# sanitizer keeps Python's frames for ever, with the arrays in them, which these programs call a leak.
set -uo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
limit=${SECONDS_EACH:-420}
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2> /dev/null | tail -1)
[ -n "$sanitizer" ] || { echo "compute-sanitizer is not installed: it comes with the CUDA toolkit"; exit 2; }
logs=$(mktemp -d)
export PYTHONPATH=$PWD/src${PYTHONPATH:+:$PYTHONPATH} NUMLOOM_CUDA_COMPILE=wait NUMLOOM_TEST_FAULTS=1

check() { # name, tool, arguments of pytest
    local name=$1 tool=$2
    shift 2
    timeout -k 20 "$limit" "$sanitizer" --tool "$tool" --target-processes all --print-limit 20 \
        --report-api-errors no --show-backtrace device --log-file "$logs/$name.%p.log" \
        "$python" -m pytest -q -p no:cacheprovider -p no:faulthandler --timeout=0 --device cuda "$@" \
        > "$logs/$name.out" 2>&1
    echo $? > "$logs/$name.rc"
}

programs="tests/faults/test_injection.py -k recorded"
routines="tests/device/test_cuda_routines.py tests/device/test_cuda_selecting.py tests/device/test_cuda_scripts.py -k gpu -n 4"
check memory-of-programs memcheck $programs &
check memory-of-routines memcheck $routines &
check races-of-programs racecheck $programs &
check races-of-routines racecheck $routines &
wait

worst=0
for log in "$logs"/*.out; do
    name=$(basename "$log" .out)
    code=$(cat "$logs/$name.rc")
    summaries=$(grep -hE "(ERROR|RACECHECK) SUMMARY" "$logs/$name".*.log 2> /dev/null | sed 's/^=* *//' | sort | uniq -c)
    printf '%s: %s (exit %s)\n%s\n' "$name" "$(tail -1 "$log")" "$code" "${summaries:-no summary}"
    [ "$code" = 0 ] && [ -n "$summaries" ] || worst=1
    if printf '%s' "$summaries" | grep -vqE "SUMMARY: 0 "; then worst=1; fi
done
if [ $worst != 0 ]; then
    cat "$logs"/*.log | grep -vE "COMPUTE-SANITIZER|SUMMARY: 0 " | head -200
    grep -h "^E  " "$logs"/*.out | sort | uniq -c | sort -rn | head -20  # what the tests themselves complain of
fi
exit $worst
