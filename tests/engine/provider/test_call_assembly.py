"""Which pieces make which call, whatever ids, positions and names a server sends."""

import pytest

from opencode_tui.engine.provider.call_assembly import ARGUMENT_LIMIT, CallAssembler
from opencode_tui.engine.provider.decode.delta import ProtocolError, WireCall
from tests.support.rows import each

A, B = '{"path": "a"}', '{"path": "b"}'
Piece = tuple[int | None, str | None, str | None, object]
HALVES = ('{"path"', ': "a"}')


def assemble(*pieces: WireCall, used: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    assembler = CallAssembler(tools=("read", "write", "todoread"), used_ids=used)
    for piece in pieces:
        assembler.add(piece)
    return [(call.name, call.raw) for call in assembler.calls]


@each(
    ("pieces", "calls"),
    [
        pytest.param([(0, "x", "read", HALVES[0]), (0, None, None, HALVES[1])], [("read", A)], id="one call in pieces"),
        pytest.param(
            [(0, "x", "read", A), (0, "y", "read", B)], [("read", A), ("read", B)], id="a new id at one position"
        ),
        pytest.param(
            [(0, None, "read", A), (0, None, "write", B)], [("read", A), ("write", B)], id="a new name at one position"
        ),
        pytest.param(
            [(0, None, "read", A), (0, None, "read", B)],
            [("read", A), ("read", B)],
            id="the name after a whole call",
        ),
        pytest.param(
            [(0, "x", "read", HALVES[0]), (0, "x", "read", HALVES[1])], [("read", A)], id="name and id on every piece"
        ),
        pytest.param([(None, "x", "read", HALVES[0]), (None, "x", None, HALVES[1])], [("read", A)], id="no position"),
        pytest.param(
            [(None, None, "read", HALVES[0]), (None, None, None, HALVES[1])],
            [("read", A)],
            id="neither id nor position",
        ),
        pytest.param([(0, "x", "read", A), (1, "x", "read", B)], [("read", A), ("read", B)], id="one id for two calls"),
        pytest.param(
            [(0, "x", "read", HALVES[0]), (1, "y", "write", B), (0, None, None, HALVES[1])],
            [("read", A), ("write", B)],
            id="pieces of two calls in turns",
        ),
        pytest.param([(0, "x", "re", None), (0, None, "ad", A)], [("read", A)], id="the name in pieces"),
        pytest.param([(0, "x", "readread", A)], [("read", A)], id="a doubled name"),
        pytest.param([(0, "x", "Read_File", A)], [("Read_File", A)], id="a name that no tool has"),
        pytest.param([(0, None, "read", HALVES[0]), (0, "x", None, HALVES[1])], [("read", A)], id="the id comes late"),
        pytest.param([(0, "x", "read", {"path": "a"})], [("read", A)], id="arguments as a value"),
        pytest.param([(0, "x", "todoread", ""), (0, None, None, None)], [("todoread", "")], id="no arguments"),
    ],
)
def test_pieces_find_their_call(
    pieces: list[tuple[int | None, str | None, str | None, object]], calls: list[tuple[str, str]]
) -> None:
    assert assemble(*(WireCall(*piece) for piece in pieces)) == calls


def test_ids_are_unique_and_the_providers_own_where_it_gives_one() -> None:
    assembler = CallAssembler(tools=("read",), used_ids=("call_0",))
    pieces = [
        WireCall(0, "call_0", "read", A),
        WireCall(1, "call_0", "read", B),
        WireCall(2, "", "read", A),
        WireCall(3, None, "read", A),
    ]
    for piece in pieces:
        assembler.add(piece)
    ids = [call.id for call in assembler.calls]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 4
    assert all(ids)


def test_a_call_without_a_name_is_not_to_be_run() -> None:
    assembler = CallAssembler(tools=(), used_ids=())
    call = assembler.finished(assembler.add(WireCall(0, "x", None, A)), flaw=None)
    assert (call.tool, call.input) == ("invalid", {})
    assert str(call.error).startswith("The call has no tool name.")


def test_arguments_that_are_too_large_are_dropped_and_the_call_is_refused() -> None:
    assembler = CallAssembler(tools=("read", "write"), used_ids=())
    piece = "x" * (1 << 20)
    assembler.add(WireCall(0, "a", "write", '{"content": "'))
    for _ in range(40):
        assembler.add(WireCall(0, None, None, piece))
    assembler.add(WireCall(1, "b", "read", A))
    large, small = (assembler.finished(call, flaw=None) for call in assembler.calls)
    assert (large.id, large.tool, large.input, large.raw) == ("a", "write", {}, "")
    assert large.error is not None
    assert "larger than 16 MB" in large.error
    assert (small.tool, small.input, small.error) == ("read", {"path": "a"}, None)
    assert [call.size for call in assembler.calls] == [0, len(A)]


@pytest.mark.slow
def test_the_arguments_of_all_calls_are_bounded_together() -> None:
    assembler = CallAssembler(tools=("write",), used_ids=())
    for number in range(6):
        assembler.add(WireCall(number, f"call_{number}", "write", '{"content": "' + "x" * (10 << 20) + '"}'))
    finished = [assembler.finished(call, flaw=None) for call in assembler.calls]
    assert [call.error is None for call in finished] == [True, True, True, False, False, False]


def test_many_small_pieces_are_joined() -> None:
    assembler = CallAssembler(tools=("write",), used_ids=())
    text = '{"content": "' + "xy" * 20_000 + '"}'
    for at in range(0, len(text), 2):
        assembler.add(WireCall(0, "a", "write" if at == 0 else None, text[at : at + 2]))
    [call] = assembler.calls
    assert call.raw == text
    assert len(call.pieces) < 5_000


def test_calls_past_the_limit_are_refused_one_by_one() -> None:
    assembler = CallAssembler(tools=("read",), used_ids=())
    for number in range(200):
        assembler.add(WireCall(number, f"call_{number}", "read", A))
    errors = [assembler.finished(call, flaw=None).error for call in assembler.calls]
    assert errors[:128] == [None] * 128
    assert ["at most 128 calls" in (error or "") for error in errors[128:]] == [True] * 72


def test_an_answer_of_nothing_but_calls_is_given_up() -> None:
    assembler = CallAssembler(tools=("read",), used_ids=())
    for number in range(1_024):
        assembler.add(WireCall(number, f"call_{number}", "read", A))
    with pytest.raises(ProtocolError, match="more than 1024 tool calls"):
        assembler.add(WireCall(1_024, "call_1024", "read", A))


def test_a_call_that_is_larger_than_the_limit_is_refused_and_another_one_runs() -> None:
    assembler = CallAssembler(tools=("read", "write"), used_ids=())
    half = "x" * (ARGUMENT_LIMIT // 2)
    for piece in ('{"path": "', half, half):
        assembler.add(WireCall(0, "a", "write", piece))
    assembler.add(WireCall(1, "b", "read", A))
    assert [call.refusal is None for call in assembler.calls] == [False, True]


@pytest.mark.parametrize("none", ["null", "", "None", None])
@pytest.mark.parametrize("name", ["", None])
def test_an_id_that_is_none_continues_the_call(none: str | None, name: str | None) -> None:
    """As Mistral's API sends the pieces of a call."""
    assembler = CallAssembler(tools=["read"], used_ids=())
    pieces = [WireCall(0, "X", "read", ""), WireCall(0, none, name, '{"a"'), WireCall(0, none, name, ": 1}")]
    assert len({id(assembler.add(piece)) for piece in pieces}) == 1
    (call,) = assembler.calls
    found = assembler.finished(call, flaw=None)
    assert (found.id, found.tool, found.input, found.error) == ("X", "read", {"a": 1}, None)


def test_a_piece_without_a_name_continues_an_incomplete_call_whatever_its_id_is() -> None:
    assembler = CallAssembler(tools=["read"], used_ids=())
    for piece in (WireCall(0, "X", "read", '{"a"'), WireCall(0, "Y", "", ": 1}"), WireCall(0, "Z", "read", '{"a": 2}')):
        assembler.add(piece)
    inputs = [assembler.finished(call, flaw=None).input for call in assembler.calls]
    assert inputs == [{"a": 1}, {"a": 2}]


def test_calls_whose_ids_are_all_null_are_told_apart_by_their_positions() -> None:
    assembler = CallAssembler(tools=["read"], used_ids=())
    for at in range(3):
        assembler.add(WireCall(at, "null", "read", ""))
        assembler.add(WireCall(at, "null", "", f'{{"a": {at}}}'))
    found = [assembler.finished(call, flaw=None) for call in assembler.calls]
    assert [one.input for one in found] == [{"a": 0}, {"a": 1}, {"a": 2}]
    assert len({one.id for one in found}) == 3 and all(one.id != "null" for one in found)
