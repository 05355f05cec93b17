import json
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_session_is_compacted_and_its_messages_stay(commands, session_id):
    before = json.loads(commands.run("export", session_id).stdout)["messages"]
    done = commands.run("session", "compact", session_id, "--format", "json")
    report = json.loads(done.stdout)
    after = json.loads(commands.run("export", session_id).stdout)["messages"]
    assert done.code == 0 and report["messages"] == len(before) and report["after"] > 0
    assert after[: len(before)] == before and after[-1]["info"]["id"] == report["messageID"]
    assert "list this folder" in report["summary"] and "list this folder" in report["kept"]


@pytest.mark.slow
def test_a_look_says_what_would_stay_and_changes_nothing(commands, session_id):
    before = commands.run("export", session_id).stdout
    done = commands.run("session", "compact", session_id, "--dry-run")
    assert done.code == 0 and "would summarize 3 messages" in done.stderr
    assert "## The user's last request\nlist this folder\n" in done.stdout
    assert commands.run("export", session_id).stdout == before


@pytest.mark.slow
def test_nothing_to_summarize_is_reported_in_one_line(commands, session_id):
    assert commands.run("session", "compact", session_id).code == 0
    again = commands.run("session", "compact", session_id)
    assert (again.code, again.stdout, again.stderr.count("\n")) == (1, "", 1)
    assert "nothing to summarize since its last compaction" in again.stderr


@pytest.mark.slow
def test_a_model_that_is_none_is_refused(commands, session_id):
    done = commands.run("session", "compact", session_id, "--model", "fast")
    assert done.code == 2 and "provider/model" in done.stderr


@pytest.mark.slow
def test_what_a_compaction_keeps_is_shown_and_changed(commands, session_id):
    view = json.loads(commands.run("session", "ledger", session_id, "--format", "json").stdout)
    last = next(one for one in view["entries"] if one["kind"] == "last")
    assert last["text"] == "list this folder" and not view["isCompacted"]
    done = commands.run("session", "ledger", session_id, "--add", "Never push.", "--set", last["id"], "list src/")
    assert done.code == 0 and "kept by the next compaction" in done.stderr
    first = done.stdout.splitlines()[1].split(maxsplit=3)
    assert first[1:] == ["added", "added", "Never push."]
    kept = commands.run("session", "compact", session_id, "--dry-run").stdout
    assert "## Added by the user\n- Never push.\n" in kept and "last request\nlist src/\n" in kept
    gone = commands.run("session", "ledger", session_id, "--remove", last["id"])
    assert "removed" in gone.stdout and "list src/" not in gone.stdout
    wrong = commands.run("session", "ledger", session_id, "--remove", "rule-0")
    assert (wrong.code, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1) and "no entry rule-0" in wrong.stderr


@pytest.mark.slow
def test_the_ledger_is_shown_and_changed_without_the_model_of_the_session(commands, session_id):
    asked = json.loads(commands.run("export", session_id).stdout)["messages"][0]["info"]
    path = next(Path(commands.environ["XDG_DATA_HOME"]).rglob(f"message/{session_id}/{asked['id']}.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "model": {"providerID": "gone", "modelID": "away"}}))
    refused = commands.run("session", "compact", session_id, "--dry-run")
    assert refused.code == 2 and "no model gone/away" in refused.stderr
    shown = commands.run("session", "ledger", session_id)
    assert shown.code == 0 and "list this folder" in shown.stdout
    assert "Never push." in commands.run("session", "ledger", session_id, "--add", "Never push.").stdout
