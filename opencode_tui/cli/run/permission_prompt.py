"""Ask the user at the terminal whether a call may run: question, subject, reasons, keys.

Nothing is preselected: an empty line repeats the keys, and input typed before the question appeared is dropped.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.cli.diff_view import render_diff
from opencode_tui.cli.run.answered import ELSEWHERE, unless_answered
from opencode_tui.cli.run.terminal_lines import TerminalLines
from opencode_tui.cli.style import Style, Token
from opencode_tui.cli.terminal import say
from opencode_tui.cli.tool_line import describe_call
from opencode_tui.client.client import Client
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.error import OpencodeError, StorageError
from opencode_tui.schema.permission import Action, PermissionRequest, Reply, Verdict
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.text.cells import clip, pad, width, wrap
from opencode_tui.text.permission import (
    choices_of,
    has_parts,
    is_command,
    lost_lines,
    reason_of,
    reasons_of,
    sandbox_facts,
    subject_of,
    suggestion_of,
    title_of,
    without_padding,
    without_suggestion,
)
from opencode_tui.text.safe_text import make_safe

_WORDS = {
    "yes": "y",
    "once": "y",
    "host": "h",
    "always": "a",
    "edit": "e",
    "no": "n",
    "reject": "n",
    "keep": "k",
    "remove": "r",
}
"""Words that are typed for keys."""

_DECLINE = "x"
"""The key that ends the suggestion of a rule, as on the screen."""

_DIFF_LINES = 40

_VERDICTS: dict[Action, tuple[str, Token, str]] = {
    "allow": ("✓", "success", "allowed"),
    "ask": ("!", "warning", "needs approval"),
    "deny": ("✗", "error", "denied"),
}


class Question(Struct, frozen=True):
    """A permission request with its verdicts, the session's folder, the call and its agent if known.

    Without `places` files are shown with absolute paths; `no_sandbox` is why no sandbox works here.
    """

    request: PermissionRequest
    verdicts: Sequence[Verdict]
    directory: Path
    call: ToolPart | None = None
    agent: str = ""
    places: Places | None = None
    no_sandbox: str = ""


class _Answer(Struct, frozen=True):
    """A reply, the feedback to the agent with a rejection, and the edited rule or the host with an always."""

    reply: Reply
    feedback: str = ""
    always: Sequence[str] | None = None
    host: bool = False


class PermissionPrompt:
    """Asks one question at a time and sends the replies; one that another client answers is withdrawn."""

    def __init__(self, terminal: TerminalLines | None, client: Client, style: Style) -> None:
        self._terminal = terminal
        self._client = client
        self._style = style

    async def is_open(self, request: PermissionRequest) -> bool:
        """Return whether a question is still pending: the reply to another one may have resolved it."""
        return any(pending.id == request.id for pending in await self._client.permissions.pending())

    async def ask(self, request: PermissionRequest) -> None:
        """Show a question, send the reply and print it; without a terminal, reject."""
        terminal = self._terminal
        if terminal is None:
            await self._client.permissions.reply(request.id, "reject")
            return
        question = await self._question(request)
        terminal.drop_typed()
        terminal.show(render_question(question, self._style))
        answer = await unless_answered(self._client, request.id, self._read_answer(terminal, request))
        sent = None if answer is None else await self._send(request, answer)
        terminal.show(f"{ELSEWHERE}\n" if sent is None else self._decision(question, sent))

    async def _send(self, request: PermissionRequest, answer: _Answer) -> _Answer | None:
        """Send an answer and return what was done; None when the request did not wait any more."""
        try:
            waited = await self._client.permissions.reply(
                request.id, answer.reply, answer.feedback or None, always=answer.always, host=answer.host
            )
        except StorageError as error:
            say(f"{error}; {'not allowed' if answer.host else 'allowed this once'}")
            return _Answer("reject" if answer.host else "once")
        return answer if waited else None

    async def _question(self, request: PermissionRequest) -> Question:
        call, agent = await self._call(request)
        question = Question(request, (), Path.cwd(), call, agent)
        facts, subject = sandbox_facts(request), subject_of(request, call)
        try:
            question = replace(question, places=await self._client.project.places())
            if facts.is_afterwards:
                return question
            if facts.tier == "none":
                question = replace(question, no_sandbox=(await self._client.settings.sandbox()).reason)
            permission = "bash" if is_command(request) else request.permission
            report = await self._client.rules.explain(permission, subject, agent=agent or None)
        except OpencodeError:
            return question  # the agent no longer exists: show the question without its rules
        return replace(question, verdicts=report.verdicts)

    async def _call(self, request: PermissionRequest) -> tuple[ToolPart | None, str]:
        """Return the call that asks, and its agent; None and "" if they cannot be read."""
        if request.tool is None:
            return None, ""
        try:
            message = await self._client.messages.get(request.session_id, request.tool.message_id)
        except OpencodeError:
            return None, ""
        calls = (part for part in message.parts if isinstance(part, ToolPart))
        call = next((part for part in calls if part.call_id == request.tool.call_id), None)
        agent = (message.info.agent or message.info.mode) if isinstance(message.info, AssistantMessage) else ""
        return call, agent

    async def _read_answer(self, terminal: TerminalLines, request: PermissionRequest) -> _Answer:
        """Return the answer; end of input rejects."""
        acts: dict[str, str] = {choice.key: choice.act for choice in choices_of(request)}
        if suggestion_of(request):
            acts[_DECLINE] = "decline"
        while line := await terminal.read("> "):
            word = line.strip().lower()
            match acts.get(_WORDS.get(word, word)):
                case "once":
                    return _Answer("once")
                case "host":
                    return _Answer("always", host=True)
                case "always":
                    return _Answer("always")
                case "edit":
                    old = make_safe(", ".join(request.always))
                    rule = (await terminal.read(f"  Always allow, * is any text (enter keeps {old}): ")).strip()
                    return _Answer("always", always=[rule] if rule else None)
                case "reject":
                    what = await terminal.read("  What should the agent do instead? (enter to stop the turn): ")
                    return _Answer("reject", what.strip())
                case "leave":
                    return _Answer("reject")
                case "decline":
                    terminal.show(f"  {await self._decline(request)}\n")
                    del acts[_DECLINE]
                    request = without_suggestion(request)
                    terminal.show("\n".join(render_keys(request, self._style)) + "\n")
                case _:
                    terminal.show("\n".join(render_keys(request, self._style)) + "\n")
        terminal.show("\n")
        return _Answer("reject")

    async def _decline(self, request: PermissionRequest) -> str:
        """End the suggestion of a rule, and return a sentence about it."""
        try:
            await self._client.permissions.decline(request.id)
        except StorageError as error:
            return f"{make_safe(str(error))}; the rule can be suggested again"
        return "This rule is not suggested again."

    def _decision(self, question: Question, answer: _Answer) -> str:
        sign, token, text = _DECISIONS[answer.reply]
        request = question.request
        stored = request.always if answer.always is None else answer.always
        if answer.host:
            stored = [sandbox_facts(request).allows or ""]
        subject = ", ".join(stored) if answer.reply == "always" else subject_of(request, question.call)
        feedback = f": {make_safe(answer.feedback)}" if answer.feedback else ""
        shown = f"{text}  {make_safe(_first(subject))}{feedback}"
        shown = clip(shown, (self._style.columns() or 200) - 2, self._style.words("…"))
        return f"{self._style.paint(self._style.words(sign), token)} {self._style.paint(shown, 'muted')}\n"


_DECISIONS: dict[Reply, tuple[str, Token, str]] = {
    "once": ("✓", "success", "Allowed once"),
    "always": ("✓", "success", "Always allowed"),
    "reject": ("■", "warning", "Rejected"),
}


def _first(text: str) -> str:
    lines: Sequence[str] = text.strip().splitlines()
    return lines[0] if lines else ""


def render_question(question: Question, style: Style) -> str:
    """Return the safe lines of a question, each with its line feed."""
    request = question.request
    lines = [
        f"{style.paint('!', 'warning')} {style.paint(make_safe(title_of(request)), 'bold')}",
        *_subject_lines(question, style),
    ]
    lines += render_diff(str(request.metadata.get("diff") or ""), style, limit=_DIFF_LINES)
    if is_command(request) and has_parts(request, question.verdicts):
        lines += _verdicts(question, style)
    for sentence in _why(question):
        lines += [style.paint(f"  {line}", "muted") for line in wrap(make_safe(sentence), (style.columns() or 80) - 2)]
    for row in lost_lines(sandbox_facts(request).lost or ()):
        lines += [style.paint(f"  {line}", "muted") for line in wrap(make_safe(row), (style.columns() or 80) - 2)]
    return "\n".join([*lines, *render_keys(request, style)]) + "\n"


def _subject_lines(question: Question, style: Style) -> list[str]:
    room = (style.columns() or 80) - 4
    pieces = [
        piece
        for line in without_padding(subject_of(question.request, question.call).strip("\n")).split("\n")
        for piece in wrap(make_safe(line.expandtabs(4)), room)
    ]
    return [style.paint(f"    {piece}", "bold") for piece in pieces]


def _verdicts(question: Question, style: Style) -> list[str]:
    verdicts = question.verdicts
    names = [make_safe(verdict.pattern) for verdict in verdicts]
    widest = max(width(name) for name in names)
    lines: list[str] = []
    for verdict, name in zip(verdicts, names, strict=True):
        sign, token, word = _VERDICTS[verdict.action]
        reason = style.paint(make_safe(reason_of(verdict, question.places)), "muted")
        shown = f"{style.paint(style.words(sign), token)} {pad(name, widest)}  {style.paint(pad(word, 14), token)}"
        lines.append(f"  {shown}  {reason}")
    return lines


def _why(question: Question) -> list[str]:
    reasons = reasons_of(
        question.request,
        question.verdicts,
        question.directory,
        agent=question.agent,
        places=question.places,
        no_sandbox=question.no_sandbox,
    )
    sentences = [" ".join(reasons), *filter(None, [suggestion_of(question.request)])]
    if (
        question.call is not None
        and question.request.permission not in ("bash", "edit")
        and not is_command(question.request)
    ):
        sentences.append(f"Needed by {describe_call(question.call)}")
    return sentences


def render_keys(request: PermissionRequest, style: Style) -> list[str]:
    """Return the keys that answer a question, with their effects; patterns that do not fit in a line follow their key."""
    room = (style.columns() or 80) - 2
    rows: list[list[tuple[str, str]]] = [[]]
    listed: dict[int, list[str]] = {}
    keys = [(choice.key, choice.words, choice.act == "always") for choice in choices_of(request)]
    if suggestion_of(request):
        keys.append((_DECLINE, "no more suggestion", False))
    for name, words, is_always in keys:
        key = (name, make_safe(words))
        if is_always and _key_width([key]) > room:
            patterns = [piece for pattern in request.always for piece in wrap(make_safe(pattern), room - 4)]
            rows += [[(name, "always allow")], []]
            listed[len(rows) - 2] = [style.paint(f"      {piece}", "muted") for piece in patterns]
        elif rows[-1] and _key_width([*rows[-1], key]) > room:
            rows.append([key])
        else:
            rows[-1].append(key)
    shown = ((number, row) for number, row in enumerate(rows) if row)
    return [line for number, row in shown for line in (_key_row(row, style), *listed.get(number, ()))]


def _key_width(keys: Sequence[tuple[str, str]]) -> int:
    return width("   ".join(f"{key} {text}" for key, text in keys))


def _key_row(keys: Sequence[tuple[str, str]], style: Style) -> str:
    return "  " + "   ".join(f"{style.paint(key, 'accent', 'bold')} {text}" for key, text in keys)
