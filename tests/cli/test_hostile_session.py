"""An imported session whose every text steers a terminal, and deeply nested JSON: what commands write of them is harmless."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

SESSION = "ses_0000000000010a"
NASTY = "a\x1b]52;c;cm0=\x07b\x1b[2Jc\x9b2Jd\u202ee\u2066f\U000e0041\U000e0042g\u2063h\x7fi\x00j\rk\u3164l\ufff9m"
STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200e\u200f\u2028-\u202e\u2061-\u206f\u3164\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
NAME = f"{NASTY}\n# not a heading"
CALL: dict[str, Any] = {
    **{"id": "prt_3", "type": "tool", "callID": NASTY, "tool": NAME},
    "state": {
        "status": "completed",
        "input": {"filePath": NASTY, NASTY: [NASTY]},
        "output": NASTY,
        "title": NAME,
        "metadata": {"diff": f"--- {NASTY}\n+++ {NASTY}\n@@ -1 +1 @@\n-{NASTY}\n+{NASTY}\n"},
        "time": {"start": 1, "end": 2},
    },
}


def exported() -> dict[str, Any]:
    time, model = {"created": 1_700_000_000_000, "updated": 1_700_000_000_001}, {"providerID": "p", "modelID": NASTY}
    request = {"id": "msg_1", "role": "user", "time": time, "agent": "build", "model": model}
    answer = {
        **{"id": "msg_2", "role": "assistant", "parentID": "msg_1", "modelID": NASTY, "providerID": NAME, "mode": NAME},
        **{"agent": NAME, "path": {"cwd": NASTY, "root": NASTY}, "time": {**time, "completed": time["updated"]}},
        "error": {"name": "UnknownError", "data": {"message": NASTY}},
    }
    asked = [
        {"id": "prt_1", "type": "text", "text": f"needle {NASTY}"},
        {"id": "prt_2", "type": "file", "mime": "image/png", "url": "data:,", "filename": NAME},
    ]
    said = [
        CALL,
        {"id": "prt_4", "type": "text", "text": NASTY},
        {"id": "prt_5", "type": "reasoning", "text": NASTY, "time": {"start": 1}},
    ]
    messages = [{"info": request, "parts": asked}, {"info": answer, "parts": said}]
    diffs = [{"file": NAME, "before": "", "after": NASTY, "additions": 1, "deletions": 0}]
    summary = {"additions": 1, "deletions": 0, "files": 1, "diffs": diffs}
    info = {"id": SESSION, "version": NASTY, "projectID": "global", "directory": NASTY, "title": NAME, "time": time}
    return {"info": {**info, "summary": summary}, "messages": messages}


@pytest.fixture
def hostile(commands, tmp_path: Path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps(exported()))
    done = commands.run("import", str(path))
    assert done.code == 0, done.stderr
    return commands


@pytest.mark.fast_cases("session show ses_0000000000010a")
@pytest.mark.parametrize(
    "arguments",
    [
        ("export", SESSION, "--markdown", "-"),
        ("export", SESSION, "--html", "-"),
        ("export", SESSION),
        ("session", "list"),
        ("session", "tree"),
        ("session", "show", SESSION),
        ("session", "search", "needle"),
        ("stats",),
    ],
    ids=" ".join,
)
def test_nothing_that_is_written_steers_a_terminal(hostile, arguments: tuple[str, ...]):
    done = hostile.run(*arguments)
    assert done.code == 0, done.stderr
    assert len(done.stdout) > 30
    assert STEERING.findall(done.stdout + done.stderr) == []


def test_a_name_with_a_line_feed_makes_no_line_of_its_own(hostile):
    page = hostile.run("export", SESSION, "--markdown", "-").stdout
    assert "\\x1b[2J" in page and "\\U000e0041" in page
    assert [line for line in page.split("\n") if line.startswith("# not")] == []


@pytest.mark.fast_cases("the session-900", "the session-5000")
@pytest.mark.parametrize("depth", [150, 900, 5_000, 200_000])
@pytest.mark.parametrize("at", ["the file", "the session", "a message", "a part"])
def test_the_import_of_nested_json_is_one_line(commands, tmp_path: Path, at: str, depth: int):
    content = exported()
    nested = "[" * depth + "]" * depth
    marked: dict[str, Any] = {
        "the session": content["info"]["summary"],
        "a message": content["messages"][1]["info"],
        "a part": content["messages"][1]["parts"][0]["state"]["input"],
    }
    text = nested
    if at != "the file":
        marked[at]["more"] = "HERE"
        text = json.dumps(content).replace('"HERE"', nested)
    path = tmp_path / "session.json"
    path.write_text(text)
    done = commands.run("import", str(path))
    [line] = done.stderr.strip().splitlines()
    assert (done.code, "nested deeper than 100 levels" in line) == (2, True), done.stderr
