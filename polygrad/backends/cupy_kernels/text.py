"""The text in front of every kernel: dtypes, and how the threads of a block share out rows.

Note [One text for CUDA and HIP]
--------------------------------
Kernels are C++14 that NVRTC and hipRTC take alike, and any C++ compiler behind a few macros. So
there are no masks of a warp's lanes, no shuffles and no number 32: threads meet in shared memory.
There are no atomic operations either, so that a result does not depend on the order of threads.
No header is included. Half precisions are pairs of bytes that are read into float32, computed with
and written back; what converts float16 is an instruction of the GPU where its name is known, and
integer arithmetic with the same results elsewhere. Products and sums are not contracted (see
`OPTIONS` in `launcher.py`): the same operations in the same order give the same bits as NumPy.

What a kernel can count on, for its dtype: `T`, which memory holds; `A`, which is computed with;
`wide` and `narrow` from one to the other.

Note [Rows]
-----------
A reduction is over the rows of an array, whichever its axes are (`Rows` in `layout.py`). `lanes`
threads, a power of two, walk along one row, in steps of `lanes`; their results meet in a tree. The
order of a sum depends on the shape alone.
"""

from __future__ import annotations

__all__ = ["COMPLEX", "FLOAT16", "INTEGERS", "NUMBERS", "REALS", "source", "wide_name"]

REALS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*REALS, *INTEGERS)

_SAME = "D A wide(T x) { return x; }\nD T narrow(A a) { return a; }\n"

FLOAT16 = r"""
struct T { unsigned short bits; };
typedef float A;
D A wide(T x) {
#if defined(__CUDA_ARCH__)
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
    return f;
#elif defined(__HIPCC__) || defined(__HIPCC_RTC__)
    _Float16 h;
    __builtin_memcpy(&h, &x, sizeof h);
    return h;
#else
    unsigned sign = (x.bits & 0x8000u) << 16, exponent = x.bits >> 10 & 31, rest = x.bits & 1023;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | rest << 13);
    if (exponent) return __uint_as_float(sign | (exponent + 112) << 23 | rest << 13);
    return (sign ? -1.0f : 1.0f) * (rest * (1.0f / 16777216));
#endif
}
D T narrow(A a) {
    T made;
#if defined(__CUDA_ARCH__)
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(made.bits) : "f"(a));
#elif defined(__HIPCC__) || defined(__HIPCC_RTC__)
    _Float16 h = a;
    __builtin_memcpy(&made, &h, sizeof h);
#else
    unsigned all = __float_as_uint(a), sign = all >> 16 & 0x8000u, size = all & 0x7fffffffu;
    if (size > 0x7f800000u) made.bits = sign | 0x7e00u;
    else if (size >= 0x477ff000u) made.bits = sign | 0x7c00u;
    else if (size < 0x38800000u) made.bits = sign | (unsigned)rint(fabs(a) * 16777216.0f);
    else made.bits = sign | (size + 0xfffu + (size >> 13 & 1) - 0x38000000u) >> 13;
#endif
    return made;
}
"""
_BRAIN = r"""
struct T { unsigned short bits; };
typedef float A;
D A wide(T x) { return __uint_as_float((unsigned)x.bits << 16); }
D T narrow(A a) {
    unsigned all = __float_as_uint(a);
    T made;
    made.bits = a != a ? all >> 16 | 64 : (all + 0x7fffu + (all >> 16 & 1)) >> 16;
    return made;
}
"""
_COMPLEX = r"""
struct T {{ {0} real, imag; }};
typedef T A;
D T operator+(T a, T b) {{ T c = {{a.real + b.real, a.imag + b.imag}}; return c; }}
"""
_C_NAMES = {
    "float32": "float", "float64": "double", "int8": "signed char", "int16": "short",
    "int32": "int", "int64": "long long", "uint8": "unsigned char", "uint16": "unsigned short",
    "uint32": "unsigned int", "uint64": "unsigned long long",
}  # fmt: skip
_TYPES = {
    "float16": FLOAT16,
    "bfloat16": _BRAIN,
    "complex64": _COMPLEX.format("float") + _SAME,
    "complex128": _COMPLEX.format("double") + _SAME,
    # A sum of booleans is whether any of them is true.
    "bool": "typedef bool T;\ntypedef unsigned int A;\nD A wide(T x) { return x; }\n"
            "D T narrow(A a) { return a != 0; }\n",
    **{name: f"typedef {c} T;\ntypedef {c} A;\n{_SAME}" for name, c in _C_NAMES.items()},
}
_LARGEST = {
    "float16": "65504", "bfloat16": "3.3895313892515355e38",
    "float32": "3.4028234663852886e38", "float64": "1.7976931348623157e308",
}  # fmt: skip

_START = r"""
typedef long long I;
#define D __device__ inline
#define KERNEL extern "C" __global__ void
#define INF __uint_as_float(0x7f800000u)
"""

_ROWS = r"""
#define BLOCK 512
#define ROWS I groups, I g2, I t1, I t2, I n, I n2, I s1, I s2, I lanes, I step
#define ROW groups, g2, t1, t2, n, n2, s1, s2, lanes, step

struct Row { I group, base, s1, s2; unsigned n, n2, lane, lanes, step; bool first; };

D Row row(ROWS) {
    unsigned t = threadIdx.x;
    unsigned lane = step == 1 ? t % lanes : t / step, which = step == 1 ? t / lanes : t % step;
    Row r;
    r.group = (I)blockIdx.x * (blockDim.x / lanes) + which;
    bool inside = r.group < groups;
    r.base = r.group / g2 * t1 + r.group % g2 * t2;
    r.s1 = s1, r.s2 = s2, r.n = inside ? n : 0, r.n2 = n2;
    r.lane = lane, r.lanes = lanes, r.step = step, r.first = inside && lane == 0;
    return r;
}

// Where element j of the row is.
D I place(const Row& r, unsigned j) {
    if (r.n2 == r.n) return r.base + j * r.s2;
    unsigned outer = j / r.n2;
    return r.base + outer * r.s1 + (j - outer * r.n2) * r.s2;
}

#define EACH(j) for (unsigned j = r.lane; j < r.n; j += r.lanes)

struct Sum { D A operator()(A a, A b) const { return a + b; } };
struct Max { D A operator()(A a, A b) const { return a > b || a != a ? a : b; } };

// What all lanes of a row have, together; every thread of the block must come here.
template <class Op> D A together(const Row& r, A a, A* shared, Op op) {
    unsigned t = threadIdx.x;
    shared[t] = a;
    __syncthreads();
    for (unsigned apart = r.lanes / 2; apart; apart /= 2) {
        if (r.lane < apart) shared[t] = op(shared[t], shared[t + apart * r.step]);
        __syncthreads();
    }
    A found = shared[t - r.lane * r.step];
    __syncthreads();
    return found;
}
"""


def source(text: str, dtype: str) -> str:
    """What is compiled for one dtype: types, rows where they are used, then the kernels."""
    # What is less than every number; of integers, that which is looked at first.
    lowest = "#define LOWEST -INF\n" if dtype in REALS else "#define LOWEST 0\n"
    largest = f"#define LARGEST {_LARGEST[dtype]}\n" if dtype in _LARGEST else ""
    return _START + _TYPES[dtype] + lowest + largest + (_ROWS if "ROWS" in text else "") + text


def wide_name(dtype: str) -> str:
    """The dtype that real numbers of `dtype` are computed in: A of its kernels."""
    return "float32" if dtype in REALS[:2] else dtype
