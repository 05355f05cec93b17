"""Continued conversations, attachments, and the commands for sessions."""

import json

import pytest

from tests.support.provider.model_script import content_text
from tests.support.world.in_process import in_process

pytestmark = pytest.mark.slow


@pytest.fixture
def line(line, monkeypatch, capsys):
    """Commands without a process for each: what is claimed here is not about processes."""
    return in_process(line, monkeypatch, capsys)


def said(body: dict, role: str) -> list[str]:
    return [content_text(message["content"]) for message in body["messages"] if message["role"] == role]


def titles(line) -> list[str]:
    return [info["title"] for info in json.loads(line.run("session", "list", "--format", "json").stdout)]


def test_continue_and_session_send_the_history_again(line, server):
    first = line.turn("my name is Ada")
    second = line.turn("who am I", "-c")
    third = line.turn("and now", "-s", first.session_id)
    assert [done.code for done in (first, second, third)] == [0, 0, 0]
    assert {done.session_id for done in (first, second, third)} == {first.session_id}
    assert said(server.bodies[2], "user") == ["my name is Ada", "who am I", "and now"]
    assert said(server.bodies[2], "assistant") == ["Echo: my name is Ada", "Echo: who am I"]


def test_a_title_is_the_given_one_or_the_first_fifty_characters(line):
    line.turn("one", "--title", "My title")
    line.turn("word " * 20)
    assert titles(line) == [("word " * 10).strip(), "My title"]


def test_attached_files_and_piped_text_are_in_the_request(line, project, server):
    project.write("notes.txt", "the secret is 4711\n")
    done = line.turn("read these", "-f", "notes.txt", "-f", "a.py", stdin="and this came by the pipe\n")
    sent = "\n".join(said(server.bodies[0], "user"))
    assert done.code == 0
    assert all(text in sent for text in ("read these", "the secret is 4711", "x = 1", "and this came by the pipe"))


def test_sessions_are_listed_shown_renamed_exported_and_deleted(line):
    done = line.turn('look <<tool read {"filePath":"a.py"}>>', "--title", "First")
    shown = line.run("session", "show", done.session_id).stdout
    assert "look" in shown and "a.py" in shown and "Done: look" in shown
    assert "First" in line.run("session", "tree").stdout
    assert line.run("session", "rename", done.session_id, "Second").code == 0
    assert titles(line) == ["Second"]
    exported = json.loads(line.run("export", done.session_id).stdout)
    assert exported["info"]["title"] == "Second"
    assert [part["type"] for message in exported["messages"] for part in message["parts"]].count("tool") == 1
    assert line.run("session", "delete", done.session_id).code == 2
    assert line.run("session", "delete", done.session_id, "--yes").code == 0
    assert titles(line) == []


def test_deleting_leaves_no_record(line, paths):
    done = line.turn('plan <<tool todowrite {"todos":[{"id":"1","content":"a","status":"pending","priority":"low"}]}>>')
    assert done.parts("tool_use")[0]["state"]["status"] == "completed"
    line.run("session", "delete", done.session_id, "--yes")
    left = [str(path) for path in paths.storage.rglob("*.json") if "project" not in path.parts]
    assert [path for path in left if done.session_id in path or "/message/" in path or "/part/" in path] == []


def test_a_message_that_is_not_utf_8_is_sent_as_far_as_it_is(line, server):
    done = line.turn("caf\udce9 and \udcff")
    assert (done.code, titles(line)) == (0, ["caf? and ?"])
    assert said(server.bodies[0], "user") == ["caf? and ?"]
