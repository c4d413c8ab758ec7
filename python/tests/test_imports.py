"""The scratch space that modules have while they are imported: theirs alone, small, and gone before
the first call."""

from __future__ import annotations

import os
import tempfile
import textwrap
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from conftest import needs_open_interpreter

import brig

Imported = Callable[..., brig.Sandbox]
HOME = "/home/of-a-test"  # not this machine's, so that what is found there is the cell's


@pytest.fixture
def imported(tmp_path: Path, sandbox: Callable[..., brig.Sandbox]) -> Imported:
    """A sandbox with a module's marked tools. Nothing of the module runs here, on the host."""
    tmp_path.chmod(0o755)  # pytest's own directories are its user's alone

    def make(text: str, where: Path = tmp_path, **policy: Any) -> brig.Sandbox:
        (where / "made_to_be_imported.py").write_text("import brig, os\n" + textwrap.dedent(text))
        return sandbox(modules=["made_to_be_imported"], paths=[str(where)], policy=policy)

    return make


def output_of(box: brig.Sandbox, tool: str, **arguments: Any) -> Any:
    result = box.call_sync(tool, arguments)
    assert result.ok, result.error
    return result.output


WRITES = """
    PLACES = ["/tmp", "/dev/shm", os.environ["HOME"], "/workspace"]
    READ = []
    for place in PLACES:
        os.mkdir(place + "/made-at-import")
        with open(place + "/made-at-import/file", "w") as file:
            file.write("kept")
        with open(place + "/made-at-import/file") as file:
            READ.append(file.read())
    HELD = open("/tmp/made-at-import/file")
    os.chdir("/tmp/made-at-import")

    @brig.tool
    def look(leave: str) -> dict:
        found, here = {place: os.listdir(place) for place in PLACES}, os.listdir(".")
        for place in PLACES:
            open(place + "/" + leave, "w").close()
        try:
            held = HELD.read()
        except OSError:
            held = None
        with open("/proc/self/mountinfo") as file:
            mounts = [line.split()[4] for line in file]
        return {"read": READ, "found": found, "held": held, "here": here, "mounts": mounts}
"""


def test_what_a_module_writes_at_import_is_in_no_cell(imported: Imported, tmp_path: Path) -> None:
    box = imported(WRITES, environment={"set": {"HOME": HOME}})
    for name in ("first", "second", "third"):
        told = output_of(box, "look", leave=name)
        assert told["read"] == ["kept"] * 4
        for place, found in told["found"].items():
            # Empty, but for the way to the module itself, if it lies there.
            way = [tmp_path.relative_to(place).parts[0]] if tmp_path.is_relative_to(place) else []
            assert found == way, place
        assert told["held"] is None and told["here"] == []
        # One mount each, and the one that all are parts of: nothing lies below them.
        assert [told["mounts"].count(place) for place in ("/tmp", "/dev/shm", HOME)] == [1, 1, 1]
        assert told["mounts"].count("/workspace") == 2
    for place in ("/tmp", "/dev/shm", HOME):
        assert not os.path.exists(place + "/made-at-import")


def test_what_a_module_writes_at_import_is_limited(imported: Imported) -> None:
    box = imported(
        """
        import errno
        written = files = 0
        why = []
        with open("/tmp/large", "wb", buffering=0) as file:
            try:
                while written < 1 << 30:
                    written += file.write(bytes(1 << 20))
            except OSError as error:
                why.append(errno.errorcode[error.errno])
        os.remove("/tmp/large")
        try:
            while files < 1 << 20:
                os.close(os.open(f"/dev/shm/{files}", os.O_CREAT | os.O_WRONLY))
                files += 1
        except OSError as error:
            why.append(errno.errorcode[error.errno])

        @brig.tool
        def told() -> list:
            return [written, files, why]
        """
    )
    written, files, why = output_of(box, "told")
    assert why == ["ENOSPC", "ENOSPC"]
    assert 32 << 20 < written <= 64 << 20
    assert 1000 < files <= 16384


def test_no_other_place_can_be_written_at_import(imported: Imported, tmp_path: Path) -> None:
    box = imported(
        """
        with open("/proc/self/mountinfo") as file:
            MOUNTS = {line.split()[4]: line.split()[5].split(",") for line in file}

        def writable(place):
            try:
                os.mkdir(place + "/tried-at-import")
            except OSError:
                return False
            os.rmdir(place + "/tried-at-import")
            return True

        found = {place for place in MOUNTS if os.path.isdir(place) and writable(place)}
        # Each directory of the root itself, too, which is one mount.
        for top, names, _ in os.walk("/"):
            names[:] = [name for name in names if os.path.join(top, name) not in MOUNTS]
            found |= {top} if writable(top) else set()

        @brig.tool
        def told() -> list:
            return [sorted(found), {place: MOUNTS[place] for place in found}]
        """,
        environment={"set": {"HOME": HOME}},
    )
    found, options = output_of(box, "told")
    # On the way to a module below one of them there are directories of the same space.
    found = [place for place in found if not tmp_path.is_relative_to(place) or place in options]
    assert found == sorted(["/tmp", "/dev/shm", HOME, "/workspace"])
    for each in options.values():
        assert {"nosuid", "nodev"} <= set(each)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """One that anyone can enter, whose parents anyone can: pytest's are for its user."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        os.chmod(made, 0o755)
        yield Path(made)


def test_on_the_landlock_floor_it_is_a_directory_that_is_removed(
    imported: Imported, open_directory: Path
) -> None:
    if not brig.capabilities()["floors"]["landlock"]:
        pytest.skip("this machine has not that floor")
    needs_open_interpreter()
    box = imported(
        """
        import tempfile
        HOME = os.path.expanduser("~")
        NAME = tempfile.mkstemp()[1]
        with open(HOME + "/made-at-import", "w") as file:
            file.write("kept")
        STOOD = os.path.exists(HOME + "/made-at-import") and NAME.startswith(HOME)

        @brig.tool
        def look() -> list:
            with tempfile.TemporaryFile():
                pass
            here = os.path.expanduser("~")
            return [STOOD, HOME, os.path.exists(HOME), here, os.listdir(here)]
        """,
        open_directory,
        isolation="landlock",
    )
    for _ in range(2):
        stood, then, exists, now, names = output_of(box, "look")
        assert stood and not exists and then != now and names == []
        assert not os.path.exists(then)


def test_numpy_is_imported_once_and_used_in_calls(imported: Imported) -> None:
    pytest.importorskip("numpy")
    box = imported(
        """
        import numpy as np

        @brig.tool
        def solve(a: list, b: list) -> list:
            return np.linalg.solve(np.array(a), np.array(b)).round(6).tolist()
        """
    )
    assert output_of(box, "solve", a=[[2, 1], [1, 3]], b=[3, 5]) == [0.8, 1.4]


def test_a_thread_that_is_about_to_end_is_waited_for(imported: Imported) -> None:
    box = imported(
        """
        import threading

        @brig.tool
        def one() -> int:
            return threading.active_count()

        timer = threading.Timer(3600, print)
        timer.start()
        timer.cancel()  # and it ends when it gets the processor
        """
    )
    assert output_of(box, "one") == 1
