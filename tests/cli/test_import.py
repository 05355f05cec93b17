"""The command `import`."""

import json
from pathlib import Path

import pytest

from tests.support.importing.fixtures import PROJECT, unpack


@pytest.fixture
def store(environ: dict[str, str]) -> Path:
    """A store in the usual folder."""
    return unpack("1.18.33", Path(environ["XDG_DATA_HOME"]) / "opencode")


def test_without_arguments_the_stores_are_listed_and_nothing_happens_without_a_terminal(commands, store):
    done = commands.run("import")
    assert done.code == 0 and "pass --yes" in done.stderr
    head, row = done.stdout.splitlines()
    assert head.split() == ["PROGRAM", "FOLDER", "SESSIONS", "NEW", "CONTINUED"]
    assert row.split()[:2] == ["OpenCode", "1.18"] and row.split()[-2:] == ["4", "4"]
    assert commands.run("session", "list").stdout == ""


def test_yes_imports_all_and_again_nothing(commands, store):
    done = commands.run("import", "--yes", "--map", f"{PROJECT}={commands.folder}")
    assert (done.code, done.stdout.splitlines()[-1]) == (0, "Imported 4 sessions")
    listed = json.loads(commands.run("session", "list", "--format", "json").stdout)
    assert {one["directory"] for one in listed} == {str(commands.folder)} and len(listed) == 4
    assert commands.run("import", "--yes").stdout.splitlines()[-1] == "Imported 0 sessions, 4 already here"


def test_one_session_is_imported_with_its_children(commands, store):
    shown = commands.run("import", "opencode", "--dry-run", "--format", "json")
    parent = next(one["id"] for one in json.loads(shown.stdout)["sessions"] if "delegate" in one["title"])
    report = json.loads(commands.run("import", "opencode", "--session", parent, "--format", "json").stdout)
    assert (report["new"], len(report["sessions"])) == (2, 2)


@pytest.mark.slow
def test_export_and_import_of_a_file_are_counterparts(commands, session_id, tmp_path: Path):
    exported = commands.run("export", session_id).stdout
    path = tmp_path / "session.json"
    path.write_text(exported)
    other = {**commands.environ, "XDG_DATA_HOME": str(tmp_path / "other")}
    there = type(commands)(commands.folder, other, commands.monkeypatch, commands.capsys)
    assert there.run("import", str(path)).stdout.splitlines()[-1] == "Imported 1 session"
    again = json.loads(there.run("export", session_id).stdout)
    assert again["info"]["metadata"].pop("importedFrom")["id"] == session_id
    expected = json.loads(exported)
    assert again["messages"] == expected["messages"]
    assert {**again["info"], "metadata": None} == {**expected["info"], "metadata": None}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nosuch",), "nosuch is no program"),
        (("x", "y"), "unexpected argument 'y'"),
        (("--since", "never"), "invalid --since 'never'"),
        (("--map", "a=b"), "invalid --map 'a=b'"),
        (("opencode", "/absent"), "/absent does not exist"),
    ],
)
def test_wrong_arguments_are_named(commands, arguments, complaint):
    done = commands.run("import", *arguments)
    assert (done.code, done.stdout) == (2, "") and complaint in done.stderr


def test_without_any_store_the_remedy_is_named(commands):
    done = commands.run("import")
    assert (done.code, done.stdout) == (0, "") and "import opencode PATH" in done.stderr
