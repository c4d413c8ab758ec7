from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import cells
import clients


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "quick: of the subset that needs few packages and little time"
    )


@pytest.fixture(scope="session")
def connected() -> cells.Internet:
    assert os.environ.get("BRIG_GROUND"), "run this in ground.py; see scripts/test-network"
    return cells.Internet()


@pytest.fixture
def internet(connected: cells.Internet) -> cells.Internet:
    connected.ask("reset")
    return connected


@pytest.fixture(scope="session")
def brig() -> None:
    """The program, with what is tested here."""
    told = subprocess.run([cells.PROGRAM, "run", "--help"], capture_output=True, text=True)
    if "--allow " not in told.stdout:
        tell = pytest.fail if os.environ.get("BRIG_MUST_WORK") == "1" else pytest.skip
        tell("this brig has no --allow")


@pytest.fixture(scope="session")
def built() -> dict[str, str]:
    """Builds what clients need compiled, when the first asks. Holds why a build failed, or ""."""
    Path(clients.BUILT).mkdir()
    failures = {}
    for client in clients.CLIENTS:
        if client.build:
            place = Path(clients.BUILT, client.name)
            place.mkdir()
            done = cells.outside(f"cd {place}\n{client.build}", {})
            failures[client.name] = f"{done.stdout}{done.stderr}" if done.returncode else ""
    return failures
