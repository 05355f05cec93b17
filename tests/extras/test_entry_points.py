"""Extras are loaded by the table of entry points, and by nothing else."""

from pathlib import Path

import pytest

import opencode_tui
from opencode_tui.entry_points import TABLE, load

EXTRAS = Path(opencode_tui.__file__).parent / "extras"


@pytest.mark.slow
def test_every_entry_point_loads() -> None:
    assert TABLE
    assert [name for name in TABLE if load(name) is None] == []


def test_every_entry_point_leads_to_an_extra_with_a_readme() -> None:
    folders = {
        name: EXTRAS / module.split(".")[2]
        for name, (module, _value) in TABLE.items()
        if module.startswith("opencode_tui.extras.")
    }
    assert folders.keys() == TABLE.keys()
    assert [name for name, folder in folders.items() if not (folder / "README.md").is_file()] == []


def test_every_extra_has_an_entry_point() -> None:
    folders = {folder.name for folder in EXTRAS.iterdir() if (folder / "__init__.py").is_file()}
    assert folders
    assert folders == {module.split(".")[2] for module, _value in TABLE.values()}
