"""Images that a provider rejected are not sent to it again."""

import pytest

from opencode_tui.engine.provider.llm import MediaBlock, TextBlock, UserEntry
from opencode_tui.engine.session.request.media import REFUSED, find_limit
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.retry import MediaLimit, refused_media, store_cause
from opencode_tui.schema.error import Failure, ProviderError
from opencode_tui.schema.session.part import RetryPart, RetryTime
from opencode_tui.text.retry import past_reason
from tests.support.rows import each
from tests.support.sessions.records import MODEL, assistant, image, owner, user

SEES = MODEL.changed(attachment=True)


def refusal(kind: str = "media") -> RetryPart:
    error = ProviderError("image exceeds 5 MB", provider_id="fake", failure=Failure(kind=kind, status=400))
    return RetryPart(**owner(), attempt=1, error=store_cause(error), time=RetryTime(created=1))


def carried(messages, model=SEES) -> list[bool]:
    """Return for each request whether it still contains its image."""
    entries = [entry for entry in to_model_messages(messages, model) if isinstance(entry, UserEntry)]
    return [any(isinstance(block, MediaBlock) for block in entry.content) for entry in entries]


def test_what_came_before_the_refusal_is_left_out_and_what_comes_after_is_sent():
    messages = [user("a", image()), assistant(refusal(), "sorry"), user("b", image())]
    assert carried(messages) == [False, True]
    first = to_model_messages(messages, SEES)[0]
    assert first == UserEntry((TextBlock("a"), TextBlock(f"[attachment a.png left out: {REFUSED}]")))


def test_another_failure_leaves_the_image_in():
    assert carried([user("a", image()), assistant(refusal("server"), "ok"), user("b")]) == [True, False]


def test_another_model_may_accept_the_media():
    messages = [user("a", image()), assistant(refusal(), "sorry"), user("b")]
    assert carried(messages, SEES.changed(model_id="another")) == [True, False]


def test_only_a_retry_part_of_rejected_media_reports_them():
    found = [refused_media(part) for part in (refusal(), refusal("server"), image())]
    assert found == [MediaLimit(), None, None]


def limited(**values: int) -> RetryPart:
    error = ProviderError("Too many images", provider_id="fake", failure=Failure(kind="media", status=400))
    return RetryPart(**owner(), attempt=1, error=store_cause(error, MediaLimit(**values)), time=RetryTime(created=1))


def test_a_limit_of_the_number_holds_for_the_whole_conversation_and_the_newest_are_sent():
    messages = [user("a", image()), user("b", image()), assistant(limited(most=2), "ok"), user("c", image())]
    entries = to_model_messages(messages, SEES)
    blocks = [block for entry in entries if isinstance(entry, UserEntry) for block in entry.content]
    assert [isinstance(block, MediaBlock) for block in blocks] == [False, False, False, True, False, True]
    assert "at most 2 images and documents" in getattr(blocks[1], "text", "")


def test_the_tightest_limit_of_several_holds():
    messages = [user("a", image()), assistant(limited(most=5), limited(most=1), "ok"), user("b", image())]
    assert carried(messages) == [False, True]


def test_only_what_is_larger_than_the_limit_is_left_out():
    large = image().changed(url="data:image/png;base64," + "A" * 4000)
    messages = [user("a", image()), user("b", large), assistant(limited(largest=2000), "ok"), user("c")]
    (entry, *_) = (one for one in to_model_messages(messages, SEES) if isinstance(one, UserEntry))
    assert [type(block).__name__ for block in entry.content] == ["TextBlock", "MediaBlock", "TextBlock", "TextBlock"]


def images(count: int, size: int = 100) -> list[UserEntry]:
    return [UserEntry((TextBlock(str(n)), MediaBlock("image/png", "A" * size))) for n in range(count)]


@each(
    ("reason", "count", "limit"),
    [
        ("Too much media: 0 document pages + 101 images > 100", 101, MediaLimit(most=100)),
        ("Model 'x' supports at most 1 image per prompt.", 3, MediaLimit(most=1)),
        ("Too many images in request. Max is 50.", 51, MediaLimit(most=50)),
        ("Too many images: 21. At most 8 images are allowed per request.", 21, MediaLimit(most=8)),
        ("maximum of 10 images exceeded", 12, MediaLimit(most=10)),
        ("You can upload up to 5 images", 7, MediaLimit(most=5)),
        ("Too many images", 9, MediaLimit(most=4)),
        ("Too much media: 20 document pages + 90 images > 100", 90, MediaLimit(most=45)),
        ("A maximum of 100 PDF pages may be provided.", 2, None),
        ("Could not process image", 4, None),
        ("image dimensions exceed max allowed size for many-image requests: 2000 pixels", 4, None),
        ("image exceeds 5 MB maximum: 6123456 bytes > 5242880 bytes", 4, None),
        ("Too many images", 1, None),
    ],
)
def test_the_limit_is_read_from_the_reason(reason: str, count: int, limit: MediaLimit | None):
    assert find_limit(reason, images(count)) == limit


def test_a_size_that_some_exceed_is_a_limit():
    entries = [*images(1, size=2000), *images(1, size=100)]
    assert find_limit("image exceeds 1 KB maximum", entries) == MediaLimit(largest=1024)


def test_a_request_of_too_many_bytes_loses_half_of_its_media():
    assert find_limit("Request Entity Too Large", images(5), is_size_of_request=True) == MediaLimit(most=2)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (limited(most=3), "fake accepts 3 images and documents at most; the older ones are left out"),
        (limited(largest=5 * 2**20), "fake accepts images and documents up to 5 MB; larger ones are left out"),
        (refusal(), "fake rejected an image or document; those so far are left out"),
    ],
)
def test_the_conversation_says_what_is_left_out(part: RetryPart, words: str):
    assert past_reason("fake", part) == words
