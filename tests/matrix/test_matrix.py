"""What common packages and programs do in a cell; the table in docs/compatibility.md says the
same."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Callable

import brig
import pytest
from packages import PACKAGES, Package
from presets import PRESETS, PresetCase
from programs import PROGRAMS, Program

PROGRAM = os.environ["BRIG_PROGRAM"]
TABLE = Path(os.environ["BRIG_TABLE"])
HOMES = Path(os.environ["BRIG_HOMES"])
UNPACKED = [path for path in os.environ.get("BRIG_UNPACKED", "").split(":") if path]

# Links of /usr into /etc that lead nowhere in a cell, and are meant to.
MISSING_ON_PURPOSE = {
    "/etc/environment",  # variables of the host's, tokens among them
    "/etc/ssl/private",  # keys
    "/etc/X11/rgb.txt",  # names of colours, for an X server
}
# And by what comes before: code that the host runs at the start of its own interpreters.
PREFIXES_MISSING_ON_PURPOSE = ("/etc/python3",)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.name)
def test_package(package: Package, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    module = tmp_path / "tools_of_the_matrix.py"
    module.write_text(package.text.replace("def use(", "import brig\n@brig.tool\ndef use("))
    with brig.Sandbox(
        modules=[module.stem], paths=[
            str(tmp_path), *UNPACKED
        ], policy=package.policy, interpreter="/usr/bin/python3"
    ) as box:
        for _ in range(2):  # the second cell is like the first
            result = box.call_sync("use")
            assert result.ok, f"{result.report.outcome}: {result.error}"
            assert result.output == package.result


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_program(program: Program) -> None:
    done = subprocess.run(
        [PROGRAM, "run", *program.options, "--", "sh", "-ec", program.script],
        capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (
        done.returncode, done.stdout.strip()
    ) == (0, program.output), f"{done.stdout}\n{done.stderr}"


def test_a_go_program_runs_under_the_defaults(tmp_path: Path) -> None:
    """It reserves hundreds of megabytes of address space at its start."""
    tmp_path.chmod(0o755)
    script = next(each.script for each in PROGRAMS if each.name == "go").replace("./hello\n", "")
    subprocess.run(
        ["sh", "-ec", script],
        cwd=tmp_path,
        env={**os.environ, "GOCACHE": str(tmp_path / "cache")},
        check=True,
    )
    program = tmp_path / "hello"
    for argv, output in (([str(program)], "total 14"), (["go", "version"], "go version go")):
        done = subprocess.run(
            [PROGRAM, "run", "--read", str(program), "--", *argv],
            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0 and done.stdout.startswith(output), f"{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def prepared() -> Callable[[PresetCase], Path]:
    """Of a case, the HOME in which its toolchain was used."""
    made: dict[str, Path] = {}

    def prepare(case: PresetCase) -> Path:
        home = HOMES / case.name
        if case.name not in made:
            source = home / "src"
            source.mkdir(parents=True)
            given = {**os.environ, "HOME": str(home)}
            done = subprocess.run(
                [
                    "sh", "-ec", case.host
                ], cwd=source, env=given, capture_output=True, text=True, timeout=600
            )
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
            made[case.name] = home
        return home

    return prepare


def in_cell(case: PresetCase, home: Path, options: list[str], script: str) -> tuple[bool, str]:
    """Whether it did all that it should, and what it said."""
    source = home / "src"
    done = subprocess.run(
        [PROGRAM, "run", *options, "--read", str(source), "--env", f"SRC={source}", *case.options]
        + ["--", "sh", "-ec", script],
        env={
            **os.environ, "HOME": str(home)
        }, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return (
        done.returncode, done.stdout.strip()
    ) == (0, case.output), f"{done.stdout}\n{done.stderr}"


# So that what has no network says so at once.
IMPATIENT = ["--env", "npm_config_fetch_retries=0", "--env", "PIP_RETRIES=0"]


@pytest.mark.parametrize("case", PRESETS, ids=lambda each: each.name)
def test_preset(case: PresetCase, prepared: Callable[[PresetCase], Path]) -> None:
    home = prepared(case)
    before = files_below(home)
    works, said = in_cell(case, home, ["--preset", case.name], case.script)
    assert works, said
    works, said = in_cell(case, home, IMPATIENT, case.script)
    assert not works, f"it needs nothing of the preset: {said}"
    assert files_below(home) == before, "a cell changes nothing of the host's"


@pytest.mark.parametrize(
    "case", [each for each in PRESETS if each.fill], ids=lambda each: each.name
)
def test_shared_preset(case: PresetCase, prepared: Callable[[PresetCase], Path]) -> None:
    home = prepared(case)
    options, script = ["--preset", f"{case.name}:shared", *IMPATIENT], case.shared or case.script
    works, said = in_cell(case, home, options, script)
    assert not works, f"it needs no cache: {said}"
    works, said = in_cell(case, home, options, f"{case.fill}\n{script}")
    assert works, said
    works, said = in_cell(case, home, options, script)
    assert works, f"the second time, out of the cache: {said}"
    assert list((home / ".cache/brig/presets").iterdir()) == [
        home / ".cache/brig/presets" / case.name
    ]


def files_below(directory: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in sorted(directory.rglob("*")):
        info = path.lstat()
        found[str(path)] = (info.st_size if path.is_file() else 0, info.st_mtime_ns)
    return found


def test_every_preset_has_a_case() -> None:
    listed = subprocess.run(
        [PROGRAM, "presets", "--json"], capture_output=True, text=True, check=True
    )
    told = json.loads(listed.stdout)
    assert [each["name"] for each in told] == [case.name for case in PRESETS]
    assert [bool(each["shared"]) for each in told] == [bool(case.fill) for case in PRESETS]


def links_into_etc() -> dict[str, str]:
    """Links of /usr, and where in /etc they lead to, where that is something on this machine."""
    listed = subprocess.run(
        [
            "find", "/usr", "-xdev", "-type", "l", "-lname", "*etc/*", "-print0"
        ], capture_output=True, text=True
    )
    found = {}
    for link in filter(None, listed.stdout.split("\0")):
        target = os.path.normpath(
            os.path.join(os.path.realpath(os.path.dirname(link)), os.readlink(link))
        )
        if target.startswith("/etc/") and os.path.exists(target):
            found[link] = target
    return found


def test_links_of_the_system_into_etc_lead_somewhere() -> None:
    links = links_into_etc()
    assert links, "every Debian system has some"
    script = 'while IFS= read -r link; do [ -e "$link" ] || printf "%s\\n" "$link"; done'
    done = subprocess.run(
        [PROGRAM, "run", "--", "sh", "-c", script], input="".join(f"{link}\n" for link in links),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    dangling = set(done.stdout.splitlines())
    assert dangling <= links.keys()
    unexpected = {
        f"{link} -> {links[link]}"
        for link in dangling
        if links[link] not in MISSING_ON_PURPOSE and not links[link].startswith(
            PREFIXES_MISSING_ON_PURPOSE
        )
    }
    assert not unexpected


def test_what_may_be_secret_in_etc_is_not_there() -> None:
    paths = ["/etc/environment", "/etc/ssl/private", "/etc/maven/settings.xml", "/etc/shadow"]
    assert any(map(os.path.exists, paths))
    done = subprocess.run(
        [PROGRAM, "run", "--", "ls", "-d", *paths], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "" and done.returncode == 2, done.stdout


def rows_below(heading: str) -> list[str]:
    """Of the table in that section, without its head."""
    _, _, section = TABLE.read_text().partition(f"\n## {heading}\n")
    section, _, _ = section.partition("\n## ")
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def test_the_table_has_every_case_and_no_other() -> None:
    def row(name: str, debian: str, what: str, needs: str) -> str:
        return f"| {name} | {debian} | {what} | {needs and f'`{needs}`'} |"

    assert rows_below("Python packages") == [
        row(
            each.name,
            each.debian,
            each.what,
            ", ".join(f'{key} = "{value}"' for key, value in each.policy.items()),
        )
        for each in PACKAGES
    ]
    assert rows_below("Presets") == [
        row(each.name, each.debian, each.what, " ".join(each.options)) for each in PRESETS
    ]
    assert rows_below("Programs") == [
        row(each.name, each.debian, each.what, " ".join(each.options)) for each in PROGRAMS
    ]
