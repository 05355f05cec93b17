"""A session that a newer version wrote to: its turns go on here, and what is not understood stays as it was."""

import json
from pathlib import Path

import pytest

from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.part import TextPart
from opencode_tui.storage.doctor import Doctor
from opencode_tui.storage.storage import Storage
from tests.support.world.engine import opened

PARTS: dict[str, JsonObject] = {
    "prt_fffffffff00100000000000000": {"type": "hologram", "scene": {"a": 1}},
    "prt_fffffffff00200000000000000": {
        "type": "tool",
        "callID": "c9",
        "tool": "bash",
        "state": {"status": "paused", "at": 1},
    },
}


@pytest.mark.parametrize("role", ["system", "tool"])
async def test_a_conversation_with_records_of_a_newer_version_goes_on_and_keeps_them(
    environ, tmp_path, paths, role: str
):
    folder = tmp_path / "p"
    folder.mkdir()
    async with opened(environ, folder) as world:
        session = await world.prompt("the number is 4711")
    messages = sorted((paths.storage / "message" / session.id).glob("*.json"))
    answer = json.loads(messages[1].read_text())
    answer["error"] = {"name": "QuotaError", "data": {"message": "no quota left", "until": 5}}
    written: dict[Path, JsonObject] = {messages[1]: answer}
    new = messages[1].stem.replace(messages[1].stem[-14:], "z" * 14)
    written[messages[1].with_name(f"{new}.json")] = {
        "id": new,
        "sessionID": session.id,
        "role": role,
        "time": {"created": answer["time"]["created"]},
    }
    for name, fields in PARTS.items():
        record = {"id": name, "sessionID": session.id, "messageID": messages[1].stem, **fields}
        written[paths.storage / "part" / messages[1].stem / f"{name}.json"] = record
    for path, record in written.items():
        path.write_text(json.dumps(record))
    async with opened(environ, folder) as world:
        shown = await world.messages(session)
        texts = [part.text for message in shown for part in message.parts if isinstance(part, TextPart)]
        assert [message.info.role for message in shown] == ["user", "assistant", "assistant"]
        assert any("hologram" in text for text in texts)
        await world.prompt("which number?", session=session)
        sent = json.dumps(world.server.bodies[-1]["messages"])
        assert "the number is 4711" in sent and "hologram" not in sent
        fork = await world.client.sessions.fork(session.id, ForkSession())
        await world.client.sessions.wait_copied(fork.id)
        assert len(await world.messages(fork)) == 5
        report = await world.client.undo.revert(session.id)
        assert report.scope is not None and len(report.scope.messages) == 2
        await world.client.undo.commit(session.id)
    assert {path: json.loads(path.read_text()) for path in written} == written
    kinds = {finding.kind for finding in Doctor(Storage(paths)).inspect()}
    assert "newer" in kinds and "damaged" not in kinds
