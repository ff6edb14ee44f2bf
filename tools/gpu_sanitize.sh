#!/usr/bin/env bash
# Kernels under compute-sanitizer, on a machine with a GPU: memcheck (accesses out of bounds), racecheck (shared memory).
#
#   tools/gpu_sanitize.sh [PYTHON]
#
# Four runs at once, none longer than SECONDS_EACH (420); prints the errors of each, and fails if there are any. The
# programs of tests/faults go through most kinds of kernels, and their device gives each array memory of its own, which
# is where accesses beyond an array are found: blocks of the pool are larger than what they hold. Answers of the driver
# are not reported: asking for what is not ready yet is none.
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
    timeout -k 20 "$limit" "$sanitizer" --tool "$tool" --target-processes application-only --print-limit 20 \
        --report-api-errors no --log-file "$logs/$name.log" \
        "$python" -m pytest -q -p no:cacheprovider -p no:faulthandler --timeout=0 --device cuda "$@" \
        > "$logs/$name.out" 2>&1
    echo $? > "$logs/$name.rc"
}

programs="tests/faults/test_injection.py -k recorded"
routines="tests/device/test_cuda_routines.py tests/device/test_cuda_selecting.py tests/device/test_cuda_scripts.py -k gpu"
check memory-of-programs memcheck $programs &
check memory-of-routines memcheck $routines &
check races-of-programs racecheck $programs &
check races-of-routines racecheck $routines &
wait

worst=0
for log in "$logs"/*.out; do
    name=$(basename "$log" .out)
    code=$(cat "$logs/$name.rc")
    summary=$(grep -hE "(ERROR|RACECHECK) SUMMARY" "$logs/$name.log" 2> /dev/null | sed 's/^=* *//' | tail -1)
    echo "$name: ${summary:-no summary}; $(tail -1 "$log") (exit $code)"
    case ${summary:-none} in
        *"SUMMARY: 0 "*) [ "$code" = 0 ] || [ "$code" = 124 ] || worst=1 ;;
        *) worst=1 ;;
    esac
done
if [ $worst != 0 ]; then
    for log in "$logs"/*.log; do echo "== $log"; head -60 "$log"; done
    grep -h "^E  " "$logs"/*.out | sort | uniq -c | sort -rn | head -20  # what the tests themselves complain of
fi
exit $worst
