"""The event parser: whatever line ends and cuts there are, the same events."""

from collections import deque
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.provider.decode.delta import ProtocolError
from opencode_tui.engine.provider.decode.response import SseParser
from tests.support.rows import each


def parse(*chunks: bytes) -> list[bytes]:
    parser = SseParser()
    return [data for chunk in chunks for data in parser.feed(chunk)] + parser.end()


@each(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data: one\ndata: two\n\n", [b"one\ntwo"]),
        (b": a comment\n\ndata: a\n\n", [b"a"]),
        (b"event: x\nid: 7\nretry: 10\ndata: a\n\n", [b"a"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data\n\n", [b""]),
        (b'error: {"code":500}\n\ndata: a\n\n', [b'{"error":{"code":500}}', b"a"]),
        (b"error: out of memory\n\n", [b'{"error":"out of memory"}']),
        (b"errors: a\n\n", []),
        (b"data:  a\n\n", [b" a"]),
        (b"database: a\n\n", []),
        (b"\n\n\n", []),
        (b"data: without an end", [b"without an end"]),
    ],
)
def test_events_are_found_as_the_standard_says(stream: bytes, events: list[bytes]) -> None:
    assert parse(stream) == events
    assert parse(*(bytes([byte]) for byte in stream)) == events


@given(
    st.lists(st.sampled_from([b"data: a", b"data:b", b": c", b"event: d", b"", b"data: \xc3\xa9"]), max_size=12),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.integers(0, 90), max_size=6),
)
def test_cuts_change_nothing(lines: list[bytes], newline: bytes, cuts: list[int]) -> None:
    stream = b"".join(line + newline for line in lines)
    places = [0, *sorted({min(cut, len(stream)) for cut in cuts}), len(stream)]
    pieces = [stream[begin:end] for begin, end in pairwise(places)]
    assert parse(*pieces) == parse(stream)


def test_a_carriage_return_at_the_end_of_a_chunk_already_ends_the_line() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\r") == [b"a"]
    assert parser.feed(b"\ndata: b\r\n\r\n") == [b"b"]


@pytest.mark.parametrize("piece", [b"x" * 100, b"data: " + b"x" * 100 + b"\n"])
def test_an_event_without_bounds_is_refused(piece: bytes) -> None:
    parser = SseParser(max_event_bytes=1000)
    with pytest.raises(ProtocolError, match="one event is larger"):
        deque((parser.feed(piece) for _ in range(100)), maxlen=0)
