"""`debug snapshot`: output shapes, one-line errors, and git programs of the user that never run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.world.in_process import Commands
from tests.support.world.repo import make_repo


@pytest.fixture
def line(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """A small repository."""
    repo = make_repo(tmp_path / "project")
    repo.commit(**{"a.txt": "a1\n", "b.txt": "b1\n"})
    return Commands(repo.path, environ, monkeypatch, capsys)


def answer(line: Commands, *arguments: str, stdin: object = None) -> Any:
    done = line.run("debug", "snapshot", *arguments, stdin="" if stdin is None else json.dumps(stdin))
    assert (done.code, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.slow
def test_track_patch_revert_unrevert(line: Commands):
    before = answer(line, "track")["snapshot"]
    (line.folder / "a.txt").write_text("a2\n")
    patch = answer(line, "patch", before)
    assert patch == {"hash": before, "after": patch["after"], "files": [str(line.folder / "a.txt")]}
    assert answer(line, "preview", stdin=[patch])["restored"] == patch["files"]
    report = answer(line, "revert", stdin=[patch])
    assert {key: report[key] for key in ("restored", "deleted", "conflicts", "unprotected")} == {
        "restored": patch["files"],
        "deleted": [],
        "conflicts": [],
        "unprotected": [],
    }
    assert (line.folder / "a.txt").read_text() == "a1\n"
    answer(line, "unrevert", stdin=report)
    assert (line.folder / "a.txt").read_text() == "a2\n"
    assert [change["file"] for change in answer(line, "diff", before, patch["after"])] == ["a.txt"]
    assert answer(line, "verify")["damaged"] == []


def test_a_refusal_is_one_line_and_changes_nothing(line: Commands):
    before = answer(line, "track")["snapshot"]
    (line.folder / "a.txt").write_text("a2\n")
    patch = answer(line, "patch", before)
    for file in Path(line.environ["XDG_DATA_HOME"]).rglob("*.pack"):
        file.write_bytes(b"\0" * 20)
    done = line.run("debug", "snapshot", "revert", stdin=json.dumps([patch]))
    assert (done.code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert (line.folder / "a.txt").read_text() == "a2\n"


@pytest.mark.parametrize("stdin", ["", "{", "3", '[{"files": 1}]'])
def test_input_that_is_not_a_patch_is_a_one_line_error(line: Commands, stdin: str):
    done = line.run("debug", "snapshot", "revert", stdin=stdin)
    assert (done.code in (1, 2), len(done.stderr.splitlines())) == (True, 1)


def test_where_undo_is_off_the_id_is_null_and_the_reason_given(line: Commands):
    off = replace(line, environ={**line.environ, "OPENCODE_CONFIG_CONTENT": '{"snapshot": false}'})
    printed = answer(off, "track")
    assert printed["snapshot"] is None
    assert "snapshot" in printed["unprotected"][0]["reason"]
    assert off.run("debug", "snapshot", "patch", "0" * 40).code == 1
