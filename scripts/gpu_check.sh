#!/usr/bin/env bash
# Run polygrad on a device that CI has not, and write a report: doctor, conformance, benchmarks.
#
#   scripts/gpu_check.sh [--device cuda:0] [--out gpu-report] [--wheels FOLDER] [--python python3]
#
# Five minutes at most. Installs nothing into the Python that it is given: polygrad runs from the
# checkout, and the wheels of FOLDER (for machines without a network) go to a folder that is removed.
# Exit status: 0 when every step passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

device=cuda:0 out=gpu-report wheels="" python=python3
while (($#)); do
    case $1 in
        --device) device=${2:?} ;;
        --out)    out=${2:?} ;;
        --wheels) wheels=${2:?} ;;
        --python) python=${2:?} ;;
        *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
    shift 2
done

mkdir -p "$out"
report=$out/report.md
export PYTHONPATH="$PWD:$PWD/conformance${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
if [[ -n $wheels ]]; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$site" "$wheels"/*.whl
    export PYTHONPATH="$site:$PYTHONPATH"
fi

cat >"$report" <<END
# polygrad on $device

- date: $(date -u +%Y-%m-%dT%H:%MZ)
- commit: $(git describe --always --dirty 2>/dev/null || echo 'not a git checkout')
- host: $(uname -srm), $("$python" --version)
END

failed=0

# step TITLE SECONDS COMMAND...: run under a time limit; output to the terminal and into the report.
step() {
    local title=$1 limit=$2 status=0 start=$SECONDS log
    log=$out/${title// /-}.txt
    shift 2
    printf '\n== %s: %s\n' "$title" "$*"
    timeout "$limit" "$@" 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
    case $status in
        0)   verdict=passed ;;
        124) verdict="stopped after $limit s" ;;
        *)   verdict="failed (exit $status)" ;;
    esac
    ((status == 0)) || failed=1
    {
        printf '\n## %s: %s, %d s\n\n`%s`\n\n```text\n' "$title" "$verdict" $((SECONDS - start)) "$*"
        tail -n 200 "$log"
        printf '```\n'
    } >>"$report"
}

driver() {
    case $device in
        cuda:*) nvidia-smi ;;
        rocm:*) rocm-smi ;;
        *)      echo "no driver tool is known for $device" ;;
    esac
}
export -f driver
export device

step driver 15 bash -c driver
step doctor 30 "$python" -m polygrad
step conformance 150 "$python" -m polygrad_conformance run --device "$device" --quiet \
    --report "$out/conformance"
step benchmarks 90 "$python" -m benchmarks --device "$device"

printf '\n%s: %s\n' "$report" "$( ((failed)) && echo 'some steps failed' || echo 'every step passed')"
exit "$failed"
