"""The map from events to updates: lists in, lists out."""

from typing import Any, cast

import pytest
from acp.schema import (
    AllowedOutcome,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    RequestPermissionResponse,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from opencode_tui.acp.approval import Answer, answer_of, label_of, options_of
from opencode_tui.acp.choices import Choices
from opencode_tui.acp.content import read_prompt
from opencode_tui.acp.tool_call import locations_of
from opencode_tui.acp.updates import SessionState, Update, replay, updates_of
from opencode_tui.schema.api.question import Question, QuestionOption
from opencode_tui.schema.event.event import (
    Event,
    MessageUpdated,
    PartGrowth,
    PartUpdated,
    SessionStatusChanged,
    SessionUpdated,
)
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import Tokens
from opencode_tui.schema.session.part import AnyPart, FilePart, PartTime, StepFinishPart, TextPart
from opencode_tui.schema.session.session import RetryStatus
from opencode_tui.schema.session.tool_state import ToolStateError, ToolStatePending, ToolTime
from tests.support.sessions.records import MODEL, SESSION, assistant, call, owner, reasoning, session_info, text, user

CHOICES = Choices(models=[MODEL])


def fresh() -> SessionState:
    return SessionState(SESSION, "/p", CHOICES, mode="build", model=str(MODEL.ref))


def words(updates: list[Update]) -> list[str]:
    """Return each update as its kind and its text, status or title."""
    return [f"{one.session_update} {_fact(one)}".strip() for one in updates]


def _fact(update: Any) -> str:
    content = getattr(update, "content", None)
    return str(getattr(content, "text", "") or getattr(update, "status", "") or getattr(update, "title", "") or "")


def say(state: SessionState, *events: Event) -> list[str]:
    return words([update for event in events for update in updates_of(event, state)])


def begun(message: MessageWithParts) -> list[Event]:
    return [MessageUpdated(info=message.info), *(PartUpdated(part=part) for part in message.parts)]


class Live:
    def __init__(self, part: AnyPart) -> None:
        self.part = part

    def record(self) -> AnyPart:
        return self.part


def growth(part: TextPart, delta: str) -> PartGrowth:
    whole = part.changed(text=part.text + delta)
    return PartGrowth(part.session_id, part.message_id, part.id, delta, Live(whole).record)


def test_text_is_sent_once_as_it_grows_and_what_is_missing_at_its_end() -> None:
    state, answer = fresh(), assistant("")
    [part] = [one for one in answer.parts if isinstance(one, TextPart)]
    grown = part.changed(text="Hello")
    assert say(state, *begun(answer), growth(part, "Hel"), growth(part.changed(text="Hel"), "lo")) == [
        "agent_message_chunk Hel",
        "agent_message_chunk lo",
    ]
    assert say(state, PartUpdated(part=grown), PartUpdated(part=grown)) == []
    assert say(state, PartUpdated(part=part.changed(text="Hello you"))) == ["agent_message_chunk  you"]


def test_a_part_that_was_read_while_it_grew_is_not_sent_twice() -> None:
    state, answer = fresh(), assistant("")
    [part] = [one.changed(text="abc", time=PartTime(start=1)) for one in answer.parts if isinstance(one, TextPart)]
    assert words(list(replay([MessageWithParts(info=answer.info, parts=[part])], state))) == ["agent_message_chunk abc"]
    early = PartGrowth(part.session_id, part.message_id, part.id, "bc", Live(part.changed(text="abcd")).record)
    late = PartGrowth(part.session_id, part.message_id, part.id, "d", Live(part.changed(text="abcd")).record)
    assert say(state, early, late) == ["agent_message_chunk d"]


def test_the_client_shows_its_own_request_and_is_sent_those_of_others() -> None:
    state = fresh()
    state.begin_turn("mine")
    assert say(state, *begun(user("mine")), *begun(user("theirs"))) == ["user_message_chunk theirs"]


def test_an_own_request_that_waited_is_not_sent_under_its_new_id() -> None:
    state = fresh()
    state.begin_turn("mine")
    waiting, released = user("mine", delivery="queue"), user("mine")
    assert say(state, *begun(waiting)) == [] and state.waiting_own() == waiting.info.id
    assert say(state, *begun(released)) == [] and state.waiting_own() is None


def test_an_own_request_whose_events_were_lost_is_not_sent() -> None:
    state = fresh()
    state.begin_turn("mine")
    assert words(list(replay([user("mine"), user("theirs")], state))) == ["user_message_chunk theirs"]


def test_what_the_program_wrote_for_the_model_is_not_sent() -> None:
    summary = assistant("a summary", summary=True)
    assert say(fresh(), *begun(user(text("hint", synthetic=True))), *begun(summary)) == []


def test_a_call_has_each_state_once() -> None:
    state, answer = fresh(), assistant(call("1", "bash", status="pending", given={}))
    steps = [
        call("1", "bash", status=status, given={"command": "ls"}) for status in ("running", "running", "completed")
    ]
    events = [PartUpdated(part=part.changed(message_id=answer.info.id)) for part in [*steps, steps[-1]]]
    assert say(state, *begun(answer), *events) == [
        "tool_call pending",
        "tool_call_update in_progress",
        "tool_call_update completed",
    ]


def test_a_failed_call_says_why() -> None:
    failed = ToolStateError(error="file not found: /p/a; give another path", time=ToolTime(start=0), nearest=[])
    state, answer = fresh(), assistant(call("1").changed(state=failed))
    update = [one for event in begun(answer) for one in updates_of(event, state)][-1]
    assert update.session_update == "tool_call_update" and update.status == "failed"
    assert update.content is not None and "No such file." in str(update.content[0])


def test_paths_of_calls_are_absolute() -> None:
    state = fresh()
    answer = assistant(call("1", "read", given={"filePath": "src/a.py", "offset": 7}))
    update = [one for event in begun(answer) for one in updates_of(event, state)][-1]
    assert update.session_update == "tool_call_update" and update.locations is not None
    assert [(one.path, one.line) for one in update.locations] == [("/p/src/a.py", 7)]


def test_each_step_has_its_usage_with_the_cost_so_far() -> None:
    state = fresh()
    finishes = [
        StepFinishPart(**owner(), reason="stop", cost=0.5, tokens=Tokens(input=size, output=10)) for size in (100, 200)
    ]
    found = [one for event in begun(assistant(*finishes)) for one in updates_of(event, state)]
    facts = [(one.used, one.size, one.cost) for one in found if one.session_update == "usage_update"]
    assert [(used, size, cost and cost.amount) for used, size, cost in facts] == [
        (110, 100_000, 0.5),
        (210, 100_000, 1.0),
    ]
    assert (state.usage().input_tokens, state.usage().output_tokens) == (300, 20)


def test_a_replay_has_everything_in_order_with_one_usage_at_its_end() -> None:
    state = fresh()
    finish = StepFinishPart(**owner(), reason="stop", cost=0, tokens=Tokens(input=5, output=1))
    history = [user("ask"), assistant(reasoning("why"), call("1", given={}), finish, "answer")]
    assert words(list(replay(history, state))) == [
        "user_message_chunk ask",
        "agent_thought_chunk why",
        "tool_call pending",
        "tool_call_update in_progress",
        "tool_call_update completed",
        "agent_message_chunk answer",
    ]
    assert words(list(replay(history, state))) == []
    assert [one.used for one in state.usage_update()] == [6]


def test_another_agent_changes_the_mode_and_an_older_request_does_not() -> None:
    state, first = fresh(), user("plan it", agent="plan")
    assert say(state, *begun(first))[:2] == ["current_mode_update", "config_option_update"]
    assert say(state, *begun(user("build it"))) == [
        "current_mode_update",
        "config_option_update",
        "user_message_chunk build it",
    ]
    assert say(state, MessageUpdated(info=first.info)) == [] and state.mode == "build"


def test_a_title_is_sent_when_it_is_new_and_a_retry_with_its_reason() -> None:
    state = fresh()
    renamed = SessionUpdated(info=session_info(SESSION, title="Fix it"))
    assert say(state, renamed, renamed) == ["session_info_update Fix it"]
    status = RetryStatus(attempt=2, message="Rate limited by fake", next=1)
    assert say(state, SessionStatusChanged(session_id=SESSION, status=status)) == [
        "agent_thought_chunk Rate limited by fake. Trying again (attempt 2)."
    ]


def test_attachments_of_others_are_links_and_images() -> None:
    files = [
        FilePart(**owner(), mime="text/plain", filename="a.py", url="file:///p/a.py"),
        FilePart(**owner(), mime="image/png", url="data:image/png;base64,iVBOR"),
    ]
    state = fresh()
    found = [one for event in begun(user(*files)) for one in updates_of(event, state)]
    assert [one.content.type for one in found if one.session_update == "user_message_chunk"] == [
        "resource_link",
        "image",
    ]


def test_a_call_that_only_begins_has_its_tool_as_title() -> None:
    state, answer = fresh(), assistant(call("1", "bash", status="pending"))
    found = [one for event in begun(answer) for one in updates_of(event, state)]
    assert [one.title for one in found if one.session_update == "tool_call"] == ["bash"]


def test_the_answers_to_a_request_follow_what_it_can_grant() -> None:
    request = PermissionRequest(id="per_1", session_id=SESSION, permission="bash", patterns=["rm a"], always=["rm *"])
    assert [(one.kind, one.name) for one in options_of(request)] == [
        ("allow_once", "Allow once"),
        ("allow_always", 'Always allow "rm *"'),
        ("reject_once", "Reject"),
    ]
    assert [one.kind for one in options_of(request.changed(always=[]))] == ["allow_once", "reject_once"]


@pytest.mark.parametrize(
    ("always", "chosen", "reply"),
    [
        (["rm *"], "once", "once"),
        (["rm *"], "always", "always"),
        (["rm *"], "reject", "reject"),
        (["rm *"], "host", "reject"),
        (["rm *"], "decline", "reject"),
        (["rm *"], "Once", "reject"),
        (["rm *"], "", "reject"),
        (["rm *"], None, "reject"),
        ([], "always", "reject"),
        ([], "once", "once"),
    ],
)
def test_only_an_option_of_a_request_is_an_answer(always: list[str], chosen: str | None, reply: str) -> None:
    request = PermissionRequest(id="per_1", session_id=SESSION, permission="bash", patterns=["rm a"], always=always)
    outcome = AllowedOutcome(outcome="selected", option_id=chosen) if chosen is not None else None
    given = None if outcome is None else RequestPermissionResponse(outcome=outcome)
    assert answer_of(given, options_of(request)) == Answer(cast(Reply, reply))


@pytest.mark.parametrize(
    ("chosen", "label"), [("0", "A"), ("1", "B"), ("2", None), ("-1", None), ("²", None), ("dismiss", None), ("", None)]
)
def test_only_the_position_of_a_label_chooses_it(chosen: str, label: str | None) -> None:
    asked = Question(question="Which one?", options=[QuestionOption(label="A"), QuestionOption(label="B")])
    outcome = AllowedOutcome(outcome="selected", option_id=chosen)
    assert label_of(asked, RequestPermissionResponse(outcome=outcome)) == label


@pytest.mark.parametrize(
    ("given", "command", "arguments"),
    [
        ("/greet all of you", "greet", "all of you"),
        ("/compact", "compact", ""),
        ("/review\nthis\nfile", "review", "this\nfile"),
        ("/etc/hosts is odd", "", ""),
        ("what is /greet", "", ""),
        ("/", "", ""),
    ],
)
def test_a_prompt_can_begin_with_a_command(given: str, command: str, arguments: str) -> None:
    prompt = read_prompt([TextContentBlock(type="text", text=given)])
    assert (prompt.command, prompt.arguments, prompt.text) == (command, arguments, given)


def test_the_blocks_of_a_prompt_are_its_text_and_its_attachments() -> None:
    whole = TextResourceContents(uri="file:///p/a%20b.py", text="x = 'ü'\n")
    blob = BlobResourceContents(uri="file:///p/a.pdf", mime_type="application/pdf", blob="JVBE")
    prompt = read_prompt(
        [
            TextContentBlock(type="text", text="look"),
            ImageContentBlock(type="image", mime_type="image/png", data="iVBOR"),
            ResourceContentBlock(type="resource_link", uri="file:///p/a.py", name="a.py", mime_type="text/x-python"),
            EmbeddedResourceContentBlock(type="resource", resource=whole),
            EmbeddedResourceContentBlock(type="resource", resource=blob),
        ]
    )
    assert prompt.text == "look [a.py](file:///p/a.py) [a b.py](file:///p/a%20b.py) [a.pdf](file:///p/a.pdf)"
    assert [(one.mime, one.filename, one.url) for one in prompt.files] == [
        ("image/png", None, "data:image/png;base64,iVBOR"),
        ("text/plain", "a.py", "file:///p/a.py"),
        ("text/plain", "/p/a b.py", "data:text/plain;charset=utf-8,x%20%3D%20%27%C3%BC%27%0A"),
        ("application/pdf", "a.pdf", "data:application/pdf;base64,JVBE"),
    ]


@pytest.mark.parametrize(
    ("uri", "attached"),
    [
        ("file:///p/a.py", "file:///p/a.py"),
        ("file:///p/a%23%20b.py", "file:///p/a%23%20b.py"),
        ("file:///p/a.py#L10:20", "file:///p/a.py?start=10&end=20"),
        ("file:///p/a.py#L10-L20", "file:///p/a.py?start=10&end=20"),
        ("file:///p/a.py#L7", "file:///p/a.py?start=7&end=7"),
        ("file:///p/a.py?symbol=parse&column=3#L10:20", "file:///p/a.py?start=10&end=20"),
        ("file:///p/a.py#L20:10", "file:///p/a.py?start=20&end=20"),
        ("file:///p/a.py#L0:9", "file:///p/a.py"),
        ("file:///p/a.py#usage", "file:///p/a.py"),
        ("file:///p/a.png#L1:2", "file:///p/a.png"),
        ("file:///p/folder/", "file:///p/folder/"),
        ("/p/a b.py", "file:///p/a%20b.py"),
        ("zed:///agent/file?path=%2Fp%2Fa%20b.py", "file:///p/a%20b.py"),
        ("zed:///agent/selection?path=/p/a.py#L10:20", "file:///p/a.py?start=10&end=20"),
        ("zed:///agent/symbol/parse?path=/p/a.py#L3:4", "file:///p/a.py?start=3&end=4"),
        ("zed:///agent/merge-conflict?path=a.py", None),
        ("zed:///agent/thread/1?name=One", None),
        ("https://example.org/a.html", None),
        ("https://example.org/a.png", "https://example.org/a.png"),
        ("untitled:Untitled-1", None),
        ("src/a.py", None),
        ("http://[", None),
    ],
)
def test_a_link_is_in_the_text_and_a_file_is_attached_with_its_lines(uri: str, attached: str | None) -> None:
    """The forms of addresses are those of Zed, crates/acp_thread/src/mention.rs, commit 02c0e681, 2026."""
    prompt = read_prompt([ResourceContentBlock(type="resource_link", uri=uri, name="the name")])
    assert prompt.text == f"[the name]({uri})"
    assert [one.url for one in prompt.files] == ([] if attached is None else [attached])


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///p/pkg/__init__.py", "/p/pkg/__init__.py"),
        ("file:///p/a%20b.py#L10:20", "/p/a b.py:10-20"),
        ("zed:///agent/untitled-buffer#L1:3", "untitled-buffer:1-3"),
        ("zed:///agent/diagnostics", "diagnostics"),
        ("https://example.org/", "https://example.org/"),
        ("memo", "memo"),
    ],
)
def test_an_embedded_text_says_where_it_is_from(uri: str, name: str) -> None:
    whole = TextResourceContents(uri=uri, text="x")
    prompt = read_prompt([EmbeddedResourceContentBlock(type="resource", resource=whole)])
    assert [one.filename for one in prompt.files] == [name]
    assert prompt.text.endswith(f"]({uri})")


def block(words: str) -> TextContentBlock | ResourceContentBlock:
    """Return a text, or for a name that begins with a dollar a link to a file."""
    if not words.startswith("$"):
        return TextContentBlock(type="text", text=words)
    return ResourceContentBlock(type="resource_link", uri=f"file:///p/{words[1:]}", name=words[1:])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (["compare ", "$a", " with ", "$b", ", please"], "compare [a](file:///p/a) with [b](file:///p/b), please"),
        (["see", "$a", "and go on"], "see [a](file:///p/a) and go on"),
        (["$a", "$b", "go on"], "[a](file:///p/a) [b](file:///p/b) go on"),
        (["one", "two"], "one\ntwo"),
        (["$a", "/review it"], "/review it"),
        (["/review ", "$a", " well"], "/review [a](file:///p/a) well"),
        (["$a", "/etc/hosts is odd"], "[a](file:///p/a) /etc/hosts is odd"),
        (["all of ", "$a", "'s tests (", "$b", ")\nrun"], "all of [a](file:///p/a)'s tests ([b](file:///p/b))\nrun"),
        (["see ", "$@scope/a"], "see [scope/a](file:///p/%40scope/a)"),
    ],
)
def test_a_mention_is_where_the_editor_has_it(given: list[str], text: str) -> None:
    assert read_prompt([block(one) for one in given]).text == text


def test_the_file_of_a_call_is_named_once_its_input_is_complete() -> None:
    done = call("call_1", "read", given={"filePath": "src/a.py"})
    pending = done.changed(state=ToolStatePending(input={"filePath": "src/a"}))
    assert locations_of(pending, "/p") == []
    assert [one.path for one in locations_of(done, "/p")] == ["/p/src/a.py"]
