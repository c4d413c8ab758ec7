"""Every client: without brig, allowed, and denied; with the proxy's variables, and without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cells import BARE, DEAD_PROXY, Internet, Result, in_cell, outside
from clients import BUILT, CLIENTS, Client, table

CASES = [
    pytest.param(client, id=client.name, marks=[pytest.mark.quick] if client.quick else [])
    for client in CLIENTS
]
each_client = pytest.mark.parametrize("client", CASES)
WAYS = {"variables": [], "bare": BARE}
each_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(autouse=True)
def prepared(request: pytest.FixtureRequest) -> None:
    client = request.getfixturevalue("client") if "client" in request.fixturenames else None
    if client and client.build:
        assert not request.getfixturevalue("built")[client.name]


def run(client: Client, way: str, allow: list[str], alone: bool = False) -> Result:
    options = [*client.options, *(["--read", BUILT] if client.build else [])]
    return in_cell(
        [*WAYS[way], "sh", "-ec", client.script], allow, client.env, options, alone=alone
    )


def check_ways(result: Result, client: Client, way: str) -> None:
    """That it came in by the proxy's port, or past it."""
    ways = {each["way"] for each in result.connections(client.host, client.port)}
    heeds = client.heeds and way == "variables"
    assert ways and (ways <= {"connect", "http"} if heeds else ways == {"direct"}), result.told()


@each_client
def test_works_without_brig(client: Client, internet: Internet) -> None:
    """What fails here is a defect of the row."""
    done = outside(client.script, client.env)
    assert (done.returncode, done.stdout.strip()) == (
        0,
        client.output,
    ), f"{done.stdout}\n{done.stderr}"
    assert internet.dialled(), "the tap sees what goes out"


@each_client
def test_heeds_variables_as_its_row_says(client: Client, internet: Internet) -> None:
    done = outside(client.script, client.env | DEAD_PROXY)
    works = (done.returncode, done.stdout.strip()) == (0, client.output)
    assert works != client.heeds, f"{done.stdout}\n{done.stderr}"


@each_way
@each_client
def test_allowed(client: Client, way: str, internet: Internet, brig: None) -> None:
    result = run(client, way, client.rules)
    assert (result.status, result.out.strip()) == (0, client.output), result.told()
    assert result.verdicts(client.host, client.port) == {"allowed"}, result.told()
    check_ways(result, client, way)
    for connection in result.connections(client.host, client.port):
        assert connection["rule"] == client.rules[0], result.told()
    assert not result.refusals(), result.told()


@each_way
@each_client
def test_denied(client: Client, way: str, internet: Internet, brig: None) -> None:
    """The cell has a way out, and a listener on that port: it is this host that is not allowed."""
    result = run(client, way, [f"unrelated.example.org:{client.port}"], alone=True)
    assert result.out.strip() != client.output, result.told()
    assert result.status != 0, result.told()
    check_ways(result, client, way)
    assert result.verdicts(client.host, client.port) == {"denied"}, result.told()
    assert f"--allow {client.host}:{client.port}" in [
        each["grant"] for each in result.refusals()
    ], result.told()
    # Not a question about its name, and nothing else, went out.
    assert internet.seen() == [], result.told()


def test_the_table_has_every_client_and_no_other() -> None:
    assert len({each.name for each in CLIENTS}) == len(CLIENTS)
    _, _, section = Path(os.environ["BRIG_TABLE"]).read_text().partition("\n## Programs\n")
    section, _, _ = section.partition("\n## ")
    assert [line for line in section.splitlines() if line.startswith("|")][2:] == table()
