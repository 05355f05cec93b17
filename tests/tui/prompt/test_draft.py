"""Large pastes and images as markers."""

import base64

from opencode_tui.schema.api.request import FileInput
from opencode_tui.tui.prompt.draft import Attachment, Draft, clean, paste_marker


def test_a_marker_says_how_much_was_pasted() -> None:
    assert paste_marker("a\nb\nc", 1) == "[Pasted 3 lines]"
    assert paste_marker("a\nb\nc\n", 1) == "[Pasted 3 lines]"
    assert paste_marker("a\nb\nc", 2) == "[Pasted 3 lines #2]"
    assert paste_marker("x" * 5000, 1) == "[Pasted 5000 characters]"


def test_what_was_pasted_is_sent_in_the_place_of_its_marker() -> None:
    draft = Draft("see [Pasted 2 lines] there", {"[Pasted 2 lines]": Attachment(text="one\ntwo")})
    assert draft.whole == "see one\ntwo there"


def test_an_image_goes_along_only_while_its_marker_stands() -> None:
    image = Attachment(data=b"png", mime="image/png", name="shot.png")
    (part,) = Draft("look at [Image 1]", {"[Image 1]": image}).parts()
    assert isinstance(part, FileInput)
    assert part.url == f"data:image/png;base64,{base64.b64encode(b'png').decode()}"
    assert Draft("look at", {"[Image 1]": image}).parts() == []


def test_what_could_steer_a_terminal_does_not_get_into_the_editor() -> None:
    assert clean("a\x1b[31mb\x07\u202ec\r\nd\re\tf") == "a[31mbc\nd\ne\tf"
