"""Images that a provider rejected are not sent to it again."""

from opencode_tui.engine.provider.llm import MediaBlock, TextBlock, UserEntry
from opencode_tui.engine.session.request.media import REFUSED
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.retry import reports_refused_media, store_cause
from opencode_tui.schema.error import Failure, ProviderError
from opencode_tui.schema.session.part import RetryPart, RetryTime
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
    assert [reports_refused_media(part) for part in (refusal(), refusal("server"), image())] == [True, False, False]
