"""What `pip install ./python` and `make install` give."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Iterator

import pytest

import brig

SOURCE = Path(__file__).resolve().parents[1]
TREE = SOURCE.parent
RELEASE = TREE / "build" / "release"
USE = """
import brig, brig._native
def add(a: int, b: int) -> int:
    return a + b
if __name__ == "__main__":
    with brig.Sandbox([add]) as box:
        answer = box.call_sync("add", {"a": 2, "b": 3}).output
        print(brig.__file__, brig._native.library()._name, answer)
"""


def load_backend(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("build_backend", folder / "build_backend.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def backend() -> Any:
    return load_backend(SOURCE)


def run(*words: object, **environment: str) -> str:
    """Its output. Without the path of these tests: only what is installed may be found."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in words],
        env={**clean, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def use(python: object, folder: Path, **environment: str) -> tuple[Path, Path]:
    """Where a script found the package and the library; it has called a tool by them."""
    script = folder / "use.py"
    script.write_text(USE)
    package, library, answer = run(python, script, **environment).split()
    assert answer == "5"
    return Path(package), Path(library)


def source_without_library(folder: Path) -> Path:
    """A copy of the package's sources alone, as in an sdist."""
    copy = folder / "alone"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "tests", ".*"))
    return copy


# --- the sources ---


def test_the_version_is_that_of_the_header() -> None:
    header = (TREE / "include" / "brig" / "version.h").read_text()
    assert re.findall(r'"(.*)"', header) == [brig.__version__]


def test_every_file_of_the_package_is_in_the_list(backend: Any) -> None:
    there = {path for path in (SOURCE / "brig").rglob("*") if path.suffix in (".py", ".typed")}
    assert {SOURCE / name for name in backend._package_files()} == there


# --- wheel and sdist ---


def test_a_wheel_lists_each_of_its_files_with_its_hash(backend: Any, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / backend.build_wheel(str(tmp_path))) as wheel:
        about = f"brig-{brig.__version__}.dist-info"
        rows = list(csv.reader(io.StringIO(wheel.read(f"{about}/RECORD").decode())))
        assert rows.pop() == [f"{about}/RECORD", "", ""]
        assert [name for name, _, _ in rows] == wheel.namelist()[:-1]
        for name, digest, size in rows:
            data = wheel.read(name)
            coded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert (digest, size) == (f"sha256={coded}", str(len(data)))


@pytest.mark.skipif(not RELEASE.exists(), reason="there is no release build")
def test_a_wheel_carries_the_built_library(backend: Any, tmp_path: Path) -> None:
    name = backend.build_wheel(str(tmp_path))
    assert name.endswith(f"-py3-none-linux_{os.uname().machine}.whl")
    with zipfile.ZipFile(tmp_path / name) as wheel:
        assert wheel.read("brig/_lib/libbrig.so.0") == (RELEASE / "lib/libbrig.so.0").read_bytes()


def test_a_wheel_carries_the_libraries_that_it_is_given(backend: Any, tmp_path: Path) -> None:
    for folder, name in (
        ("libraries", "libbrig.so.0"), ("libraries", "libre2.so.9"), ("licenses", "libre2-9")
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(name)
    settings = {"platform": "manylinux_2_35_x86_64"}
    settings.update((folder, str(tmp_path / folder)) for folder in ("libraries", "licenses"))
    name = backend.build_wheel(str(tmp_path), settings)
    assert name == f"brig-{brig.__version__}-py3-none-manylinux_2_35_x86_64.whl"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        carried = [each for each in wheel.namelist() if "/_lib/" in each]
        assert carried == ["brig/_lib/libbrig.so.0", "brig/_lib/libre2.so.9"]
        about = f"brig-{brig.__version__}.dist-info"
        assert wheel.read(f"{about}/licenses/libre2-9") == b"libre2-9"
        assert b"\nTag: py3-none-manylinux_2_35_x86_64\n" in wheel.read(f"{about}/WHEEL")


def test_a_wheel_without_a_library_is_for_any_machine(tmp_path: Path) -> None:
    backend = load_backend(source_without_library(tmp_path))
    name = backend.build_wheel(str(tmp_path))
    assert name == f"brig-{brig.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        assert not [each for each in wheel.namelist() if "_lib" in each]


@pytest.mark.parametrize("build", ["build_wheel", "build_sdist", "build_editable"])
def test_an_archive_is_the_same_each_time(backend: Any, build: str, tmp_path: Path) -> None:
    made = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        made.append((folder / getattr(backend, build)(str(folder))).read_bytes())
    assert made[0] == made[1]


def test_an_sdist_builds_the_same_wheel(backend: Any, tmp_path: Path) -> None:
    name = backend.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as sdist:
        sdist.extractall(tmp_path)
    unpacked = load_backend(tmp_path / name[: -len(".tar.gz")])
    with zipfile.ZipFile(tmp_path / unpacked.build_wheel(str(tmp_path))) as wheel:
        package = [each for each in wheel.namelist() if each.startswith("brig/")]
        assert package == backend._package_files()
        assert f"brig-{brig.__version__}.dist-info/LICENSE" in wheel.namelist()


def test_building_writes_nothing_into_the_source(tmp_path: Path) -> None:
    source, out = source_without_library(tmp_path), tmp_path / "out"
    out.mkdir()
    backend = load_backend(source)
    before = sorted(source.rglob("*"))
    for build in (backend.build_wheel, backend.build_sdist, backend.build_editable):
        assert (out / build(str(out))).exists()
    assert sorted(source.rglob("*")) == before


# --- pip ---


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Path]:
    """A virtual environment with nothing in it, not even setuptools."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not there")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    yield tmp_path / "venv"


@pytest.mark.skipif(not RELEASE.exists(), reason="there is no release build")
@pytest.mark.parametrize("option", ["--build-isolation", "--no-build-isolation"])
def test_pip_installs_it_with_no_index(option: str, environment: Path, tmp_path: Path) -> None:
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python]
    isolation = [] if option == "--build-isolation" else [option]
    run(*pip, "install", *isolation, SOURCE)
    package, library = use(python, tmp_path)
    assert environment in package.parents and library == package.parent / "_lib" / "libbrig.so.0"
    run(*pip, "uninstall", "-y", "brig")
    assert not list(environment.rglob("*brig*"))


@pytest.mark.skipif(not RELEASE.exists(), reason="there is no release build")
def test_pip_installs_it_editable(environment: Path, tmp_path: Path) -> None:
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-e", SOURCE)
    package, library = use(python, tmp_path)
    assert package == SOURCE / "brig" / "__init__.py" and RELEASE in library.parents


# --- make install ---


def cmake_install(prefix: object, **environment: str) -> str:
    if not (RELEASE / "cmake_install.cmake").exists() or shutil.which("cmake") is None:
        pytest.skip("CMake or its release build is not there")
    return run("cmake", "--install", RELEASE, "--prefix", prefix, **environment)


def test_make_install_puts_package_and_library_below_the_prefix(tmp_path: Path) -> None:
    cmake_install(tmp_path / "prefix")
    place = tmp_path / "prefix" / "lib" / "python3" / "dist-packages"
    package, library = use(sys.executable, tmp_path, PYTHONPATH=str(place))
    assert package == place / "brig" / "__init__.py"
    assert library.parent == tmp_path / "prefix" / "lib"


def test_make_install_puts_the_package_where_the_systems_python_looks(tmp_path: Path) -> None:
    cmake_install("/usr/local", DESTDIR=str(tmp_path))
    ask = "import site; print(*site.getsitepackages())"
    places = run("/usr/bin/python3", "-c", ask).split()
    found = [place for place in places if (tmp_path / place.lstrip("/") / "brig").is_dir()]
    assert found and found[0].startswith("/usr/local/lib/")
