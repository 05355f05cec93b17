"""Generated histories: whatever a session can have gone through. For property tests of requests."""

import string
from typing import Any

from hypothesis import strategies as st

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import RetryPart, RetryTime, SubtaskPart, ToolPart
from opencode_tui.schema.session.stored_error import ApiData, StoredApiError, aborted
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from tests.support.sessions.records import (
    assistant,
    call,
    compaction,
    image,
    owner,
    reasoning,
    step_start,
    text,
    user,
)

SIGNED = {"anthropic": {"signature": "s"}}
SIGNATURE = {"google": {"thoughtSignature": "g"}}
ENCRYPTED = [
    {"openai": own}
    for own in (
        {"itemId": "rs_1"},
        {"itemId": "rs_1", "reasoningEncryptedContent": "E"},
        {"itemId": "rs_2", "reasoningEncryptedContent": "F"},
        {"reasoningEncryptedContent": "G"},
    )
]
TEXTS = st.text(string.ascii_letters + " \n\t\ud800\u200b中", max_size=6)
IDS = st.sampled_from(["c1", "c2", "", "a b", "functions.read:0", "x" * 90, "ü"])
PICTURE = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,iVBOR"}


def _call(call_id: str, attachments: list[dict[str, str]], **fields: Any) -> ToolPart:
    part = call(call_id, **fields)
    if not (attachments and isinstance(part.state, ToolStateCompleted)):
        return part
    return part.changed(state=part.state.changed(attachments=attachments))


CALLS = st.builds(
    _call,
    IDS,
    st.sampled_from([[], [], [PICTURE], [PICTURE, PICTURE]]),
    tool=st.sampled_from(["read", "bash", "mcp.server/tool", "task", "1up_play", "-"]),
    status=st.sampled_from(["pending", "running", "completed", "error"]),
    output=st.sampled_from(["", " ", "out", "a\ud800b"]),
    pruned=st.booleans(),
    metadata=st.sampled_from([None, SIGNATURE, {"openai": {"itemId": "fc_1"}}]),
)
THOUGHTS = st.builds(
    reasoning,
    TEXTS,
    metadata=st.sampled_from(
        [None, {}, SIGNED, {"anthropic": {"redactedData": "x"}}, {"openai": {"id": "r"}}, SIGNATURE, *ENCRYPTED]
    ),
)
RETRIES = st.builds(
    lambda kind: RetryPart(
        **owner(),
        attempt=1,
        error=StoredApiError(data=ApiData(message="no", metadata={"kind": kind})),
        time=RetryTime(created=1),
    ),
    st.sampled_from(["media", "rate_limit"]),
)
SIGNED_TEXTS = st.builds(
    text, TEXTS, metadata=st.sampled_from([SIGNATURE, {"openai": {"itemId": "m", "phase": "commentary"}}])
)
ANSWER_PARTS = st.one_of(TEXTS.map(text), SIGNED_TEXTS, CALLS, CALLS, THOUGHTS, RETRIES, st.builds(step_start))
REQUEST_PARTS = st.one_of(
    TEXTS.map(text),
    TEXTS.map(lambda content: text(content, synthetic=True)),
    TEXTS.map(lambda content: text(content, ignored=True)),
    st.builds(image),
    st.builds(compaction),
    TEXTS.map(lambda prompt: SubtaskPart(**owner(), prompt=prompt, description="d", agent="explore")),
)
ERRORS = st.sampled_from([None, None, aborted(), StoredApiError(data=ApiData(message="no"))])
FINISH = st.sampled_from(["stop", "tool-calls", "unknown", "length", None])
ORIGIN = st.sampled_from([{}, {}, {"model_id": "other"}, {"provider_id": "other"}])

REQUESTS = st.lists(REQUEST_PARTS, max_size=3).map(lambda parts: user(*parts))
ANSWERS = st.builds(
    lambda parts, error, finish, origin: assistant(*parts, error=error, finish=finish, **origin),
    st.lists(ANSWER_PARTS, max_size=5),
    ERRORS,
    FINISH,
    ORIGIN,
)
MESSAGES = st.lists(st.one_of(REQUESTS, ANSWERS), max_size=9)


@st.composite
def _histories(draw: st.DrawFn) -> list[MessageWithParts]:
    messages = draw(MESSAGES)
    if not (messages and draw(st.booleans())):
        return messages
    at = draw(st.integers(0, len(messages)))
    tail = draw(st.sampled_from([None, *(one.info.id for one in messages[:at])]))
    marker = user(compaction(tail_id=tail))
    summary = assistant(draw(TEXTS), parent=marker, summary=True, error=draw(ERRORS), finish=draw(FINISH))
    return [*messages[:at], marker, summary, *messages[at:]]


HISTORIES = _histories()
"""Messages in any order: aborted, crashed, retried, pruned, compacted (with and without a tail), of several providers."""
