import io
import json
import tarfile
from pathlib import Path

import pytest

from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.record import Record, ValidationError
from opencode_tui.schema.session import part as part_module
from opencode_tui.schema.session.message import MESSAGE, AssistantMessage, MessagePath, MessageTime
from opencode_tui.schema.session.part import PART, parse_part
from opencode_tui.schema.session.session import SessionInfo, default_title, is_default_title
from tests.support.rows import each

ARCHIVE = Path(__file__).parent / "data" / "opencode-fixtures.tar.gz"
VALIDATE = {
    "session": SessionInfo.model_validate_json,
    "message": MESSAGE.validate_json,
    "part": PART.validate_json,
    "project": ProjectInfo.model_validate_json,
}


def fixture_records():
    with tarfile.open(ARCHIVE) as archive:
        for member in archive.getmembers():
            _, found, path = member.name.partition("/data/opencode/storage/")
            kind = path.split("/")[0]
            if found and kind in VALIDATE and path.endswith(".json"):
                yield kind, path, (archive.extractfile(member) or io.BytesIO()).read()


def unknown_fields(record: object, path: str = "") -> list[str]:
    if isinstance(record, list):
        return [name for item in record for name in unknown_fields(item, path)]
    if not isinstance(record, Record):
        return []
    found = [f"{type(record).__name__}.{name}" for name in record.model_extra or {}]
    for name in type(record).model_fields:
        found += unknown_fields(getattr(record, name), path)
    return found


def test_every_record_of_a_real_data_folder_survives_a_rewrite():
    count = 0
    for kind, path, data in fixture_records():
        assert json.loads(VALIDATE[kind](data).to_json()) == json.loads(data), path
        count += 1
    assert count == 324


def test_every_field_of_a_real_data_folder_is_known():
    assert {name for kind, _, data in fixture_records() for name in unknown_fields(VALIDATE[kind](data))} == set()


def test_unknown_fields_and_nulls_in_free_data_survive_a_rewrite():
    raw = {
        "id": "prt_1",
        "sessionID": "ses_1",
        "messageID": "msg_1",
        "type": "tool",
        "callID": "c",
        "tool": "x",
        "state": {"status": "pending", "input": {"a": None, "b": [None]}, "raw": "", "later": {"z": None}},
        "future": None,
    }
    assert PART.validate_python(raw).to_dict() == raw


def test_optional_fields_are_absent_not_null():
    message = AssistantMessage(
        id="msg_1",
        session_id="ses_1",
        parent_id="msg_0",
        model_id="m",
        provider_id="p",
        mode="build",
        path=MessagePath(cwd="/", root="/"),
        time=MessageTime(created=1),
    )
    assert None not in message.to_dict().values()
    assert json.loads(message.to_json())["time"] == {"created": 1}


def test_parts_are_told_apart_by_their_type():
    with pytest.raises(ValueError, match="type"):
        PART.validate_json('{"id":"a","sessionID":"b","messageID":"c","type":"nothing"}')


def test_a_large_part_is_decoded_as_a_small_one(monkeypatch: pytest.MonkeyPatch):
    parts = [(data, parse_part(data)) for kind, _, data in fixture_records() if kind == "part"]
    assert parts
    monkeypatch.setattr(part_module, "LARGE_RECORD", 0)
    assert [parse_part(data) for data, _ in parts] == [part for _, part in parts]
    nested = b'{"type": "text", "more": %s%s}' % (b"[" * 100_000, b"]" * 100_000)
    for damaged in (b'{"id": "a"', b'{"id": "a"}', nested):
        with pytest.raises(ValidationError):
            parse_part(damaged)


def test_a_default_title_is_recognised_and_a_persons_is_not():
    title = default_title(1_795_142_494_440, is_child=False)
    assert title == "New session - 2026-11-20T02:41:34.440Z"
    assert is_default_title(title) and is_default_title(default_title(5, is_child=True))
    assert not is_default_title("New session - tomorrow")


@each(
    "stamp",
    [
        "2026-11-20T02:41:34Z",
        "2026-11-20T02:41:34.440",
        "2026-11-20T02:41:34.440+00:00",
        "2026-11-20 02:41:34.440Z",
        "2026-13-20T02:41:34.440Z",
        "2026-02-30T02:41:34.440Z",
        "2026-11-20T24:41:34.440Z",
        "2026-11-20T02:41:34.4400000Z",
        "20261120T024134.440Z",
        "٢026-11-20T02:41:34.440Z",
        "Child session - 2026-11-20T02:41:34.440Z",
        " 2026-11-20T02:41:34.440Z",
        "2026-11-20T02:41:34.440Z ",
    ],
)
def test_another_form_of_a_time_is_a_persons_title(stamp: str) -> None:
    assert not is_default_title(f"New session - {stamp}")


def test_half_a_character_becomes_a_question_mark_in_a_record():
    part = PART.validate_python(
        {"id": "a", "sessionID": "b", "messageID": "c", "type": "text", "text": "caf\udce9 中", "k": ["\ud800"]}
    )
    assert json.loads(part.to_json())["text"] == "caf? 中"
    assert part.to_json().startswith(b'{\n  "id"')
