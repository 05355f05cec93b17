"""The import of sessions, through either api: they open, go on, fork, and appear in lists."""

import json
from pathlib import Path

import pytest

from opencode_tui.schema.api.importing import ImportRequest, import_origin
from opencode_tui.schema.api.request import CreateSession, ForkSession
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.session.part import TextPart
from tests.support.importing.fixtures import PROJECT, unpack
from tests.support.provider import strict_openai

pytestmark = pytest.mark.slow


def request_for(api, path: Path) -> ImportRequest:
    return ImportRequest(path=str(path), map={PROJECT: str(api.project.path)})


async def test_stores_are_found_and_imported(api, environ, tmp_path):
    assert await api.client.imports.available() is False
    assert await api.client.imports.stores() == []
    data = unpack("1.18.33", Path(environ["XDG_DATA_HOME"]) / "opencode")
    assert await api.client.imports.available() is True
    info = await api.client.sessions.create(CreateSession())
    exported = tmp_path / "session.json"
    exported.write_text(json.dumps({"info": info.to_dict(), "messages": []}))
    await api.client.imports.run(ImportRequest(source=str(exported)))
    await api.client.sessions.remove(info.id)
    assert await api.client.imports.available() is True
    [store] = await api.client.imports.stores()
    assert (store.label, store.path, store.sessions, store.new) == ("OpenCode 1.18", str(data / "opencode.db"), 4, 4)
    preview = await api.client.imports.run(ImportRequest(stores=[store.path], dry_run=True))
    assert (preview.new, len(await api.client.sessions.everywhere())) == (4, 0)
    report = await api.client.imports.run(ImportRequest(stores=[store.path]))
    assert (report.new, len(await api.client.sessions.everywhere())) == (4, 4)
    [store] = await api.client.imports.stores()
    assert (store.new, store.newer) == (0, 0)
    assert await api.client.imports.available() is False
    assert await api.client.imports.progress() is None
    assert await api.client.imports.cancel() is False


@pytest.mark.parametrize("version", ["1.1.65", "1.18.33"])
async def test_every_imported_session_continues_with_a_valid_request(api, tmp_path, version):
    await api.client.imports.run(request_for(api, unpack(version, tmp_path / "opencode")))
    sessions = await api.client.sessions.list()
    assert len(sessions) == 4
    for session in sessions:
        before = await api.client.messages.list(session.id)
        api.model.requests.clear()
        answer = await api.say(session, "and now")
        assert [part.text for part in answer.parts if isinstance(part, TextPart)] == ["Echo: and now"]
        after = await api.client.messages.list(session.id)
        assert [one.info.id for one in after[: len(before)]] == [one.info.id for one in before]
        assert len(api.model.bodies) == 1
        assert [strict_openai.violations(body) for body in api.model.bodies] == [[]]


async def test_imported_sessions_are_listed_forked_and_renamed(api, tmp_path):
    await api.client.imports.run(request_for(api, unpack("1.1.65", tmp_path / "opencode")))
    sessions = await api.client.sessions.list()
    assert {one.directory for one in sessions} == {str(api.project.path)}
    origin = import_origin(sessions[0])
    assert origin is not None
    assert (origin.tool, origin.id, origin.version) == ("opencode", sessions[0].id, "1.1.65")
    source = next(one for one in sessions if one.title == "Title: alpha beta")
    fork = await api.client.sessions.fork(source.id, ForkSession())
    await api.client.sessions.wait_copied(fork.id)
    assert len(await api.client.messages.list(fork.id)) == len(await api.client.messages.list(source.id)) == 16
    assert [one.content for one in await api.client.sessions.todos(source.id)] == ["first"]


async def test_a_session_that_was_continued_there_is_completed(api, tmp_path):
    data = unpack("1.1.65", tmp_path / "opencode")
    await api.client.imports.run(request_for(api, data))
    session = next(one for one in await api.client.sessions.list() if one.title == "Title: alpha beta")
    count = len(await api.client.messages.list(session.id))
    add_message(data, session.id)
    report = await api.client.imports.run(request_for(api, data))
    assert (report.new, report.newer, report.same) == (0, 1, 3)
    assert len(await api.client.messages.list(session.id)) == count + 1
    assert (await api.client.imports.run(request_for(api, data))).newer == 0


async def test_a_session_that_was_continued_here_too_is_left_as_it_is(api, tmp_path):
    data = unpack("1.1.65", tmp_path / "opencode")
    await api.client.imports.run(request_for(api, data))
    session = next(one for one in await api.client.sessions.list() if one.title == "Title: alpha beta")
    await api.say(session, "here")
    before = [one.info.id for one in await api.client.messages.list(session.id)]
    add_message(data, session.id)
    report = await api.client.imports.run(request_for(api, data))
    assert [(one.id, one.state) for one in report.sessions] == [(session.id, "skipped")]
    assert "continued both here and there" in str(report.sessions[0].reason)
    assert [one.info.id for one in await api.client.messages.list(session.id)] == before


async def test_an_export_of_ours_is_imported_elsewhere(api, tmp_path):
    made = await api.new_session(title="exported")
    await api.say(made, "hello")
    messages = await api.client.messages.list(made.id)
    exported = {"info": made.to_dict(), "messages": [message.to_dict() for message in messages]}
    path = tmp_path / "session.json"
    await api.client.sessions.remove(made.id)
    path.write_text(json.dumps(exported))
    report = await api.client.imports.run(ImportRequest(source=str(path)))
    assert (report.new, report.problems) == (1, [])
    assert [one.to_dict() for one in await api.client.messages.list(made.id)] == exported["messages"]
    again = await api.client.imports.run(ImportRequest(source=str(path)))
    assert (again.new, again.same, again.records) == (0, 1, 0)


async def test_what_cannot_be_imported_is_named(api, tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        await api.client.imports.run(ImportRequest(path=str(tmp_path / "absent")))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="holds no sessions"):
        await api.client.imports.run(ImportRequest(path=str(tmp_path / "empty")))
    (tmp_path / "text.json").write_text("hello")
    with pytest.raises(ConfigError, match="is not an exported session"):
        await api.client.imports.run(ImportRequest(source=str(tmp_path / "text.json")))


def add_message(data: Path, session_id: str) -> None:
    """Continue a session there by one request of the user."""
    [record] = (data / "storage" / "session").glob(f"*/{session_id}.json")
    info = json.loads(record.read_text())
    info["time"]["updated"] += 60_000
    record.write_text(json.dumps(info))
    folder = data / "storage" / "message" / session_id
    last = json.loads(max(folder.iterdir()).read_text())
    name = "msg_ffffffffffffAAAAAAAAAAAAAA"
    model = {"providerID": "fake", "modelID": "fake-model"}
    message = {"id": name, "sessionID": session_id, "role": "user", "agent": "build", "model": model}
    created = {"created": last["time"]["created"] + 1}
    (folder / f"{name}.json").write_text(json.dumps({**message, "time": created}))
