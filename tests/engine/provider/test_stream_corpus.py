"""Every case of the stream corpus, from its bytes to events: text, thoughts, calls, finish, usage, errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.provider import failure
from opencode_tui.engine.provider.error.body import Reported
from opencode_tui.schema.error import ContextOverflowError
from tests.engine.provider.reading import Heard, decode, gather
from tests.support.rows import each

CASES = [json.loads(line) for line in (Path(__file__).parent / "data" / "streams.jsonl").read_text().splitlines()[1:]]
NOW_MS = 1_795_132_800_000 - 90_000
OF_THE_CONNECTION = {"stall", "reset"}
"""How a connection ends is shown by the tests of the adapter."""


def chunks_of(case: dict[str, Any]) -> list[bytes]:
    if "repeat" in (case.get("gen") or {}):
        texts = [case["chunks"][0]] * case["gen"]["repeat"] + case["chunks"][1:]
    else:
        texts = case["chunks"] if not case.get("bytewise") else list(case["bytewise"])
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def hear(case: dict[str, Any]) -> Heard:
    if case["status"] != 200:
        body = b"".join(chunks_of(case)).decode("utf-8", "replace")
        reported = Reported("test", status=case["status"], body=body, headers=case["headers"])
        return Heard(error=failure.from_response(reported, now_ms=NOW_MS))
    return gather(*decode(case["api"], chunks_of(case)))


@each("case", [case for case in CASES if not (case.get("gen") or {}).get("gzip_blanks")], ids=lambda case: case["id"])
def test_case_is_heard_as_it_was_meant(case: dict[str, Any]) -> None:
    want, heard = case["expected"], hear(case)
    if want["error"] and case["close"] not in OF_THE_CONNECTION:
        assert heard.error is not None
        assert (heard.error.failure.kind, heard.error.failure.retryable) == (
            want["error"]["kind"],
            want["error"]["retryable"],
        )
        assert isinstance(heard.error, ContextOverflowError) == (want["error"]["kind"] == "overflow")
        if wait := want["error"].get("wait_s"):
            assert heard.error.failure.retry_after_ms == wait * 1000
        return
    if want["error"]:
        return
    assert heard.error is None
    check_words(heard, want)
    check_calls(heard, want)
    check_end(heard, want)


def check_words(heard: Heard, want: dict[str, Any]) -> None:
    text = heard.joined("text")
    if want.get("text_len"):
        assert len(text) == want["text_len"]
    else:
        assert text in (want.get("text_any") or [want["text"]])
    assert heard.joined("reasoning") == want["reasoning"]
    if want.get("order"):
        assert [kind for kind, _ in heard.blocks] == want["order"]
    if want.get("signature"):
        assert [{"anthropic": {"signature": want["signature"]}}] == heard.metadata[:1]
    for data in want.get("redacted") or []:
        assert {"anthropic": {"redactedData": data}} in heard.metadata


def check_calls(heard: Heard, want: dict[str, Any]) -> None:
    assert len(heard.calls) == len(want["tools"])
    for call, wanted in zip(heard.calls, want["tools"], strict=True):
        states = want.get("tools_any_state") or [wanted["state"]]
        assert call.tool in (want.get("tools_any_name") or [wanted["name"]])
        assert wanted["id"] in (None, call.id)
        assert ("call" if call.error is None else "invalid") in states
        if call.error is None:
            assert call.input == wanted["input"]
        elif "raw" in wanted:
            assert call.raw == wanted["raw"]


def check_end(heard: Heard, want: dict[str, Any]) -> None:
    assert heard.finish is not None
    assert heard.finish.reason in (want.get("finish_any") or [want["finish"]])
    usage = heard.finish.usage
    for name, count in (want["usage"] or {}).items():
        assert getattr(usage, name) == count


@pytest.mark.slow
def test_an_event_that_never_ends_is_refused_before_it_fills_the_memory() -> None:
    _, error = decode("openai-chat", (b" " * (1 << 20) for _ in range(1024)))
    assert error is not None
    assert (error.failure.kind, error.failure.retryable) == ("protocol", False)
