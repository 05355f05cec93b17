import json

from tests.support.sessions.stored import read_store

SESSION, MESSAGE = "ses_e08af03fbffe4Kyj8SNmUqrfd7", "msg_1f750fda6001yIouiNC4kwSELQ"
TEXT = {"id": "prt_1f750fda7001yIouiNC4kwSELQ", "sessionID": SESSION, "messageID": MESSAGE, "type": "text", "text": "a"}


def write(storage, part: dict | str) -> None:
    path = storage / "part" / MESSAGE / f"{TEXT['id']}.json"
    path.parent.mkdir(parents=True)
    path.write_text(part if isinstance(part, str) else json.dumps(part))


def test_a_torn_record_is_a_complaint_and_no_record(tmp_path):
    write(tmp_path, json.dumps(TEXT)[:40])
    stored = read_store(tmp_path)
    assert (len(stored.damaged), stored.records) == (1, {})


def test_a_part_without_its_message_is_a_stray(tmp_path):
    write(tmp_path, TEXT)
    stored = read_store(tmp_path)
    assert (stored.damaged, stored.strays, stored.unfinished) == ([], [TEXT["id"]], [])


def test_an_open_text_and_a_running_call_are_unfinished(tmp_path):
    write(tmp_path / "text", {**TEXT, "time": {"start": 1}})
    call = {"callID": "c", "tool": "read", "state": {"status": "running", "input": {}, "time": {"start": 1}}}
    write(tmp_path / "tool", {**TEXT, "type": "tool", **call})
    assert read_store(tmp_path / "text").unfinished == [f"text {TEXT['id']}"]
    assert read_store(tmp_path / "tool").unfinished == [f"tool {TEXT['id']}"]
