"""The pictures of the screen in README and docs show the present program."""

import asyncio
from pathlib import Path

import pytest

from tests.support.terminal.screenshots import PICTURES, take
from tests.support.world.cli import PACKAGE_ROOT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_the_present_program_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    drawn = asyncio.run(take(PICTURES[name]))
    stored = Path(PACKAGE_ROOT, "assets", f"{name}.svg").read_text(encoding="utf-8")
    assert drawn == stored, "renew them: python -m tests.support.terminal.screenshots assets"


def test_the_pages_show_all_of_them() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in Path(PACKAGE_ROOT, "docs").glob("*.md"))
    assert [name for name in [*PICTURES, "run", "turn"] if f"(../assets/{name}.svg)" not in pages] == []
