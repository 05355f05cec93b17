"""Values of a newer version in stored records: read as harmless ones, written back as they were, and never called damage."""

import json

import pytest

from opencode_tui.schema.error import CorruptRecordError
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage, UserMessage, is_waiting
from opencode_tui.schema.session.newer import parse_message, parse_stored_part
from opencode_tui.schema.session.part import AnyPart, TextPart, ToolPart
from opencode_tui.storage.doctor import check_record

PART = {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1"}
USER = {
    "id": "msg_1",
    "sessionID": "ses_1",
    "role": "user",
    "agent": "build",
    "model": {"providerID": "p", "modelID": "m"},
    "time": {"created": 1},
}
ANSWER = {
    "id": "msg_1",
    "sessionID": "ses_1",
    "role": "assistant",
    "parentID": "msg_0",
    "modelID": "m",
    "providerID": "p",
    "mode": "build",
    "path": {"cwd": "/", "root": "/"},
    "time": {"created": 1},
}
CALL = {**PART, "type": "tool", "callID": "c", "tool": "bash"}
MESSAGES: dict[str, JsonObject] = {
    "a role": {
        "id": "msg_1",
        "sessionID": "ses_1",
        "role": "system",
        "time": {"created": 1.5},
        "more": {"a": [1, None]},
    },
    "an error": {**ANSWER, "error": {"name": "QuotaError", "data": {"message": "no quota", "until": 3}}},
    "an error without a text": {**ANSWER, "error": {"name": "QuotaError"}},
    "an ending": {**ANSWER, "ending": {"name": "Ended", "data": {}}},
    "a delivery": {**USER, "delivery": "later"},
    "a delivery of another type": {**USER, "delivery": {"at": 5}},
    "a format": {**USER, "format": {"type": "xml", "schema": {}}},
    "a delivery and a format": {**USER, "delivery": "later", "format": {"type": "xml"}},
}
PARTS: dict[str, JsonObject] = {
    "a type": {**PART, "type": "hologram", "data": 1, "text": 5},
    "a status": {**CALL, "state": {"status": "paused", "input": {"command": "ls"}, "time": {"start": 1}, "x": 1}},
    "a status without times": {**CALL, "state": {"status": "paused"}},
    "a source": {
        **PART,
        "type": "file",
        "mime": "text/plain",
        "url": "file:///a",
        "source": {"type": "page", "text": {"value": "", "start": 0, "end": 0}},
    },
}


def read(record: JsonObject) -> AnyMessage | AnyPart:
    data = json.dumps(record).encode()
    return parse_stored_part(data) if "type" in record else parse_message(data)


@pytest.mark.parametrize("record", [pytest.param(one, id=name) for name, one in {**MESSAGES, **PARTS}.items()])
def test_a_record_with_an_unknown_value_is_written_back_as_it_was(record: JsonObject):
    found = read(record)
    assert json.loads(found.to_json()) == {**json.loads(found.to_json()), **record}
    assert json.loads(found.changed(session_id="ses_2").to_json())["sessionID"] == "ses_2"
    assert json.loads(found.changed().to_json()) == json.loads(found.to_json())


@pytest.mark.parametrize("record", [pytest.param(one, id=name) for name, one in {**MESSAGES, **PARTS}.items()])
def test_what_is_sent_to_clients_has_known_values_only(record: JsonObject):
    sent = read(record).to_dict()
    assert read(sent).unknown_values is None


@pytest.mark.parametrize("record", [pytest.param(one, id=name) for name, one in {**MESSAGES, **PARTS}.items()])
def test_doctor_says_newer_and_not_damaged(record: JsonObject):
    key = ("part", "msg_1", "prt_1") if "type" in record else ("message", "ses_1", "msg_1")
    assert check_record(key, json.dumps(record).encode(), "path")


def test_an_unknown_part_is_shown_and_not_sent():
    part = read(PARTS["a type"])
    assert isinstance(part, TextPart) and part.ignored and '"hologram" from a newer version' in part.text


def test_an_unknown_state_is_that_of_a_call_that_ended():
    part = read(PARTS["a status"])
    assert isinstance(part, ToolPart) and not part.is_open and part.state.input == {"command": "ls"}
    assert 'its state "paused" is from a newer version' in str(part.state)


def test_a_message_of_an_unknown_role_says_so_and_is_no_request():
    message = read(MESSAGES["a role"])
    assert isinstance(message, AssistantMessage) and message.time.completed == 1
    assert 'the role "system" from a newer version' in str(message.error)


def test_an_unknown_error_has_its_text():
    message = read(MESSAGES["an error"])
    assert isinstance(message, AssistantMessage) and "no quota" in str(message.error)


def test_a_request_of_an_unknown_delivery_is_part_of_the_conversation():
    message = read(MESSAGES["a delivery"])
    assert isinstance(message, UserMessage) and not is_waiting(message)


def test_a_value_that_replaces_an_unknown_one_is_written():
    message = read(MESSAGES["a delivery"])
    assert json.loads(message.changed(delivery="queue").to_json())["delivery"] == "queue"


def test_a_time_with_a_fraction_is_read():
    assert parse_message(json.dumps({**USER, "time": {"created": 1.5}}).encode()).time.created == 1


@pytest.mark.parametrize(
    "record",
    [
        {**USER, "time": "yesterday"},
        {**USER, "agent": 3},
        {**ANSWER, "tokens": "many"},
        {"id": "msg_1", "sessionID": "ses_1", "role": "system"},
        {"id": "msg_1", "sessionID": "ses_1", "role": 3, "time": {"created": 1}},
        {**PART, "type": "text"},
        {**PART, "type": 3},
        {**CALL, "state": 3},
        {**CALL, "state": {"status": "completed"}},
        {"type": "hologram"},
    ],
)
def test_a_wrong_type_is_damage(record: JsonObject):
    with pytest.raises(ValidationError):
        read(record)
    with pytest.raises(CorruptRecordError):
        check_record(("part", "msg_1", "prt_1"), json.dumps(record).encode(), "path")
