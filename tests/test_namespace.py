"""polygrad as an array API namespace: signatures, inspection, one module for each device."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import subprocess
import sys

import array_api_compat
import array_api_strict as strict
import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import InvalidArgumentError
from polygrad.namespace import HIDDEN
from polygrad.registry import default_integer, find_device
from tests.devices import optional

# array_api_strict has the functions of the standard's 2025.12 revision, with its very signatures.
EXTENSIONS = ("", "linalg", "fft")
STANDARD = [
    (space, name)
    for space in EXTENSIONS
    for name in sorted((getattr(strict, space) if space else strict).__all__)
    if inspect.isfunction(getattr(getattr(strict, space) if space else strict, name))
    and not name.endswith("flags")
]
KINDS = inspect.Parameter


def part(namespace, space):
    return getattr(namespace, space) if space else namespace


# ---- signatures ---------------------------------------------------------------------------------
def mismatch(ours, standard):
    """What a caller who keeps to the standard could trip over, or an empty string."""
    left = dict(ours.parameters)
    for place, want in enumerate(standard.parameters.values()):
        if want.kind == KINDS.KEYWORD_ONLY:
            have = left.pop(want.name, None)
            fits = have and have.kind in (KINDS.KEYWORD_ONLY, KINDS.POSITIONAL_OR_KEYWORD)
        else:
            have = list(ours.parameters.values())[place]
            fits = have.kind == want.kind
            if want.kind == KINDS.POSITIONAL_OR_KEYWORD:
                fits = fits and have.name == want.name
            left.pop(have.name)
        if not fits:
            return f"{want} is {have}"
        plain = isinstance(want.default, (bool, int, float, str, type(None)))
        if plain and have.default != want.default:  # array_api_strict has sentinels too
            return f"the default of {want} is {have.default}"
    more = [p for p in left.values() if p.default is KINDS.empty]
    return f"required, and not in the standard: {more}" if more else ""


def test_the_standard_has_this_many_functions():
    assert len(STANDARD) == 173  # with __array_namespace_info__


@pytest.mark.parametrize(("space", "name"), STANDARD)
def test_signatures_are_the_standards(space, name):
    want = inspect.signature(getattr(part(strict, space), name))
    for namespace in (pg, pg.namespace("cpu")):
        have = inspect.signature(getattr(part(namespace, space), name))
        assert not mismatch(have, want), f"{have} for {want}"


@pytest.mark.parametrize(
    ("ours", "standard"),
    [
        (lambda x, /, *, axis=0: x, lambda x, /, axis=0: x),
        (lambda x, y, /: x, lambda x, /: x),
        (lambda x, /, *, keep=False: x, lambda x, /, *, keepdims=False: x),
        (lambda x, /, n: x, lambda x, /, num: x),
        (lambda x, /, *, axis=0: x, lambda x, /, *, axis=-1: x),
        (lambda x: x, lambda x, /: x),
    ],
)
def test_a_wrong_signature_is_found(ours, standard):
    assert mismatch(inspect.signature(ours), inspect.signature(standard))


NOT_STANDARD = {"annotations", "annotations_cache", "buffer", "dict", "firstlineno", "module",
                "static_attributes", "weakref"}  # fmt: skip
ATTRIBUTES = sorted(
    {n for n in vars(type(strict.ones(1))) if n.startswith("__")}
    - {f"__{n}__" for n in NOT_STANDARD}
    | {"to_device", "T", "mT", "device", "dtype", "ndim", "shape", "size"}
)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_tensors_have_the_standards_attributes(name):
    assert hasattr(pg.ones((1, 1)), name)


def test_the_methods_with_keywords_have_the_standards_signatures():
    array, t = strict.ones(1), pg.ones(1)
    for name in ("__dlpack__", "__dlpack_device__", "__array_namespace__"):
        have, want = (inspect.signature(getattr(x, name)) for x in (t, array))
        assert not mismatch(have, want), name
    assert t.to_device("strict:cpu", stream=None).device == "strict:cpu"
    with pytest.raises(InvalidArgumentError, match="argument stream"):
        t.to_device("cpu", stream=1)


def test_constants_and_the_version(device):
    xp = pg.namespace(device)
    assert xp.__array_api_version__ == pg.__array_api_version__ == "2024.12"
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (np.e, np.pi, np.inf, None)
    assert np.isnan(xp.nan)
    for name in strict.__array_namespace_info__().dtypes():
        assert getattr(xp, name) is getattr(pg, name)
        if name in xp.__array_namespace_info__().dtypes():
            assert xp.zeros(1, dtype=getattr(xp, name)).dtype == getattr(xp, name)


def test_names_that_mean_something_else_to_libraries_are_hidden_from_them():
    """SciPy writes `xp.put_along_axis(x, ...)` and goes on with x."""
    for name in HIDDEN:
        assert callable(getattr(pg, name))
        assert not hasattr(pg.namespace("cpu"), name)


# ---- one namespace for each device --------------------------------------------------------------
def test_a_tensors_namespace_is_its_devices_and_one_object(device):
    xp = pg.ones(2, device=device).__array_namespace__()
    assert xp is pg.namespace(device)
    assert {xp: 1}[pg.ones(1, device=device).__array_namespace__(api_version="2024.12")] == 1
    assert array_api_compat.array_namespace(pg.ones(1, device=device), 2.0) is xp
    assert xp.__name__ == "polygrad." + device.replace(":", "_")
    assert importlib.import_module(xp.__name__) is xp
    assert xp.__name__ != pg.namespace("strict:device2").__name__ != pg.__name__
    for ask in (array_api_compat.is_numpy_namespace, array_api_compat.is_torch_namespace):
        assert not ask(xp)
    with pytest.raises(InvalidArgumentError, match=r"1999\.12.*2024\.12"):
        pg.ones(1, device=device).__array_namespace__(api_version="1999.12")


def test_namespaces_and_their_functions_are_pickled_and_copied(device):
    xp = pg.namespace(device)
    for thing in (xp, xp.zeros, xp.add, xp.linalg.inv, xp.fft.fftfreq, xp.special.gamma):
        assert pickle.loads(pickle.dumps(thing)) is thing  # noqa: S301  made a moment ago
        assert copy.deepcopy(thing) is thing


@pytest.mark.parametrize("name", ["polygrad.cpu", "polygrad.strict_no_float64"])
def test_another_process_reads_the_pickle(name):
    xp = importlib.import_module(name)
    script = (
        "import pickle, sys\n"
        "gamma, xp, zeros, fftfreq = pickle.loads(sys.stdin.buffer.read())\n"
        "print(xp.__name__, zeros(2).device, fftfreq(2).device, gamma(1.0).device)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True,
        input=pickle.dumps((xp.special.gamma, xp, xp.zeros, xp.fft.fftfreq)),
    )  # fmt: skip
    device = xp.__array_namespace_info__().default_device()
    assert run.stdout.decode().split() == [name, *[device.name] * 3]


def test_modules_that_are_no_device_are_not_found():
    for name in ("polygrad.abacus", "polygrad.cpu_7", "polygrad.strict"):
        with pytest.raises(ModuleNotFoundError, match=name):
            importlib.import_module(name)


def test_what_is_made_without_a_device_is_made_on_the_namespaces(device):
    xp = pg.namespace(device)
    made = {
        "zeros": xp.zeros(2), "asarray": xp.asarray([1.0]), "a number": xp.asarray(1),
        "NumPy's array": xp.asarray(np.arange(2, dtype="f4")), "sqrt": xp.sqrt(4),
        "add": xp.add(1, 2), "where": xp.where(True, 1, 2),
        "fftfreq": xp.fft.fftfreq(3), "stack": xp.stack([xp.ones(1)]),
    }  # fmt: skip
    assert {name for name, t in made.items() if t.device != device} == set()
    assert xp.zeros(2, device="cpu").device == "cpu"
    there = pg.ones(2, device="strict:device2")
    assert xp.zeros_like(there).device == xp.asarray(there).device == "strict:device2"
    assert pg.zeros(1).device == "cpu"


def test_what_belongs_to_no_device_is_polygrads():
    xp = pg.namespace("cpu")
    assert xp.Tensor is pg.Tensor
    assert xp.nn is pg.nn
    assert xp.float16 == np.float16
    assert xp.bfloat16.name == "bfloat16"
    assert not hasattr(xp, "nonsense")
    assert not hasattr(xp, "__wrapped__")
    with pytest.raises(AttributeError, match=r"pg\.concat"):
        _ = xp.cat


# ---- inspection ---------------------------------------------------------------------------------
def test_info_of_devices_and_default_dtypes(device):
    xp = pg.namespace(device)
    info = xp.__array_namespace_info__()
    assert info.default_device() == device
    assert isinstance(info.devices(), list)
    for place in info.devices():
        whole = default_integer(place)
        assert info.default_dtypes(device=place) == {
            "real floating": pg.float32, "complex floating": pg.complex64, "integral": whole,
            "indexing": whole,
        }  # fmt: skip
    found = info.default_dtypes()
    assert xp.ones(1).dtype == found["real floating"]
    assert xp.asarray(1j).dtype == found["complex floating"]
    assert xp.arange(3).dtype == found["integral"]
    x = xp.ones(3)
    indices = [
        xp.argmax(x), xp.argmin(x), xp.argsort(x), *xp.nonzero(x), xp.searchsorted(x, x),
        xp.count_nonzero(x), *xp.unique_all(x)[1:],
    ]  # fmt: skip
    assert {i.dtype for i in indices} == {found["indexing"]}


def test_info_follows_the_defaults():
    info = pg.__array_namespace_info__()
    pg.set_default_dtype(pg.float64)
    assert info.default_dtypes()["complex floating"] == pg.complex128
    assert info.default_device() == "cpu"
    pg.set_default_device("strict:device1")
    assert info.default_device() == "strict:device1"
    assert find_device("strict:no_x64") in info.devices()


def test_info_of_dtypes_is_what_the_device_has(device):
    xp = pg.namespace(device)
    info = xp.__array_namespace_info__()
    kinds = ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")
    every = info.dtypes()
    assert {n: d for kind in kinds for n, d in info.dtypes(kind=kind).items()} == every
    for name, dtype in every.items():
        assert xp.zeros(1, dtype=dtype).dtype == dtype
        for kind in kinds:
            assert (name in info.dtypes(kind=kind)) is pg.isdtype(dtype, kind)
    assert info.dtypes(kind=kinds[1:3]) == info.dtypes(kind="integral")
    assert info.dtypes(kind=kinds[1:]) == info.dtypes(kind="numeric")
    assert ("float64" in info.dtypes(device="strict:no_float64")) is False
    with pytest.raises(InvalidArgumentError, match=r"fractional.*real floating"):
        info.dtypes(kind="fractional")


@pytest.mark.parametrize(
    ("device", "library"),
    [("cpu", "numpy"), ("strict:cpu", "array_api_strict"), ("sycl:cpu:0", "dpnp")],
)
def test_capabilities_agree_with_what_the_library_says(device, library):
    library = optional(library)
    have = pg.namespace(device).__array_namespace_info__().capabilities()
    assert have == library.__array_namespace_info__().capabilities()


# ---- what consumers use beyond the standard ------------------------------------------------------
def test_numbers_where_tensors_go(device):
    xp = pg.namespace(device)
    assert xp.real(0).item() == 0
    assert xp.abs(-2.5).item() == 2.5
    assert xp.exp(0).dtype == pg.float32
    assert xp.isnan(float("nan")).item()
    assert xp.maximum(1, 2).item() == 2
    assert xp.clip(3, 0, 1).item() == 1
    x = xp.asarray([1.0, 2.0, 4.0])
    assert xp.where(x > 1, 0, x).tolist() == [1, 0, 0]
    assert (np.float64(2) * x).dtype == pg.float32


def test_arguments_by_position_and_names_of_numpy(device):
    x = pg.tensor([[1.0, 2.0, 4.0]], device=device)
    assert pg.diff(x, 2).tolist() == pg.diff(x, n=2).tolist() == [[1.0]]
    assert [i.tolist() for i in pg.where(x > 1)] == [[0, 0], [1, 2]]
    assert x.sum(0).tolist() == pg.sum(x, 0).tolist() == x.sum(axis=0).tolist() == [1, 2, 4]
    assert x.argmax(1).tolist() == [2]
    assert pg.concat([x, x], 1).shape == (1, 6)
    assert x.squeeze().shape == (3,)
    for name in ("var", "std"):
        want = getattr(np, name)([1.0, 2.0, 4.0], ddof=1)
        for made in (getattr(x, name)(1, ddof=1), getattr(pg, name)(x, correction=1)):
            assert made.tolist() == pytest.approx(want if not made.ndim else [want])
    assert pg.logspace(0, 2, 3, device=device).tolist() == [1, 10, 100]
    assert f"{x[0, 2]:.1f} {x[0, 1]}" == "4.0 2.0"


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin"]
)
def test_numpys_reductions_of_a_tensor_stay_on_the_tape(name):
    host = np.arange(1.0, 7).reshape(2, 3)
    x = pg.tensor(host, requires_grad=True)
    function = getattr(np, name)
    for keywords in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}):
        made = function(x, **keywords)
        assert isinstance(made, pg.Tensor)
        assert made.requires_grad is (name not in ("any", "all", "argmax", "argmin"))
        np.testing.assert_allclose(made.detach().numpy(), function(host, **keywords))
    if name in ("sum", "mean", "std"):
        assert function(x, dtype=np.float32).dtype == pg.float32
    with pytest.raises(InvalidArgumentError, match=f"{name}, argument out"):
        getattr(x, name)(out=host)


def test_integers_of_several_widths_in_place():
    x = pg.ones(2, dtype=pg.int32)
    x += pg.ones(2, dtype=pg.int64)
    assert (x.dtype, x.tolist()) == (pg.int32, [2, 2])
