import json


def test_a_session_is_compacted_and_its_messages_stay(commands, session_id):
    before = json.loads(commands.run("export", session_id).stdout)["messages"]
    done = commands.run("session", "compact", session_id, "--format", "json")
    report = json.loads(done.stdout)
    after = json.loads(commands.run("export", session_id).stdout)["messages"]
    assert done.code == 0 and report["messages"] == len(before) and report["after"] > 0
    assert after[: len(before)] == before and after[-1]["info"]["id"] == report["messageID"]
    assert "list this folder" in report["summary"] and "list this folder" in report["kept"]


def test_a_look_says_what_would_stay_and_changes_nothing(commands, session_id):
    before = commands.run("export", session_id).stdout
    done = commands.run("session", "compact", session_id, "--dry-run")
    assert done.code == 0 and "would summarize 3 messages" in done.stderr
    assert "## The user's last request\nlist this folder\n" in done.stdout
    assert commands.run("export", session_id).stdout == before


def test_nothing_to_summarize_is_reported_in_one_line(commands, session_id):
    assert commands.run("session", "compact", session_id).code == 0
    again = commands.run("session", "compact", session_id)
    assert (again.code, again.stdout, again.stderr.count("\n")) == (1, "", 1)
    assert "nothing to summarize since its last compaction" in again.stderr


def test_a_model_that_is_none_is_refused(commands, session_id):
    done = commands.run("session", "compact", session_id, "--model", "fast")
    assert done.code == 2 and "provider/model" in done.stderr
