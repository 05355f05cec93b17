"""The next request item by item: every token belongs to an item, everything that is not sent has a reason."""

from collections.abc import Sequence
from typing import Any

from opencode_tui.engine.provider.llm import LlmRequest, ToolSpec
from opencode_tui.engine.session.context.items import ContextSources, context_items
from opencode_tui.engine.session.request.builder import BuiltRequest, SystemLayer, request_of, system_prompt
from opencode_tui.engine.session.request.history import filter_compacted
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.request.reminder import with_last_step
from opencode_tui.engine.session.tokens.estimate import ModelEstimate
from opencode_tui.engine.session.tokens.media import media_tokens
from opencode_tui.schema.api.context import ContextItem
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.tool_state import restore
from tests.support.sessions.records import (
    MODEL,
    assistant,
    call,
    compaction,
    image,
    reasoning,
    step_start,
    text,
    user,
)

LAYERS = [
    SystemLayer("provider", "fake", "You are a model."),
    SystemLayer("family", "open-weights", "You do the work that is asked for."),
    SystemLayer("environment", "/p", "You run on the model fake/fake-model."),
    SystemLayer("instruction", "/p/AGENTS.md", "Instructions from: /p/AGENTS.md\nAlways test."),
]
TOOL = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"filePath": {"type": "string"}}})


def sources(
    stored: Sequence[MessageWithParts],
    *,
    visible: Sequence[MessageWithParts] | None = None,
    built: Sequence[MessageWithParts] | None = None,
    system: tuple[str, ...] | None = None,
) -> ContextSources:
    shown = list(stored if visible is None else visible)
    sent = filter_compacted(shown)
    request = LlmRequest(
        model=MODEL,
        system=system_prompt(LAYERS) if system is None else system,
        messages=to_model_messages(sent if built is None else built, MODEL),
        tools=(TOOL,),
    )
    return ContextSources(
        built=BuiltRequest(request, LAYERS, sent if built is None else built),
        stored=stored,
        visible=shown,
        sent=sent,
        estimate=ModelEstimate(of_media=lambda block: media_tokens(block, MODEL)),
    )


def items(stored: Sequence[MessageWithParts], **fields: Any) -> list[ContextItem]:
    return context_items(sources(stored, **fields))


def kinds_and_states(found: Sequence[ContextItem]) -> list[tuple[str, str]]:
    return [(item.kind, item.state) for item in found if item.group != "system"]


def test_layers_tools_and_parts_come_in_the_requests_order() -> None:
    found = items([user("ask"), assistant("look", step_start(), call("c")), user("more")])
    assert [(item.kind, item.name) for item in found] == [
        ("provider", "fake"),
        ("family", "open-weights"),
        ("environment", "/p"),
        ("instruction", "/p/AGENTS.md"),
        ("tools", "1 definition"),
        ("request", "ask"),
        ("answer", "look"),
        ("call", "a"),
        ("request", "more"),
    ]


def test_the_items_make_up_the_whole_request() -> None:
    stored = [user("ask" * 50, image()), assistant("look", call("c", output="line\n" * 400)), user("more")]
    given = sources(stored)
    whole = given.estimate.request(given.built.request)
    found = context_items(given)
    assert abs(sum(item.tokens for item in found) - whole) <= len(found)
    assert abs(sum(item.share for item in found) - 1) < 0.01


def test_a_pruned_call_states_its_size_and_how_to_restore_it() -> None:
    large = "line\n" * 2_000
    whole = items([user("ask"), assistant(call("c", output=large))])[-1]
    gone = items([user("ask"), assistant(call("c", output=large, pruned=True))])[-1]
    assert gone.state == "pruned" and abs((gone.was or 0) - whole.tokens) <= 1
    assert abs((whole.frees or 0) - (whole.tokens - gone.tokens)) <= 1 and "restore" in (gone.why or "")


def test_a_restored_call_is_marked() -> None:
    part = call("c", output="line\n" * 100)
    (found,) = [item for item in items([user("ask"), assistant(part.changed(state=restore(part.state)))]) if item.tool]
    assert found.state == "sent" and found.why == "restored by you; pruning skips it"


def test_a_summary_precedes_the_messages_that_it_replaces() -> None:
    tail = user("tail")
    old = [user("old" * 40), assistant("older" * 40)]
    marker = user(compaction(tail_id=tail.info.id), text("Kept verbatim", synthetic=True))
    summary = assistant("the summary", parent=marker, summary=True)
    found = items([*old, tail, marker, summary, user("go on")])
    assert kinds_and_states(found) == [
        ("marker", "sent"),
        ("marker", "kept"),
        ("summary", "sent"),
        ("request", "summarized"),
        ("answer", "summarized"),
        ("request", "sent"),
        ("request", "sent"),
    ]
    assert [item.tokens for item in found if item.state == "summarized"] == [0, 0]
    assert all(item.was for item in found if item.state == "summarized")


def test_a_failed_compaction_is_left_out_and_named() -> None:
    marker = user(compaction())
    failed = assistant("half a summary", parent=marker, summary=True, finish=None)
    found = items([user("ask"), assistant("answer"), marker, failed, user("again")])
    left = [item for item in found if item.state == "unsent"]
    assert [item.kind for item in left] == ["marker", "summary"] and "that failed" in (left[0].why or "")


def test_undone_messages_and_parts_come_last() -> None:
    first, answer, second = user("ask"), assistant("keep", "drop"), user("undone")
    shown = [first, with_parts(answer.info, list(answer.parts[:1]))]
    found = [item for item in items([first, answer, second], visible=shown) if item.message_id]
    assert kinds_and_states(found) == [
        ("request", "sent"),
        ("answer", "sent"),
        ("answer", "reverted"),
        ("request", "reverted"),
    ]
    assert [item.name for item in found][-2:] == ["drop", "undone"]


def test_what_is_not_sent_has_a_reason() -> None:
    other = ModelRef(provider_id="other", model_id="m")
    stored = [
        user("ask", text("note", ignored=True), text("  ")),
        assistant(reasoning("hidden"), "a"),
        assistant(
            reasoning("foreign", metadata={"openai": {}}), "b", provider_id=other.provider_id, model_id=other.model_id
        ),
    ]
    reasons = [item.why for item in items(stored) if item.state == "unsent"]
    assert reasons == [
        "only for you",
        "empty",
        "its provider accepts no reasoning back",
        "reasoning of another model, other/m",
    ]


def test_an_attachment_that_cannot_be_sent_has_a_reason() -> None:
    found = items([user("look", image())])[-1]
    assert (found.kind, found.state, found.why) == ("file", "sent", "fake/fake-model accepts no images or documents")


def test_what_the_program_adds_is_an_item_of_its_own() -> None:
    stored = [user("ask")]
    found = items(stored, built=with_last_step(stored, request_of(stored)))[-1]
    assert found.kind == "added"
    assert found.name.startswith("This is the last step")


def test_additions_and_removals_by_plugins_are_marked() -> None:
    first, rest = system_prompt(LAYERS)
    system = (first, rest.replace("Always test.", "Never test.") + "\n\nA plugin wrote this.")
    found = items([user("ask")], system=system)
    assert [(item.kind, item.state) for item in found[:5]] == [
        ("provider", "sent"),
        ("family", "sent"),
        ("environment", "sent"),
        ("instruction", "unsent"),
        ("plugin", "sent"),
    ]
    invented = items([user("ask")], built=[user("from a plugin")])[-1]
    assert (invented.kind, invented.name) == ("plugin", "from a plugin")
