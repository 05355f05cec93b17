import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    MediaBlock,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.engine.session.compaction.summary import MEDIA_TOKENS, OMITTED, conversation_text

ASK = "summarize the conversation"


def said(text: str) -> UserEntry:
    return UserEntry((TextBlock(text),))


def step(name: str, output: str, *media: MediaBlock) -> list[ModelMessage]:
    call = AssistantEntry((ThinkingBlock("hm"), TextBlock("looking"), CallBlock(name, "read", {"filePath": name})))
    return [call, ToolEntry((ResultBlock(name, "read", output, media=media),))]


def talk(entries: list[ModelMessage], room: int | None = None) -> tuple[ModelMessage, ...]:
    return conversation_text(entries, room=room, measure=len, instruction=ASK)


def texts(entries: tuple[ModelMessage, ...]) -> str:
    return "\n".join(
        block.text
        for entry in entries
        if not isinstance(entry, ToolEntry)
        for block in entry.content
        if isinstance(block, TextBlock)
    )


def size(entries: tuple[ModelMessage, ...]) -> int:
    return sum(
        MEDIA_TOKENS if isinstance(block, MediaBlock) else len(getattr(block, "text", "")) for block in blocks(entries)
    )


def blocks(entries: tuple[ModelMessage, ...]) -> list[object]:
    return [block for entry in entries if not isinstance(entry, ToolEntry) for block in entry.content]


def test_calls_and_results_become_text_without_reasoning() -> None:
    user, answer, last = talk([said("hi"), *step("a.py", "x = 1")])
    assert user == said("hi")
    assert answer == AssistantEntry((TextBlock('looking\n[called read {"filePath": "a.py"}]'),))
    assert last == UserEntry((TextBlock("[read gave]\nx = 1"), TextBlock(ASK)))


def test_roles_alternate_and_the_request_comes_last() -> None:
    entries = talk([said("a"), *step("1", "x"), *step("2", "y"), said("b"), said("c")])
    assert [type(entry) for entry in entries] == [UserEntry, AssistantEntry] * 2 + [UserEntry]
    assert isinstance(entries[-1], UserEntry) and entries[-1].content[-1] == TextBlock(ASK)


def test_media_are_removed_first() -> None:
    picture = MediaBlock("image/png", "iVBOR", "a.png")
    entries = [said("look"), *step("1", "output " * 100, picture)]
    assert any(isinstance(block, MediaBlock) for block in blocks(talk(entries)))
    short = talk(entries, room=1_500)
    assert "[attachment a.png]" in texts(short) and texts(short).count("output") == 100


def test_then_the_oldest_outputs_are_shortened_the_newest_stay() -> None:
    entries = [said("go"), *step("1", "old " * 1_000), *step("2", "new " * 1_000)]
    short = texts(talk(entries, room=5_000))
    assert short.count("new ") == 1_000 and short.count("old ") < 100 and "characters left out" in short


def test_at_last_the_beginning_is_omitted_and_marked() -> None:
    entries: list[ModelMessage] = []
    for number in range(40):
        entries += [said(f"request {number} " + "w" * 400), AssistantEntry((TextBlock("answer " + "w" * 400),))]
    short = talk(entries, room=3_000)
    assert texts(short).startswith(OMITTED) and "request 39" in texts(short) and "request 0 " not in texts(short)


def test_an_earlier_summary_is_not_shortened() -> None:
    entries: list[ModelMessage] = [said("so far?"), AssistantEntry((TextBlock("the summary " * 200),))]
    for number in range(40):
        entries += [said(f"request {number} " + "w" * 400), AssistantEntry((TextBlock("answer " + "w" * 400),))]
    short = conversation_text(entries, room=5_000, measure=len, instruction=ASK, has_summary=True)
    assert texts(short).count("the summary") == 200 and size(short) < 5_200
    assert OMITTED in texts(short) and "request 39" in texts(short)


def test_a_single_message_larger_than_the_room_is_cut() -> None:
    assert size(talk([said("x" * 50_000)], room=1_000)) < 1_200


@pytest.mark.slow
@given(st.lists(st.sampled_from("uasm"), min_size=1, max_size=30), st.integers(400, 30_000))
def test_any_conversation_fits_any_room(kinds: list[str], room: int) -> None:
    entries: list[ModelMessage] = [said("begin")]
    for number, kind in enumerate(kinds):
        match kind:
            case "u":
                entries.append(said("u" * number * 100 + "."))
            case "a":
                entries.append(AssistantEntry((TextBlock("a" * number * 100 + "."),)))
            case "s":
                entries += step(str(number), "s" * number * 300)
            case _:
                entries.append(UserEntry((MediaBlock("image/png", "x" * 90),)))
    assert size(talk(entries, room)) <= room + len(OMITTED) + len(ASK) + 60
