import pytest

from opencode_tui.engine.session.compaction.state import (
    new_messages,
    parse_reported_limit,
    pending_from,
    rejected_error,
    reported_use,
)
from opencode_tui.schema.error import ContextOverflowError, Failure, with_remedy
from opencode_tui.schema.model import Limit, Model
from opencode_tui.schema.session.message import CacheTokens, Tokens
from tests.support.sessions.records import MODEL, assistant, call, compaction, user

USED = Tokens(input=900, output=50, cache=CacheTokens(read=50))


def test_the_newest_finished_step_gives_the_use_of_the_context() -> None:
    messages = [user("a"), assistant("b", tokens=Tokens(input=1)), assistant("c", tokens=USED), user("d")]
    assert reported_use(messages, MODEL) == 1_000


def test_an_incomplete_answer_gives_no_use() -> None:
    messages = [user("a"), assistant("b", tokens=USED), assistant("c", finish=None)]
    assert reported_use(messages, MODEL) == 1_000


def test_a_report_before_a_compaction_does_not_apply_even_to_its_tail() -> None:
    tail = assistant("b", tokens=USED)
    marker = user(compaction(tail_id=tail.info.id))
    messages = [user("a"), tail, marker, assistant("sum", parent=marker, summary=True, tokens=USED), user("go on")]
    assert reported_use(messages, MODEL) == 0


def test_a_report_of_another_model_does_not_apply() -> None:
    assert reported_use([user("a"), assistant("b", tokens=USED)], MODEL.changed(model_id="other")) == 0


def test_a_report_before_a_prune_does_not_apply() -> None:
    messages = [user("a"), assistant(call("1", pruned=True), tokens=USED)]
    assert reported_use(messages, MODEL) == 0


def test_all_requests_without_an_answer_are_found() -> None:
    assert pending_from([user("a"), assistant("b"), user("c"), user("d")]) == 2
    assert pending_from([user("a"), assistant("b")]) == 2
    assert pending_from([user(compaction())]) == 1


def test_only_messages_without_a_summary_can_be_shortened() -> None:
    marker, later = user(compaction()), user("b")
    assert new_messages([marker, assistant("s", parent=marker, summary=True), later]) == [later]


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ("prompt is too long: 40100 tokens > 32000 maximum", 32_000),
        ("maximum context length is 32768 tokens. However, your messages resulted in 40100 tokens", 32_768),
        ("the input of 40,100 tokens exceeds 32,768", 32_768),
        ("HTTP 400: too large", None),
        ("version 3.5 of 2026", None),
    ],
)
def test_the_limit_that_a_provider_names_is_read(told: str, limit: int | None) -> None:
    assert parse_reported_limit(told, 40_000) == limit


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("acme: 243,112 tokens, its limit is 200,000 (HTTP 400)", 593),
        (
            "acme: This model's maximum context length is 200000 tokens. However, your messages resulted in 230000 tokens.",
            9,
        ),
    ],
)
def test_the_provider_is_quoted_when_it_rejects_a_request_as_too_large(said: str, size: int) -> None:
    """Its numbers count, and nothing that is estimated here contradicts them."""
    failure = Failure(kind="overflow", status=400, body="{}")
    reported = ContextOverflowError(with_remedy(said, "run /compact"), provider_id="acme", failure=failure)
    shown = rejected_error(
        Model(provider_id="acme", model_id="m", limit=Limit(context=200_000, output=9)), size, reported
    )
    assert str(shown).startswith(f"{said} (estimated here: {size:,} tokens); the context is full")
    assert "more than the" not in str(shown) and "run /compact" not in str(shown)
    assert shown.failure is failure
