"""Generated histories: whatever a session can have gone through. For property tests of requests."""

import string

from hypothesis import strategies as st

from opencode_tui.schema.error import ApiData, StoredApiError, aborted
from tests.support.build import assistant, call, compaction, image, reasoning, step_start, text, user

SIGNED = {"anthropic": {"signature": "s"}}
TEXTS = st.text(string.ascii_letters + " \n\t\ud800\u200b中", max_size=6)
IDS = st.sampled_from(["c1", "c2", "", "a b", "functions.read:0", "x" * 90, "ü"])
CALLS = st.builds(
    call,
    IDS,
    tool=st.sampled_from(["read", "bash", "mcp.server/tool", "task"]),
    status=st.sampled_from(["pending", "running", "completed", "error"]),
    output=st.sampled_from(["", " ", "out", "a\ud800b"]),
    pruned=st.booleans(),
    metadata=st.sampled_from([None, {"google": {"thoughtSignature": "g"}}]),
)
THOUGHTS = st.builds(
    reasoning,
    TEXTS,
    metadata=st.sampled_from([None, {}, SIGNED, {"anthropic": {"redactedData": "x"}}, {"openai": {"id": "r"}}]),
)
ANSWER_PARTS = st.one_of(TEXTS.map(text), CALLS, THOUGHTS, st.builds(step_start))
REQUEST_PARTS = st.one_of(
    TEXTS.map(text),
    TEXTS.map(lambda content: text(content, synthetic=True)),
    TEXTS.map(lambda content: text(content, ignored=True)),
    st.builds(image),
    st.builds(compaction),
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
HISTORIES = st.lists(st.one_of(REQUESTS, ANSWERS), max_size=9)
"""Messages in any order: aborted, crashed, retried, pruned, compacted, of several providers."""
