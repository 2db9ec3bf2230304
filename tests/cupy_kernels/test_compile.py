"""NVIDIA's compiler takes every kernel, for every dtype; no GPU is needed for that.

The rules that make the text HIP's as well are checked by reading it: Note [One text for CUDA and
HIP].
"""

from __future__ import annotations

import os
import re

import pytest

from polygrad.backends.cupy_kernels import FAMILIES, OPTIONS
from polygrad.backends.cupy_kernels.text import FLOAT16, source
from tests.cupy_kernels.emulator import kernels_in

ARCHITECTURES = ("compute_75", "compute_80", "compute_90", "compute_100")
MACHINE_CODE = ("sm_75", "sm_90")  # assembled too, which takes long: for two dtypes
TEXTS = {
    f"{family.name}-{dtype}": source(family.text, dtype)
    for family in FAMILIES
    for dtype in sorted({d for row in family.rows for d in row.dtypes})
}
# What a text for both must not have, and why.
FORBIDDEN = {
    r"__shfl|__ballot|__activemask|__any_sync|__all_sync|__syncwarp|__reduce_\w+_sync":
        "warps have 32 threads or 64, and masks of theirs as many bits",
    r"0x[fF]{8}(?:u|U)?\b": "a mask of 32 lanes",
    r"\bwarp": "warps have 32 threads or 64",
    r"(?:[/%]|>>|<<|&)\s*\(?(?:32|31|5)\b": "a warp of 32 lanes",
    r"\b(?:32|31)\b\s*[,;)]": "a warp of 32 lanes",
    r"#\s*include": "headers lie elsewhere",
    r"cooperative_groups|__nv_|\bhalf2?\b|__half|__nv_bfloat16": "NVIDIA's alone",
    r"atomic(?:Add|Max|CAS)": "the order of threads decides",
    r"if constexpr|\[\[nodiscard|std::|\bauto \[": "not of C++14 without a library",
}  # fmt: skip
PLANTS = (
    "a += __shfl_down_sync(0xffffffff, a, 1);", "unsigned all = 0xFFFFFFFFu;",
    "int lane = threadIdx.x % 32;", "int lane = threadIdx.x & 31;", "int w = threadIdx.x >> 5;",
    "__syncwarp();", "if (warpSize == 64) return;", "#include <cuda_fp16.h>", "__half h;",
    "atomicAdd(out, 1.0f);", "together(a, 32);", "if constexpr (true) {}",
)  # fmt: skip
def faults(text):
    """Why a text is not for both; reading float16, which has a part for each, aside."""
    text = re.sub(r"//.*", "", text.replace(FLOAT16, ""))
    return {why for pattern, why in FORBIDDEN.items() if re.search(pattern, text)}


@pytest.fixture(scope="module")
def nvrtc():
    try:
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except (ImportError, RuntimeError) as error:
        if os.environ.get("CI"):
            pytest.fail("CI installs cupy-cuda13x and nvidia-cuda-nvrtc")
        pytest.skip(f"NVRTC is not installed here ({error}; 2026-11-30: CI installs it)")
    return nvrtc


def compiled(nvrtc, text, architecture):
    program = nvrtc.createProgram(text, "kernels.cu", [], [])
    try:
        nvrtc.compileProgram(program, [f"--gpu-architecture={architecture}", *OPTIONS["cuda"]])
    except nvrtc.NVRTCError as error:
        raise ValueError(nvrtc.getProgramLog(program)) from error
    return nvrtc.getPTX(program).decode()


@pytest.mark.parametrize("name", TEXTS)
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    assembled = MACHINE_CODE if name.endswith(("float16", "-float32")) else ()
    for architecture in (*ARCHITECTURES, *assembled):
        ptx = compiled(nvrtc, TEXTS[name], architecture)
        assert set(re.findall(r"\.entry (\w+)", ptx)) == set(kernels_in(TEXTS[name]))


def test_nvrtc_refuses_a_planted_fault(nvrtc):
    text = TEXTS["softmax-float32"]
    with pytest.raises(ValueError, match="tpo"):
        compiled(nvrtc, text.replace("top = together", "tpo = together"), "compute_90")


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_for_hip_too(name):
    assert not faults(TEXTS[name])


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_violation_is_seen(plant):
    assert faults(TEXTS["softmax-float16"] + f"\nKERNEL k(float* out) {{ {plant} }}\n")
