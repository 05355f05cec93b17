"""`snapshot size|clean`: what undo takes, and getting room back, never without saying first what would go."""

import json
import re

import pytest

from opencode_tui.storage.paths import find_paths

MONTHS_AGO = 1_000


@pytest.fixture
def old(commands, environ):
    """A state of the files that was recorded long ago; no session needs it."""
    (commands.folder / "a.py").write_text("old = 1\n" * 50_000)
    name = json.loads(commands.run("debug", "snapshot", "track").stdout)["snapshot"]
    [log] = find_paths(environ).snapshot.rglob("snapshots.jsonl")
    log.write_text(f'["{name}",{MONTHS_AGO}]\n')
    (commands.folder / "a.py").write_text("x = 1\n")
    commands.run("debug", "snapshot", "track")
    return name


def test_the_size_names_the_room_and_the_folder(commands, old):
    said = commands.run("snapshot", "size").stdout
    assert re.match(r"\d+\.\d of 1024 MiB in 2 snapshots\n/", said)


def test_a_dry_run_says_what_would_go_and_drops_nothing(commands, old):
    said = commands.run("snapshot", "clean", "--dry-run").stdout
    assert re.match(r"about \d+\.\d MiB in 1 snapshot would be freed, \d+\.\d MiB left in 1 snapshot", said)
    assert commands.run("debug", "snapshot", "patch", old).code == 0


def test_cleaning_drops_it_and_says_how_much_that_was(commands, old):
    said = commands.run("snapshot", "clean").stdout
    assert re.match(r"\d+\.\d MiB freed, \d+\.\d MiB left in 1 snapshot", said)
    assert commands.run("debug", "snapshot", "patch", old).code == 1


def test_the_size_of_all_projects_names_their_folders_and_both_kinds(commands, old, environ):
    [packs] = find_paths(environ).snapshot.glob("*/*/git")
    (packs / "kept").mkdir()
    (packs / "kept" / ("0" * 40)).write_bytes(b"x" * 3 * 1024 * 1024)
    assert "3.0 of 2048 MiB in 1 file kept before a command discarded them\n" in commands.run("snapshot", "size").stdout
    said = commands.run("snapshot", "size", "--all").stdout
    assert re.fullmatch(r" +3\.\d MiB  /\S+  \(snapshots 0\.\d, kept files 3\.0\)\n", said)


def test_cleaning_deletes_the_files_that_were_kept_for_it_without_a_question(commands, old, environ):
    [packs] = find_paths(environ).snapshot.glob("*/*/git")
    (packs / "kept").mkdir()
    (packs / "kept" / ("0" * 40)).write_bytes(b"x" * 3 * 1024 * 1024)
    assert re.match(r"3\.\d MiB freed", commands.run("snapshot", "clean", "--yes").stdout)
    assert list((packs / "kept").iterdir()) == []
