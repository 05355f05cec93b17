"""The attachments of a run by marker, and drafts made from what was sent."""

import base64

from opencode_tui.schema.session.part import AnyPart, FilePart, FilePartSource, SourceText, TextPart
from opencode_tui.tui.prompt.attachments import KEPT, Attachments
from opencode_tui.tui.prompt.draft import Attachment, Draft, paste_marker
from opencode_tui.tui.prompt.sent import draft_of
from tests.support.rows import each

ONE = Attachment(data=b"one", mime="image/png", name="one.png")
TWO = Attachment(data=b"two", mime="image/png", name="two.png")
PDF = Attachment(mime="application/pdf", name="a.pdf", url="data:application/pdf;base64,AAAA")


def lines(letter: str) -> Attachment:
    return Attachment(text="\n".join(letter * 6))


def kept(*texts: str) -> Attachments:
    """Return attachments of a run that has these texts."""
    return Attachments(lambda: texts)


def picture(one: Attachment, source: str = "", name: str = "") -> FilePart:
    """Return the part of a picture, with the words of the prompt that name it."""
    text = SourceText(value=source, start=0, end=len(source))
    url = one.url or f"data:{one.mime};base64,{base64.b64encode(one.data).decode()}"
    where = FilePartSource(type="file", path=f"/work/{one.name}", text=text) if source else None
    return FilePart(
        id="prt_1",
        session_id="ses_1",
        message_id="msg_1",
        mime=one.mime,
        filename=name or one.name,
        url=url,
        source=where,
    )


def text_part(text: str, *, synthetic: bool = False) -> TextPart:
    return TextPart(id="prt_1", session_id="ses_1", message_id="msg_1", text=text, synthetic=synthetic or None)


def test_two_attachments_of_a_run_have_two_markers_whatever_happened_to_the_first_text() -> None:
    run = kept()
    assert [run.add(lines(letter), "") for letter in "AB"] == ["[Pasted 6 lines]", "[Pasted 6 lines #2]"]
    assert [run.add(one, "") for one in (ONE, TWO, PDF)] == ["[Image 1]", "[Image 2]", "[File 1]"]
    assert run.draft("[Pasted 6 lines #2] x").whole == "B\nB\nB\nB\nB\nB x"


def test_the_same_attachment_has_its_marker_again_but_once_in_a_text() -> None:
    run = kept()
    assert [run.add(ONE, ""), run.add(ONE, "see "), run.add(ONE, "see [Image 1]")] == ["[Image 1]"] * 2 + ["[Image 2]"]


def test_words_that_look_like_a_marker_become_none() -> None:
    run = kept("an old prompt about [Image 1]", "a draft about [Image 2]")
    assert run.add(ONE, "and [Image 3]") == "[Image 4]"


def test_attachments_that_no_text_has_are_dropped_in_the_end() -> None:
    texts = ["kept [Pasted 2 characters]"]
    run = Attachments(lambda: texts)
    first = run.adopt(Draft("[Pasted 2 characters]", {"[Pasted 2 characters]": Attachment(text="aa")}))
    for number in range(3 * KEPT):
        run.add(Attachment(text=f"{number:03}"), "")
    assert run.get(first) is not None
    markers = [paste_marker("xxx", number) for number in range(1, 3 * KEPT + 1)]
    assert KEPT <= sum(run.get(marker) is not None for marker in markers) <= 2 * KEPT


@each(
    "text, attachments, shown, sent",
    [
        ("look [Image 1]", {"[Image 1]": ONE}, "look [Image 1]", [ONE]),
        ("look [Image 1]", {"[Image 1]": TWO}, "look [Image 2]", [TWO]),
        ("[Image 1] [Image 2]", {"[Image 1]": TWO, "[Image 2]": PDF}, "[Image 3] [Image 2]", [TWO, PDF]),
        ("only words", {}, "only words", []),
        ("about [Image 1]", {}, "[Pasted 15 characters]", []),
        ("a\x1b[31mb", {}, "[Pasted 7 characters]", []),
        ("a\x00 [Image 2] b", {"[Image 2]": TWO}, "[Pasted 3 characters][Image 2] b", [TWO]),
    ],
)
def test_a_draft_is_sent_as_it_was_whatever_markers_this_run_has(text, attachments, shown, sent) -> None:
    run = kept()
    run.add(ONE, "")
    adopted = run.draft(run.adopt(Draft(text, attachments)))
    assert adopted.text == shown
    assert [part.filename for part in adopted.parts()] == [one.name for one in sent]
    if shown in (text, "[Pasted 15 characters]", "[Pasted 7 characters]"):
        assert adopted.whole == text


def test_a_pasted_text_is_unfolded_unless_the_editor_would_change_it() -> None:
    run = kept()
    run.add(ONE, "")
    texts = {"[Pasted 1 characters]": "x", "[Pasted 2 characters]": "\x07y", "[Pasted 3 lines]": "[Image 1]\n\n"}
    draft = Draft(" ".join(texts), {marker: Attachment(text=text) for marker, text in texts.items()})
    assert run.unfold(draft) == "x [Pasted 2 characters] [Pasted 3 lines]"


def test_a_marker_inside_a_pasted_text_is_a_part_of_it() -> None:
    inner = {"[Pasted 2 lines]": Attachment(text="[Pasted 3 lines]\n"), "[Pasted 3 lines]": Attachment(text="1\n2\n3")}
    assert Draft("[Pasted 2 lines]", inner).whole == "[Pasted 3 lines]\n"
    assert Draft("[Pasted 3 lines]|[Pasted 3 lines]", inner).whole == "1\n2\n3|1\n2\n3"


def test_words_have_no_marker_of_a_file() -> None:
    draft = Draft(
        "a [Image 1] [Pasted 1 characters]", {"[Image 1]": ONE, "[Pasted 1 characters]": Attachment(text="x")}
    )
    assert (draft.words, draft.whole) == ("a  x", "a [Image 1] x")


@each(
    "parts, text, attachments",
    [
        ([text_part("hi")], "hi", {}),
        ([text_part("hi"), text_part("for the model", synthetic=True)], "hi", {}),
        ([text_part("see [Image 1]"), picture(ONE)], "see [Image 1]", {"[Image 1]": ONE}),
        (
            [text_part("[Image 5] [Image 3]"), picture(ONE), picture(TWO)],
            "[Image 5] [Image 3]",
            {"[Image 3]": ONE, "[Image 5]": TWO},
        ),
        ([text_part("see"), picture(ONE)], "see [Image 1]", {"[Image 1]": ONE}),
        (
            [text_part("see [Image 1]"), picture(ONE), picture(TWO)],
            "see [Image 1] [Image 2]",
            {"[Image 1]": ONE, "[Image 2]": TWO},
        ),
        ([text_part(""), picture(ONE)], "[Image 1]", {"[Image 1]": ONE}),
        ([text_part("see @one.png"), picture(ONE, "@one.png")], "see @one.png", {}),
        ([text_part("see @one.png"), picture(ONE)], "see @one.png", {}),
        ([text_part('see @"one.png"'), picture(ONE)], 'see @"one.png"', {}),
        ([text_part("other words"), picture(ONE, "@one.png")], "other words [Image 1]", {"[Image 1]": ONE}),
        ([text_part("read"), picture(PDF)], "read [File 1]", {"[File 1]": PDF}),
    ],
)
def test_a_request_becomes_the_draft_that_sends_it(parts: list[AnyPart], text, attachments) -> None:
    draft = draft_of(parts)
    assert (draft.text, dict(draft.attachments)) == (text, attachments)


def test_a_picture_that_is_no_base64_is_given_back_by_its_address() -> None:
    broken = FilePart(
        id="prt_1",
        session_id="ses_1",
        message_id="msg_1",
        mime="image/png",
        filename="one.png",
        url="data:image/png;base64,A",
    )
    (part,) = draft_of([text_part("see"), broken]).parts()
    assert part.url == broken.url
