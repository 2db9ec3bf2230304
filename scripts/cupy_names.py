"""Check the names and signatures that polygrad uses of CuPy against each of its wheels.

    python scripts/cupy_names.py [--folder .cache/cupy-names] [--offline] [WHEEL ...]

CuPy comes in wheels that exclude one another, for CUDA 12, CUDA 13 and ROCm, and only one of them
can be installed. So each is unpacked into a folder of its own, and tests/test_cupy_names.py runs on
it in a child process. None needs a GPU to be imported. The ROCm wheel is linked against libraries
of a ROCm installation: where there is none, stand-ins with the same symbols are made by the C
compiler, whose functions do nothing; they suffice to import it, and nothing is called.

Exit status: 0 when every wheel was checked and passed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEELS = ("cupy-cuda12x", "cupy-cuda13x", "cupy-rocm-7-0")
SHARED = ("cuda-pathfinder",)  # what CuPy itself imports
SYSTEM = re.compile(r"lib(c|m|pthread|dl|rt|gcc_s|stdc\+\+)\.so")
SYSTEM_VERSIONS = ("GLIBC", "CXXABI", "GCC_")
TESTS = "tests/test_cupy_names.py"


def fetch(package: str, wheels: Path, *, offline: bool) -> Path:
    """The wheel of a package, downloaded if it is not in the folder."""
    pattern = f"{package.replace('-', '_')}-*.whl"
    if not any(wheels.glob(pattern)) and not offline:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                   "--disable-pip-version-check", "--dest", str(wheels), package]  # fmt: skip
        subprocess.run(command, check=True)
    found = sorted(wheels.glob(pattern))
    if not found:
        sys.exit(f"there is no {pattern} in {wheels}: leave out --offline, or put it there")
    return found[-1]


def unpack(wheel: Path, folder: Path) -> Path:
    """The wheel's content in a folder of its own."""
    place = folder / wheel.stem
    if not place.exists():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(f"{place}.part")
        Path(f"{place}.part").rename(place)
    return place


def needs(library: Path) -> tuple[set[str], dict[str, str]]:
    """The libraries that an extension module is linked with, and its foreign symbols' versions."""
    read = lambda *options: subprocess.run(
        ["readelf", "--wide", *options, str(library)],  # noqa: S607  the one on the path
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", read("--dynamic")))
    symbols = re.findall(r" UND (\w+)(?:@(\w[\w.]*))?", read("--dyn-syms"))
    return needed, {
        name: version for name, version in symbols
        if (version or not name.startswith(("Py", "_"))) and not version.startswith(SYSTEM_VERSIONS)
    }  # fmt: skip


def make_stubs(wheel: Path, folder: Path) -> Path:
    """Libraries with the names and symbols that the wheel wants and this machine has not."""
    folder.mkdir(exist_ok=True)
    libraries: set[str] = set()
    versions: dict[str, set[str]] = defaultdict(set)
    for extension in wheel.rglob("*.so"):
        needed, symbols = needs(extension)
        libraries |= {name for name in needed if not SYSTEM.match(name)}
        for name, version in symbols.items():
            versions[version].add(name)
    names = sorted(set().union(*versions.values()))
    source, script = folder / "stub.c", folder / "stub.map"
    # Every call fails; those that say why return text.
    source.write_text(
        "".join(
            f'const char *{name}(void) {{ return "a stand-in"; }}\n' if "Error" in name
            else f"int {name}(void) {{ return 1; }}\n"
            for name in names
        )
    )  # fmt: skip
    script.write_text(
        "".join(
            f"{version} {{ {' '.join(f'{n};' for n in sorted(held))} }};\n"
            for version, held in versions.items() if version
        )
    )  # fmt: skip
    for library in sorted(libraries):
        if not (folder / library).exists():
            command = ["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{library}",
                       f"-Wl,--version-script={script}", "-o", str(folder / library), str(source)]
            subprocess.run(command, check=True)  # fmt: skip
    return folder


def missing_tools() -> list[str]:
    """What stand-ins are made with, and is not here."""
    return [tool for tool in ("gcc", "readelf") if shutil.which(tool) is None]


def check(package: str, arguments: argparse.Namespace) -> bool:
    """Run the tests of names on one wheel; whether they passed."""
    folder = arguments.folder.resolve()
    wheels = folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    wheel = unpack(fetch(package, wheels, offline=arguments.offline), folder)
    paths = [str(wheel), str(ROOT), str(ROOT / "conformance")]
    paths += [str(unpack(fetch(p, wheels, offline=arguments.offline), folder)) for p in SHARED]
    environment = {**os.environ, "POLYGRAD_CUPY_WHEEL": str(wheel), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    if "rocm" in package and not Path(os.environ.get("ROCM_HOME", "/opt/rocm")).is_dir():
        if lacking := missing_tools():
            print(f"{package}: NOT CHECKED, {' and '.join(lacking)} is not here")
            return False
        stubs = make_stubs(wheel, folder / "rocm-stubs")
        environment["LD_LIBRARY_PATH"] = str(stubs)
    # The wheel is not the one that is installed, if one is: CuPy sees both, and warns of that.
    command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore::UserWarning:cupy._environment",
               TESTS]  # fmt: skip
    run = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    print(f"{wheel.name}: {'every name is there' if run.returncode == 0 else 'FAILED'}", flush=True)
    return run.returncode == 0


def main() -> int:
    """Check all wheels, or those that were named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", metavar="WHEEL", help=f"of {', '.join(WHEELS)}")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "cupy-names",
                        help="where wheels are kept and unpacked (%(default)s)")  # fmt: skip
    parser.add_argument("--offline", action="store_true", help="download nothing")
    arguments = parser.parse_args()
    results = [check(package, arguments) for package in arguments.packages or WHEELS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
