import pytest

from opencode_tui.engine.session.step.title import clean_title, is_real_request, words_for_title
from opencode_tui.schema.session.part import SubtaskPart
from tests.support.sessions.records import compaction, image, owner, text


def subtask(prompt: str) -> SubtaskPart:
    return SubtaskPart(**owner(), prompt=prompt, description="d", agent="general")


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Fix the parser", "Fix the parser"),
        ("<think>\nhm, a title\n</think>\n\n  Fix the parser  \nand more", "Fix the parser"),
        ("<think>a</think><think>b</think>Two thoughts", "Two thoughts"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 97 + "..."),
        ("\n \n", None),
        ("<think>nothing else</think>", None),
    ],
)
def test_a_title_is_the_first_line_of_the_models_answer(said: str, title: str | None) -> None:
    assert clean_title(said) == title


def test_a_request_of_subtasks_or_attachments_alone_is_named_by_them() -> None:
    assert words_for_title([subtask("look around")]) == "look around"
    assert words_for_title([image(name="shot.png"), text("Called the Read tool", synthetic=True)]) == "shot.png"


def test_a_message_of_the_programs_is_no_request() -> None:
    assert not is_real_request([text("go on", synthetic=True)])
    assert not is_real_request([compaction(), text("kept", synthetic=True)])
    assert is_real_request([text("hello")])


def test_many_tags_of_thoughts_do_not_take_long() -> None:
    assert clean_title("<think>" * 50_000 + "x</think>\nTitle") == "Title"
    assert clean_title("Title\n" + "<think>" * 50_000) == "Title"
