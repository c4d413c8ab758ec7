"""What common packages and programs do in a cell; the table in docs/compatibility.md says the same."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

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
        modules=[module.stem], paths=[str(tmp_path), *UNPACKED], policy=package.policy, interpreter="/usr/bin/python3"
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
    assert (done.returncode, done.stdout.strip()) == (0, program.output), f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("case", PRESETS, ids=lambda each: each.name)
def test_preset(case: PresetCase) -> None:
    home = HOMES / case.name
    source = home / "src"
    source.mkdir(parents=True)
    given = {**os.environ, "HOME": str(home)}
    prepared = subprocess.run(
        ["sh", "-ec", case.host], cwd=source, env=given, capture_output=True, text=True, timeout=600
    )
    assert prepared.returncode == 0, f"{prepared.stdout}\n{prepared.stderr}"
    before = files_below(home)
    done = subprocess.run(
        [PROGRAM, "run", "--preset", case.name, "--read", str(source), "--env", f"SRC={source}", *case.options]
        + ["--", "sh", "-ec", case.script],
        env=given, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, case.output), f"{done.stdout}\n{done.stderr}"
    assert files_below(home) == before, "a cell changes nothing of the host's"


def files_below(directory: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in sorted(directory.rglob("*")):
        info = path.lstat()
        found[str(path)] = (info.st_size if path.is_file() else 0, info.st_mtime_ns)
    return found


def test_every_preset_has_a_case() -> None:
    listed = subprocess.run([PROGRAM, "presets", "--json"], capture_output=True, text=True, check=True)
    assert [each["name"] for each in json.loads(listed.stdout)] == [case.name for case in PRESETS]


def links_into_etc() -> dict[str, str]:
    """Links of /usr, and where in /etc they lead to, where that is something on this machine."""
    listed = subprocess.run(
        ["find", "/usr", "-xdev", "-type", "l", "-lname", "*etc/*", "-print0"], capture_output=True, text=True
    )
    found = {}
    for link in filter(None, listed.stdout.split("\0")):
        target = os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(link)), os.readlink(link)))
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
        if links[link] not in MISSING_ON_PURPOSE and not links[link].startswith(PREFIXES_MISSING_ON_PURPOSE)
    }
    assert not unexpected


def test_what_may_be_secret_in_etc_is_not_there() -> None:
    paths = ["/etc/environment", "/etc/ssl/private", "/etc/maven/settings.xml", "/etc/shadow"]
    assert any(map(os.path.exists, paths))
    done = subprocess.run([PROGRAM, "run", "--", "ls", "-d", *paths], capture_output=True, text=True, timeout=120)
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
        row(each.name, each.debian, each.what, ", ".join(f'{key} = "{value}"' for key, value in each.policy.items()))
        for each in PACKAGES
    ]
    assert rows_below("Presets") == [
        row(each.name, each.debian, each.what, " ".join(each.options)) for each in PRESETS
    ]
    assert rows_below("Programs") == [
        row(each.name, each.debian, each.what, " ".join(each.options)) for each in PROGRAMS
    ]
