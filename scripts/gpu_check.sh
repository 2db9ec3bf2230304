#!/usr/bin/env bash
# Run polygrad on a device that CI has not, and write a report: what is worth most comes first.
#
#   scripts/gpu_check.sh [--device cuda:0] [--out gpu-report] [--wheels FOLDER] [--python python3]
#                        [--seconds 300] [--workers 6]
#
# Stays within --seconds, and keeps what was done by then. Needs no network and installs nothing into
# the Python that it is given: polygrad runs from the checkout, and the wheels of FOLDER, made with
#
#   scripts/gpu_check.sh --pack FOLDER [--for cuda13|cuda12|rocm|sycl] [--target-python 3.12]
#
# where there is a network, go to a folder that is removed. A step whose packages are missing is left
# out, and the report says so. Exit status: 0 when every step that ran has passed and one did run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

device=cuda:0 out=gpu-report wheels="" python=python3 seconds=300 workers=6
pack="" kind=cuda13 target=""
while (($#)); do
    case $1 in
        --device)  device=${2:?} ;;
        --out)     out=${2:?} ;;
        --wheels)  wheels=${2:?} ;;
        --python)  python=${2:?} ;;
        --seconds) seconds=${2:?} ;;
        --workers) workers=${2:?} ;;
        --pack)    pack=${2:?} ;;
        --for)     kind=${2:?} ;;
        --target-python) target=${2:?} ;;
        *) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
    shift 2
done

# ---- with a network: the wheels to carry along ---------------------------------------------------
if [[ -n $pack ]]; then
    case $kind in
        cuda13) packages=("cupy-cuda13x[ctk]") ;;
        cuda12) packages=("cupy-cuda12x[ctk]") ;;
        rocm)   packages=(cupy-rocm-7-0) ;;
        sycl)   packages=(dpnp) ;;
        *)      echo "--for takes cuda13, cuda12, rocm or sycl, not $kind" >&2; exit 2 ;;
    esac
    for_python=()
    [[ -z $target ]] || for_python=(--python-version "$target" --only-binary :all:)
    exec "$python" -m pip download --dest "$pack" "${for_python[@]}" \
        "${packages[@]}" numpy array-api-compat pytest mpmath rich jinja2
fi

# ---- without one ---------------------------------------------------------------------------------
mkdir -p "$out"
report=$out/report.md
export PYTHONPATH="$PWD:$PWD/conformance${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
if [[ -n $wheels ]]; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$site" "$wheels"/*.whl
    export PYTHONPATH="$site:$PYTHONPATH"
fi

has() { "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)"; }

cat >"$report" <<END
# polygrad on $device

- date: $(date -u +%Y-%m-%dT%H:%MZ)
- commit: $(git describe --always --dirty 2>/dev/null || echo 'not a git checkout')
- host: $(uname -srm), $("$python" --version)
END

failed=0 passed=0

# step TITLE SECONDS NEEDS COMMAND...: run under a time limit; output to the terminal and the report.
# NEEDS are modules, with commas (-: none). The limit is what is left in all, if that is less.
step() {
    local title=$1 limit=$2 needs=$3 status=0 start=$SECONDS log missing="" name
    local left=$((seconds - SECONDS))
    shift 3
    log=$out/${title// /-}.txt
    [[ $needs == - ]] || for name in ${needs//,/ }; do has "$name" || missing+=" $name"; done
    if [[ -n $missing ]]; then
        printf '\n## %s: left out, not installed:%s\n' "$title" "$missing" | tee -a "$report"
        return
    fi
    if ((left < 5)); then
        printf '\n## %s: left out, the %d s were over\n' "$title" "$seconds" | tee -a "$report"
        return
    fi
    ((limit < left)) || limit=$left
    printf '\n== %s (at most %d s): %s\n' "$title" "$limit" "$*"
    timeout --kill-after=5 "$limit" "$@" 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
    case $status in
        0)       verdict=passed; passed=1 ;;
        124|137) verdict="stopped after $limit s" ;;
        *)       verdict="failed (exit $status)" ;;
    esac
    ((status == 0)) || failed=1
    {
        printf '\n## %s: %s, %d s\n\n`%s`\n\n```text\n' "$title" "$verdict" $((SECONDS - start)) "$*"
        tail -n 120 "$log"
        printf '```\n'
    } >>"$report"
}

# conformance NAME SECONDS OPTIONS...: part of the suite; it stops by itself, and writes its report.
# An index out of range must raise at the call: that is what the suite asks for.
conformance() {
    local name=$1 limit=$2 left=$((seconds - SECONDS))
    shift 2
    ((limit < left)) || limit=$left
    step "conformance $name" $((limit + 15)) - env POLYGRAD_CHECK_INDICES=1 \
        "$python" -m polygrad_conformance run --device "$device" --quiet --workers "$workers" --timeout 30 --seconds "$limit" \
        --report "$out/conformance-$name" "$@"
}

driver() {
    case $device in
        cuda:*) nvidia-smi ;;
        rocm:*) rocm-smi ;;
        sycl:*) clinfo --list ;;
        *)      echo "no driver tool is known for $device" ;;
    esac
}
export -f driver
export device POLYGRAD_TEST_GPU=$device POLYGRAD_CHECK_INDICES=0

step driver 10 - bash -c driver
step doctor 25 - "$python" -m polygrad
mapfile -t on_gpu < <(grep -rl --include='test_*.py' 'mark[.]gpu' tests)
step "kernels and streams" 60 pytest "$python" -m pytest -q -m gpu --durations 5 "${on_gpu[@]}"
conformance values 50 --dtypes float32 --checks value,grad
step "beside PyTorch and CuPy" 60 - "$python" -m benchmarks --device "$device" --rounds 9 \
    --only card- --only tiny --only mlp- --only cnn --only encoder --only op- \
    --results "$out/benchmarks"
conformance float32 60 --dtypes float32 --without value,grad
conformance "other dtypes" 120

printf '\n%s: %s\n' "$report" "$( ((failed)) && echo 'some steps failed' || echo 'no step failed')"
((passed && !failed))
