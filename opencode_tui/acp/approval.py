"""Questions of the engine as permission requests of the protocol, and their answers; pure."""

from collections.abc import Sequence
from pathlib import Path

from acp.schema import (
    FileEditToolCallContent,
    PermissionOption,
    PermissionOptionKind,
    RequestPermissionResponse,
    ToolCallStart,
    ToolCallUpdate,
)
from msgspec import Struct

from opencode_tui.acp.tool_call import (
    Content,
    kind_of,
    locations_of,
    proposed_diffs,
    text_content,
    title_of,
)
from opencode_tui.schema.api.question import Question, QuestionRequest
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.schema.permission import PermissionRequest, Reply, ToolCallRef
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.tools import tool_with
from opencode_tui.text.permission import (
    Act,
    always_of,
    choices_of,
    lost_lines,
    reasons_of,
    sandbox_facts,
    subject_of,
    suggestion_of,
    without_padding,
)
from opencode_tui.text.permission import title_of as question_of

DISMISS = "dismiss"
"""The ID of the option that dismisses a question."""

_KINDS: dict[Act, PermissionOptionKind] = {
    "once": "allow_once",
    "host": "allow_always",
    "always": "allow_always",
    "reject": "reject_once",
    "leave": "reject_once",
}
"""The kinds of the answers; a client cannot edit a rule."""

_NAMES: dict[Act, str] = {"once": "Allow once", "reject": "Reject"}


DECLINE = "decline"
"""The ID of the option that allows once and ends the suggestion of the rule: a client closes a question with each answer."""


class Answer(Struct, frozen=True):
    """A reply to a permission request.

    With `host` an always grants the host that the request suggests; with `declines` its rule is not suggested again.
    """

    reply: Reply
    host: bool = False
    declines: bool = False


def request_of(event: QuestionAsked) -> QuestionRequest:
    """Return the request of an event."""
    return QuestionRequest(
        id=event.id,
        session_id=event.session_id,
        questions=[Question.model_validate(one) for one in event.questions],
        tool=ToolCallRef.model_validate(event.tool) if event.tool is not None else None,
    )


def options_of(request: PermissionRequest) -> list[PermissionOption]:
    """Return the answers to a request, under the names of their acts."""
    choices = [choice for choice in choices_of(request) if choice.act in _KINDS]
    is_about_files = any(choice.act == "leave" for choice in choices)
    options: list[PermissionOption] = []
    for choice in choices:
        words = choice.words[:1].upper() + choice.words[1:]
        if not is_about_files:
            words = _NAMES.get(choice.act, words)
        if choice.act == "always":
            words = always_of(request).capitalize() if list(request.always) == ["*"] else words
        options.append(PermissionOption(option_id=choice.act, name=words, kind=_KINDS[choice.act]))
    if suggestion_of(request):
        words = "Allow once, do not suggest the rule again"
        options.insert(1, PermissionOption(option_id=DECLINE, name=words, kind="allow_once"))
    return options


def answer_of(response: RequestPermissionResponse | None, offered: Sequence[PermissionOption]) -> Answer:
    """Return the reply of a client; a request that it canceled or did not answer, or with what is no option, is rejected."""
    chosen = None if response is None else chosen_option(response)
    match next((one.option_id for one in offered if one.option_id == chosen), None):
        case "once":
            return Answer("once")
        case "always":
            return Answer("always")
        case "host":
            return Answer("always", host=True)
        case one if one == DECLINE:
            return Answer("once", declines=True)
        case _:
            return Answer("reject")


def chosen_option(response: RequestPermissionResponse) -> str | None:
    """Return the ID of the chosen option; None when the client canceled the request."""
    outcome = response.outcome
    return outcome.option_id if outcome.outcome == "selected" else None


def asked_call(request: PermissionRequest, part: ToolPart | None, root: str) -> ToolCallUpdate:
    """Return the call that a request is about, with what it would change and why it is asked."""
    call_id = request.tool.call_id if request.tool is not None else request.id
    subject = without_padding(subject_of(request, part))
    diffs = proposed_diffs(part, request.metadata, root) if part is not None else []
    content: list[Content] = [*diffs, text_content("\n".join(_explanation(request, subject, diffs, root)))]
    title = f"{part.tool}: {_first(subject)}" if part is not None and subject else None
    if title is None:
        title = title_of(part, root) if part is not None else f"{request.permission}: {_first(subject)}"
    return ToolCallUpdate(
        tool_call_id=call_id,
        title=title,
        kind=kind_of(part.tool if part is not None else request.permission),
        status="pending",
        content=content,
        locations=locations_of(part, root) if part is not None else [],
        raw_input=part.state.input if part is not None else dict(request.metadata),
    )


def _explanation(
    request: PermissionRequest, subject: str, diffs: Sequence[FileEditToolCallContent], root: str
) -> list[str]:
    """Return the question, its subject and its reasons."""
    lines = [question_of(request)]
    if not diffs and subject:
        lines += ["", *(f"    {line}" for line in subject.splitlines()), ""]
    lost = lost_lines(sandbox_facts(request).lost or ())
    why = " ".join(filter(None, [*reasons_of(request, (), Path(root)), suggestion_of(request)]))
    return [*lines, why, *([""] if lost else []), *lost]


def announced_call(part: ToolPart, root: str) -> ToolCallStart:
    """Return the announcement of a subagent's call that asks for permission: the client does not know it yet."""
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=part.call_id,
        title=f"subagent: {title_of(part, root)}",
        name=part.tool,
        kind=kind_of(part.tool),
        status="pending",
        locations=locations_of(part, root),
        raw_input=part.state.input,
    )


class AskedQuestion(Struct, frozen=True):
    """A question of the agent as a request: the call, and its options in order of the labels."""

    call: ToolCallUpdate
    options: list[PermissionOption]


def ask_question(question: Question, call_id: str, *, plan: str | None = None) -> AskedQuestion:
    """Return a question as a request, with an option for each label; `plan` is the text of the plan that it is about.

    The IDs of the options are the positions of the labels. A plan is built with the first one and not with the others.
    """
    options: list[PermissionOption] = []
    for number, option in enumerate(question.options):
        kind: PermissionOptionKind = "reject_once" if plan is not None and number else "allow_once"
        name = option.label if not option.description else f"{option.label}: {option.description}"
        options.append(PermissionOption(option_id=str(number), name=name, kind=kind))
    if plan is None:
        options.append(PermissionOption(option_id=DISMISS, name="Dismiss", kind="reject_once"))
    call = ToolCallUpdate(
        tool_call_id=call_id,
        title=question.question
        if plan is not None or not question.header
        else f"{question.header}: {question.question}",
        kind="other" if plan is None else kind_of(tool_with("plan")),
        status="pending",
        content=[text_content(f"{plan}\n\n{question.question}" if plan else question.question)],
    )
    return AskedQuestion(call, options)


def label_of(question: Question, response: RequestPermissionResponse | None) -> str | None:
    """Return the chosen label; None when the question was dismissed or not answered."""
    chosen = None if response is None else chosen_option(response)
    return next((option.label for number, option in enumerate(question.options) if str(number) == chosen), None)


def _first(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else ""
