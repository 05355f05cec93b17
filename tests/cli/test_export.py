import json


def test_export_without_an_id_is_the_session_used_last(commands, session_id):
    exported = json.loads(commands.run("export").stdout)
    assert (exported["info"]["id"], [one["info"]["role"] for one in exported["messages"]][:2]) == (
        session_id,
        ["user", "assistant"],
    )
    assert commands.run("export", session_id).stdout == commands.run("export").stdout


def test_export_without_any_session_fails(commands):
    done = commands.run("export")
    assert (done.code, done.stdout) == (1, "") and "session list" in done.stderr
