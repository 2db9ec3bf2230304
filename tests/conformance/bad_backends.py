"""Backends with one fault each, as the text of modules: see test_bad_backends.py."""

from __future__ import annotations

__all__ = ["FAULTS", "MODULES", "POINTS"]

# Each class has the fault of its name; those that cannot be loaded have a module of their own.
FAULTS = """
import os
import time

import numpy as np
from polygrad.device import Device
from polygrad_toy import Backend, library


class Crashes(Backend):
    def __init__(self):
        super().__init__()
        self.kernel("exp")(lambda x: os.abort())


class Exits(Backend):
    def __init__(self):
        super().__init__()
        self.kernel("exp")(lambda x: os._exit(0))


class Hangs(Backend):
    def __init__(self):
        super().__init__()
        self.kernel("exp")(lambda x: time.sleep(600))


class Quits(Backend):
    def __init__(self):
        super().__init__()
        self.kernel("exp")(lambda x: exit("enough"))


class Wedges(Backend):
    # Once it has crashed, the device cannot be opened again.
    def __init__(self):
        super().__init__()
        if os.path.exists("wedged"):
            raise OSError("the device is lost: reset it")
        self.kernel("exp")(self.crash)

    def crash(self, x):
        open("wedged", "w").close()
        os.abort()


class WideResults(Backend):
    def __init__(self):
        super().__init__()
        self.kernel("exp")(self.wide)

    def wide(self, x):
        made = library.exp(x)
        made._values = made._values.astype("float64")
        return made


class WideTransfers(Backend):
    def from_numpy(self, array, device):
        made = super().from_numpy(array, device)
        if array.dtype == np.float32:
            made._values = made._values.astype("float64")
        return made


class HalfClaimed(Backend):
    def supports(self, dtype, device):
        return dtype == np.float16 or super().supports(dtype, device)


class HostResults(Backend):
    def __init__(self):
        super().__init__()
        self.kernel("exp")(lambda x: np.exp(library.download(x)))


class HostTransfers(Backend):
    def from_numpy(self, array, device):
        return np.array(array)


class OwnDtypes(Backend):
    def dtype_of(self, array):
        return array.dtype.name


class NamedOtherwise(Backend):
    # Sound: the library's dtypes are objects, and neither is called what NumPy's is.
    def __init__(self):
        super().__init__()
        library.Array.dtype = property(lambda array: ("own", array._values.dtype.num))

    def dtype_of(self, array):
        return array._values.dtype

    def native_dtype(self, dtype):
        return {known: known for known in library.DTYPES}[dtype]


class Keys(Backend):
    # The arrays are refused some keys; which, the classes that follow say.
    refuses = staticmethod(lambda part: False)
    words = ""

    def __init__(self):
        super().__init__()
        plain = library.Array.__getitem__

        def getitem(array, key):
            if any(map(self.refuses, key if isinstance(key, tuple) else (key,))):
                raise self.error(self.words)
            return plain(array, key)

        library.Array.__getitem__ = getitem


class ForwardSlices(Keys):
    refuses = staticmethod(lambda part: isinstance(part, slice) and (part.step or 1) < 0)
    error, words = ValueError, "step must be greater than zero"


class NarrowIndices(Keys):
    refuses = staticmethod(lambda part: isinstance(part, library.Array))
    error, words = IndexError, "tensors used as indices must be long"


class ReadOnly(Backend):
    def __init__(self):
        super().__init__()
        del library.Array.__setitem__


class WithoutSign(Backend):
    def __init__(self):
        super().__init__()
        self.kernel("sign")(self.missing)
        self.kernel("take_along_axis")(self.missing)
        self.kernel("take")(self.vectors)

    def missing(self, *operands, **keywords):
        raise NotImplementedError('"sign_chip" not implemented for Float')

    def vectors(self, *operands, **keywords):
        raise IndexError("index is supposed to be a vector")


class IdleKernels(Backend):
    def __init__(self):
        super().__init__()
        for name in ("take", "adam_step_", "gather", "take_along_axes"):  # two that are called
            self.kernel(name)(getattr(library, "take"))


class RaisesBelow(Backend):
    def __init__(self):
        super().__init__()
        self.kernel("exp")(outer)


def outer(x):
    return inner(x)


def inner(x):
    raise ValueError("no such thing")


class DeviceTransfers(Backend):
    def to_numpy(self, array):
        return array


class Shares(Backend):
    def from_numpy(self, array, device):
        return library.Array(array, self.native_device(device))


class NoDevices(Backend):
    def devices(self):
        return []


class NoSuchDevice(Backend):
    def device_of(self, array):
        return "elsewhere:0"


class DevicesRaise(Backend):
    def devices(self):
        raise OSError("libchip.so: the driver is older than the library")


class DescribeRaises(Backend):
    def describe(self, device):
        raise OSError("no such file: /sys/class/chip/version")


class Problem(Backend):
    @classmethod
    def problem(cls):
        return "the driver is not loaded"


class Unfinished(Backend):
    from_numpy = Backend.__mro__[1].from_numpy
    __abstractmethods__ = frozenset({"from_numpy"})


class Nameless(Backend.__mro__[1]):
    array_types = xp = None
    devices = device_of = from_numpy = to_numpy = None


class WrongCapabilities(Backend):
    capabilities = {"writeable": True}


class OneKind(Backend):
    device_kinds = ("toy")


class Good(Backend):
    name = "good"
    device_kinds = ("good",)

    def devices(self):
        return [Device("good:0")]

    def native_device(self, device):
        return library.DEVICES[0]

    def device_of(self, array):
        return Device("good:0")


class NoBackend:
    name = "toy"


def a_function():
    return 3


class Chatters(Backend):
    def __init__(self):
        super().__init__()
        print('{"result": "chatter on standard output"}', flush=True)
        os.write(1, b"more of it\\n")


class Plain(Backend):
    pass
"""
MODULES = {
    "raises_at_import.py": "raise OSError('libchip.so: cannot open shared object file')\n",
    "wrong_syntax.py": "class Backend(\n",
    "exits_at_import.py": "import sys\nsys.exit(5)\n",
    "aborts_at_import.py": "import os\nos.abort()\n",
    "hangs_at_import.py": "import time\ntime.sleep(600)\n",
    "not_installed.py": (
        "from polygrad_toy import Backend as Toy\n\n\nclass Backend(Toy):\n"
        "    name = 'absent'\n    libraries = ('chiplib',)\n    install = 'pip install chiplib'\n"
    ),
}
POINTS = """
[project]
name = "polygrad-bad"
version = "1.0"
[project.entry-points."polygrad.backends"]
raises = "raises_at_import:Backend"
syntax = "wrong_syntax:Backend"
nomodule = "no_such_module:Backend"
noclass = "faults:Backends"
nocolon = "faults"
nobackend = "faults:NoBackend"
function = "faults:a_function"
absent = "not_installed:Backend"
misnamed = "faults:Plain"
exits = "exits_at_import:Backend"
good = "faults:Good"
"""
