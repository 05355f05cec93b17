"""Long sessions made quickly: records written straight to the disk, as a session of so many turns would have left them."""

import json
from pathlib import Path
from typing import Any

from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.session.session import SessionInfo, SessionTime
from opencode_tui.storage.paths import Paths

_NUMBERS = Identifier()


def write_session(paths: Paths, *, turns: int, project_id: str = "global", directory: str = "/p", **fields: Any) -> str:
    """Write a session of so many turns, a request of one part and an answer of three each; returns its id."""
    session_id = _NUMBERS.descending("ses")
    info = SessionInfo(
        id=session_id,
        version="1",
        project_id=project_id,
        directory=directory,
        title="deep",
        time=SessionTime(created=1, updated=1),
    )
    _put(paths.storage / "session" / project_id / f"{session_id}.json", info.changed(**fields).to_dict())
    for number in range(turns):
        _write_turn(paths.storage, session_id, number)
    return session_id


def _write_turn(root: Path, session_id: str, number: int) -> None:
    user, answer = _NUMBERS.ascending("msg"), _NUMBERS.ascending("msg")
    model = {"providerID": "fake", "modelID": "fake-model"}
    shared = {"sessionID": session_id, "agent": "build"}
    _message(root, {"id": user, "role": "user", "time": {"created": number}, "model": model, **shared})
    _part(root, session_id, user, {"type": "text", "text": f"request {number}"})
    times = {"created": number, "completed": number}
    body = {
        "role": "assistant",
        "parentID": user,
        "mode": "build",
        "path": {"cwd": "/p", "root": "/p"},
        "finish": "stop",
    }
    _message(root, {"id": answer, "time": times, **body, **model, **shared})
    _part(root, session_id, answer, {"type": "step-start", "snapshot": "a" * 40})
    _part(root, session_id, answer, {"type": "text", "text": f"answer {number}"})
    _part(root, session_id, answer, {"type": "patch", "hash": "a" * 40, "after": "b" * 40, "files": ["/p/a.py"]})


def _message(root: Path, record: dict[str, Any]) -> None:
    _put(root / "message" / record["sessionID"] / f"{record['id']}.json", record)


def _part(root: Path, session_id: str, message_id: str, record: dict[str, Any]) -> None:
    part_id = _NUMBERS.ascending("prt")
    whole = {"id": part_id, "sessionID": session_id, "messageID": message_id, **record}
    _put(root / "part" / message_id / f"{part_id}.json", whole)


def _put(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2))
