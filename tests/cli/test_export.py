import json
import re
from pathlib import Path

import pytest

from opencode_tui.storage.paths import find_paths
from tests.support.sessions.records import assistant, session_info, user, write_records


@pytest.mark.slow
def test_export_without_an_id_is_the_session_used_last(commands, session_id):
    exported = json.loads(commands.run("export").stdout)
    assert (exported["info"]["id"], [one["info"]["role"] for one in exported["messages"]][:2]) == (
        session_id,
        ["user", "assistant"],
    )
    assert commands.run("export", session_id).stdout == commands.run("export").stdout


@pytest.mark.fast_cases("1")
@pytest.mark.parametrize("turns", [0, 1, 250])
def test_a_session_of_any_length_is_the_json_of_the_whole(commands, environ, turns):
    info = session_info("ses_1", title="a \x7f title", directory=str(commands.folder))
    messages = [message for number in range(turns) for message in (user(f"{number}\n\x7f"), assistant("é\n"))]
    messages = [message.changed(info=message.info.changed(session_id=info.id)) for message in messages]
    write_records(find_paths(environ), info, messages)
    written = commands.run("export", info.id).stdout
    whole = json.loads(written)
    assert (whole["info"]["title"], whole["messages"]) == (info.title, [message.to_dict() for message in messages])
    assert written == json.dumps(whole, indent=2).replace("\x7f", "\\u007f") + "\n"


def test_export_without_any_session_fails(commands):
    done = commands.run("export")
    assert (done.code, done.stdout) == (1, "") and "session list" in done.stderr


@pytest.mark.slow
def test_export_as_a_page_writes_a_new_file_and_reports_its_size(commands, session_id, tmp_path: Path):
    path = tmp_path / "out" / "page.html"
    done = commands.run("export", session_id, "--html", str(path))
    assert (done.code, done.stderr) == (0, "") and done.stdout.startswith(f"{path} (")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "list this folder" in page
    assert path.stat().st_mode & 0o777 == 0o600
    again = commands.run("export", session_id, "--html", str(path))
    assert again.code == 1 and "already exists" in again.stderr and path.read_text(encoding="utf-8") == page
    assert commands.run("export", "--html", "-").stdout == page


@pytest.mark.slow
def test_export_as_markdown_writes_a_new_file_and_reports_its_size(commands, session_id, tmp_path: Path):
    path = tmp_path / "out" / "talk.md"
    done = commands.run("export", session_id, "--markdown", str(path))
    assert (done.code, done.stderr) == (0, "") and done.stdout.startswith(f"{path} (")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("# First\n") and "## User\n\nlist this folder\n" in page and "**Tool: list**" in page
    assert path.stat().st_mode & 0o777 == 0o600
    assert commands.run("export", session_id, "--markdown", str(path)).code == 1
    assert commands.run("export", "--markdown", "-").stdout == page
    assert commands.run("export", "--markdown", "-", "--html", "-").code == 2


@pytest.mark.slow
def test_a_redacted_export_reports_what_it_leaves_out(commands, tmp_path: Path, environ):
    home = environ["HOME"]
    secret = "glpat-" + "q7Zr2Vx9Kd4Tn8Bs6Wm1"
    assert commands.run("run", f"my token is {secret} in {home}/src").code == 0
    for options in ([], ["--markdown", "-"], ["--html", str(tmp_path / "page.html")]):
        done = commands.run("export", "--redact", *options)
        assert done.code == 0 and re.search(r"left out: \d+ keys?, ", done.stderr)
        written = done.stdout + "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("*.html"))
        assert secret not in written and home not in written and "[hidden:key]" in written
    assert secret in commands.run("export").stdout


@pytest.mark.slow
def test_outputs_of_chosen_tools_are_left_out(commands, session_id):
    parts = [part for one in json.loads(commands.run("export").stdout)["messages"] for part in one["parts"]]
    tool = next(part["tool"] for part in parts if part["type"] == "tool")
    done = commands.run("export", "--without", tool)
    assert "tool output" in done.stderr
    outputs = [
        part["state"]["output"]
        for one in json.loads(done.stdout)["messages"]
        for part in one["parts"]
        if part["type"] == "tool"
    ]
    assert set(outputs) == {"[hidden:tool-output]"}
