"""Pure: what a compaction keeps word for word, made by code from the records, without a model.

Each time the records are read again, so nothing is lost from summary to summary. Rules in files are not included: they are part
of every system prompt. The user's changes of the entries apply last. Source: docs/internals/compaction.md#what-is-kept-verbatim.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct, field

from opencode_tui.engine.session.request.history import compaction_of
from opencode_tui.engine.session.request.model_message import KEPT_HEAD
from opencode_tui.engine.session.tokens.characters import CHARACTERS
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.ledger import KeptLedger, LedgerEdit, LedgerEntry, LedgerKind
from opencode_tui.schema.session.message import UserMessage, is_waiting
from opencode_tui.schema.session.part import FilePart, PatchPart, SubtaskPart, TextPart, ToolPart
from opencode_tui.schema.session.session import Todo
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.schema.session.until import Until
from opencode_tui.schema.tools import row_of

TITLES: Mapping[LedgerKind, str] = {
    "rule": "The user's rules",
    "note": "Added by the user",
    "correction": "Corrections by the user",
    "refusal": "Calls that the user rejected",
    "request": "Earlier user requests",
    "todo": "Open todos",
    "command": "Background commands that run, for bash_output",
    "place": "Worktree and branch",
    "check": "Last failing check",
    "changed": "Files changed",
    "read": "Files read last",
    "last": "The user's last request",
}
"""The sections in their order, with their titles."""

_UNLISTED: tuple[LedgerKind, ...] = ("last", "check")
"""Sections of one text, which is sent as it is."""

_LAST_SHARE, _LIST_SHARE = 4, 16
"""Shares of the usable context (1/N) for the last request, and for each list of what the user said."""
_MOST_LIST, _MOST_CORRECTIONS = 4_000, 2_000
"""Maximum tokens of such a list, however large the context."""
_RULE_LENGTH, _REQUEST_LENGTH, _COMMAND_LENGTH = 500, 800, 300
_CHECK_LENGTH = 1_200
"""Characters at the end of the output of a failing check."""
_MAX_CHANGED, _MAX_READ = 80, 15
_CLOSED = ("completed", "cancelled")

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_STANDING = re.compile(
    r"\b(?:always|never|from now on|every time|whenever|at all times|must(?: not|n't)?|do not|don't|only ever|remember|"
    r"immer|niemals?|ab jetzt|merk dir|toujours|jamais|désormais|siempre|nunca|a partir de ahora|sempre|mai|"
    r"всегда|никогда|отныне)\b|总是|始终|永远|从现在|以后|每次|必须|务必|不要|不得|禁止|切勿|记住|常に|必ず|今後|毎回|禁止|覚えて|しないで|항상|절대|반드시",
    re.IGNORECASE,
)
_CORRECTING = re.compile(
    r"^\W*(?:no\b|nope|wrong\b|not (?:that|what|like|the)\b|that(?:'s| is| was) (?:not|wrong)|stop\b|undo\b|revert\b|"
    r"nein\b|falsch|non\b|нет\b|"
    r"不对|不是|错了|違う|違います|아니)|"
    r"\b(?:instead of|rather than|i (?:said|meant|asked)|as i said|stattdessen|plutôt que|en vez de)\b",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"\b(py\.?test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|tsc|mypy|pyright|basedpyright|ruff|eslint|flake8|pylint|clippy|"
    r"golangci-lint|shellcheck|make|cmake|ninja|meson|bazel|gradlew?|mvnw?|dotnet|cargo|go (?:test|vet|build)|swift (?:test|build)|"
    r"tests?|lint|typecheck|type-check|check|build|compile|verify)\b",
    re.IGNORECASE,
)
"""A command that checks the work; that of `grep` also fails without anything being wrong."""


class LedgerPlace(Struct, frozen=True):
    """The folder that paths are relative to, its branch, and the main worktree where it is a linked one."""

    worktree: Path
    branch: str | None = None
    main_worktree: Path | None = None


class LedgerSources(Struct, frozen=True):
    """The input: the messages of the session, its open and closed todos, its place, its check, the user's changes by entry.

    With `base`, what the last compaction kept, the messages are those that it did not cover; else all.

    `commands` are the session's background commands that run now.
    `room` is the usable context in tokens; messages from `tail_id` on are still sent in full.
    """

    messages: Sequence[MessageWithParts]
    todos: Sequence[Todo]
    place: LedgerPlace
    room: int
    tail_id: str | None = None
    commands: Sequence[BackgroundCommand] = ()
    until: Until | None = None
    edits: Mapping[str, LedgerEdit] = field(default_factory=dict[str, LedgerEdit])
    base: KeptLedger | None = None


class Ledger(Struct, frozen=True):
    """The entries in the order of their sections, and what they were made of: the records, without the changes of the user."""

    entries: Sequence[LedgerEntry]
    kept: KeptLedger

    @property
    def omitted(self) -> Mapping[LedgerKind, int]:
        """Return how many older entries of a kind have no room."""
        return self.kept.omitted

    @property
    def text(self) -> str:
        """Return the text for the model, in sections; empty without entries."""
        blocks = ["\n".join([f"## {title}", *lines]) for kind, title in TITLES.items() if (lines := self._lines(kind))]
        return "\n\n".join([KEPT_HEAD, *blocks]) if blocks else ""

    def _lines(self, kind: LedgerKind) -> list[str]:
        lines = [line_of(one) for one in self.entries if one.kind == kind]
        left = self.omitted.get(kind)
        return [f"- (and {left} older ones)", *lines] if left else lines


def line_of(entry: LedgerEntry) -> str:
    """Return an entry as the text has it."""
    return entry.text if entry.kind in _UNLISTED else f"- {entry.text}"


def build_ledger(sources: LedgerSources) -> Ledger:
    """Return what a compaction keeps."""
    asked = [(message.info.id, text) for message in sources.messages if (text := user_text(message))]
    new, is_last_sent = _before_tail(asked, sources)
    old = [*_carried(sources, "request"), *_carried(sources, "last"), *new]
    builder = _Builder(sources)
    builder.add_newest("rule", _sentences(new, _STANDING), _MOST_LIST)
    builder.add_newest("correction", _sentences(new, _CORRECTING, without=_STANDING), _MOST_CORRECTIONS)
    builder.add_newest("refusal", _refusals(sources.messages), _MOST_LIST)
    earlier = old if is_last_sent else old[:-1]
    carried = len(_carried(sources, "request"))
    short = [(name, _cut_middle(" ".join(text.split()), _REQUEST_LENGTH)) for name, text in earlier[carried:]]
    builder.add_newest("request", short, _MOST_LIST)
    builder.add("todo", [(None, _todo_words(todo)) for todo in sources.todos if todo.status not in _CLOSED])
    builder.add("command", [(None, _command_words(one, sources.place.worktree)) for one in sources.commands])
    builder.add("place", [(None, words) for words in _place_words(sources.place)])
    builder.add("check", _failing_check(sources))
    builder.add_files("changed", _changed_files(sources.messages), _MAX_CHANGED)
    builder.add_files("read", _read_files(sources.messages), _MAX_READ)
    if old and not is_last_sent:
        name, text = old[-1]
        builder.add("last", [(name, _cut_middle(text, sources.room // _LAST_SHARE * CHARACTERS))])
    return builder.ledger(has_requests=bool(asked or sources.base))


def edited_ledger(kept: KeptLedger, edits: Mapping[str, LedgerEdit]) -> Ledger:
    """Return what a compaction kept, with other changes of the user."""
    found = [_edited(one, edits.get(one.id)) for one in kept.entries]
    found += [_added(one) for one in edits.values() if one.kind == "note" and one.text]
    order = list(TITLES)
    return Ledger(sorted((one for one in found if one is not None), key=lambda one: order.index(one.kind)), kept)


def _carried(sources: LedgerSources, kind: LedgerKind) -> list[tuple[str, str]]:
    """Return the entries of a kind that the last compaction kept."""
    entries = () if sources.base is None else sources.base.entries
    return [(one.message_id or "", one.text) for one in entries if one.kind == kind]


class _Builder:
    """Collects the entries, with the changes of the user."""

    def __init__(self, sources: LedgerSources) -> None:
        self._sources = sources
        self._entries: list[LedgerEntry] = []
        self._omitted: dict[LedgerKind, int] = {}

    def add(self, kind: LedgerKind, texts: Sequence[tuple[str | None, str]]) -> None:
        """Add entries: the message of each, and its text; of equal texts the first."""
        seen: set[str] = set()
        for message_id, text in texts:
            name = entry_id(kind, text)
            if name not in seen:
                seen.add(name)
                self._entries.append(LedgerEntry.trusted(id=name, kind=kind, text=text, message_id=message_id or None))

    def add_newest(self, kind: LedgerKind, texts: Sequence[tuple[str, str]], most: int) -> None:
        """Add as many of the newest texts as fit into the share of a list, at most `most` tokens, oldest first."""
        edits = self._sources.edits
        limit = min(most, self._sources.room // _LIST_SHARE) * CHARACTERS
        all_texts = [*_carried(self._sources, kind), *texts]
        different = list({text: (name, text) for name, text in reversed(all_texts)}.values())  # the newest first
        kept: list[tuple[str, str]] = []
        for name, text in different:
            edit = edits.get(entry_id(kind, text))
            limit -= len(text if edit is None else edit.text or "") + 3
            if limit < 0:
                break
            kept.append((name, text))
        self.add(kind, kept[::-1])
        self._omit(kind, len(different) - len(kept))

    def add_files(self, kind: LedgerKind, paths: Sequence[tuple[str, str]], most: int) -> None:
        """Add the latest paths in order of last use, relative to the worktree when they are in it."""
        worktree = self._sources.place.worktree
        latest: dict[str, str] = {}
        for name, path in reversed([*_carried(self._sources, kind), *paths]):
            latest.setdefault(_relative(path, worktree), name)
        shown = [(name, path) for path, name in latest.items()]
        self.add(kind, shown[:most][::-1])
        self._omit(kind, len(shown) - most)

    def _omit(self, kind: LedgerKind, count: int) -> None:
        before = 0 if self._sources.base is None else self._sources.base.omitted.get(kind, 0)
        if before + max(0, count):
            self._omitted[kind] = before + max(0, count)

    def ledger(self, *, has_requests: bool) -> Ledger:
        """Return the ledger; without a request of the user only what they added."""
        kept = KeptLedger(entries=self._entries if has_requests else [], omitted=self._omitted)
        return edited_ledger(kept, self._sources.edits)


def entry_id(kind: LedgerKind, text: str) -> str:
    """Return the id of an entry with this text."""
    return f"{kind}-{blake2b(text.encode('utf-8', 'replace'), digest_size=5).hexdigest()}"


def _edited(entry: LedgerEntry, edit: LedgerEdit | None) -> LedgerEntry | None:
    """Return an entry as the user changed it; None for one that they removed."""
    if edit is None:
        return entry
    return entry.changed(text=edit.text, origin="edited") if edit.text else None


def _added(edit: LedgerEdit) -> LedgerEntry:
    return LedgerEntry.trusted(id=edit.id, kind=edit.kind, text=edit.text, origin="added")


def user_text(message: MessageWithParts) -> str:
    """Return what the user wrote in a message, attachments by name; empty for any other message, and while it waits."""
    info = message.info
    if not isinstance(info, UserMessage) or is_waiting(info) or compaction_of(message) is not None:
        return ""
    words: list[str] = []
    for part in message.parts:
        match part:
            case TextPart() if not part.synthetic and not part.ignored:
                words.append(part.text.strip())
            case FilePart():
                words.append(f"[attached: {part.filename or part.mime}]")
            case SubtaskPart():
                words.append(part.prompt.strip())
            case _:
                pass
    return "\n".join(word for word in words if word)


def _before_tail(asked: list[tuple[str, str]], sources: LedgerSources) -> tuple[list[tuple[str, str]], bool]:
    """Return the requests that are no longer sent, and whether the last one still is."""
    order = {message.info.id: place for place, message in enumerate(sources.messages)}
    start = order.get(sources.tail_id or "", len(order))
    old = [one for one in asked if order[one[0]] < start]
    return old, len(old) < len(asked)


def _sentences(
    requests: Sequence[tuple[str, str]], wanted: re.Pattern[str], *, without: re.Pattern[str] | None = None
) -> list[tuple[str, str]]:
    """Return the sentences with what is wanted, oldest first."""
    return [
        (name, _cut_middle(" ".join(sentence.split()), _RULE_LENGTH))
        for name, text in requests
        for sentence in _SENTENCE.split(text)
        if wanted.search(sentence) and not (without is not None and without.search(sentence))
    ]


def _refusals(messages: Sequence[MessageWithParts]) -> list[tuple[str, str]]:
    """Return the calls that the user rejected, with what they said."""
    return [
        (message.info.id, _refusal_words(part, part.state))
        for message in messages
        for part in message.parts
        if isinstance(part, ToolPart)
        and isinstance(part.state, ToolStateError)
        and part.state.stop_reason == "rejected"
        and not part.state.dismissed
    ]


def _refusal_words(part: ToolPart, state: ToolStateError) -> str:
    given = next((value for value in state.input.values() if isinstance(value, str) and value.strip()), "")
    call = f"{part.tool} {_cut_middle(' '.join(given.split()), _COMMAND_LENGTH)}".rstrip()
    said = " ".join((state.feedback or "").split())
    return f"{call}: {_cut_middle(said, _RULE_LENGTH)}" if said else call


def _todo_words(todo: Todo) -> str:
    mark = {"in_progress": "in progress"}.get(todo.status, todo.status)
    return f"[{mark}] {todo.content}"


def _command_words(command: BackgroundCommand, worktree: Path) -> str:
    words = _cut_middle(" ".join(command.command.split()), _COMMAND_LENGTH)
    folder = _relative(command.directory, worktree)
    return f"{command.id}: {words}" + ("" if folder == "." else f" (in {folder})")


def _place_words(place: LedgerPlace) -> Iterator[str]:
    if place.branch:
        linked = f", a linked worktree of {place.main_worktree}" if place.main_worktree else ""
        yield f"{place.worktree}{linked}, on the branch {place.branch}"


def _failing_check(sources: LedgerSources) -> list[tuple[str, str]]:
    """Return the session's own check when it failed, else the newest command that checks the work, fails and did not pass since."""
    last = None if sources.until is None else sources.until.last
    if sources.until is not None and last is not None and not last.has_passed:
        call = next((one for one in _commands(sources.messages, last.message_id)), None)
        output = call[1].output if call is not None else ""
        return [(last.message_id, _check_words(sources.until.command, last.exit, output))]
    passed: set[str] = set()
    for part, state in _commands(sources.messages):
        command, code = state.input.get("command"), state.metadata.get("exit")
        found = _CHECK.search(command) if isinstance(command, str) else None
        if found is None or not isinstance(command, str) or not isinstance(code, int):
            continue
        runner = found[1].lower()
        if code and runner not in passed:
            return [(part.message_id, _check_words(command, code, state.output))]
        passed.add(runner)
    return [one for one in _carried(sources, "check") if not _has_passed(one[1], passed)]


def _has_passed(check: str, passed: set[str]) -> bool:
    """Return whether the runner of a check that was kept is one of those that passed since."""
    found = _CHECK.search(check.partition("\n")[0])
    return found is not None and found[1].lower() in passed


def _commands(
    messages: Sequence[MessageWithParts], message_id: str | None = None
) -> Iterator[tuple[ToolPart, ToolStateCompleted]]:
    """Yield the commands that ended, the newest first; with an id only those of that message."""
    for message in reversed(messages):
        if message_id is None or message.info.id == message_id:
            for part in reversed(message.parts):
                if (
                    isinstance(part, ToolPart)
                    and isinstance(part.state, ToolStateCompleted)
                    and row_of(part.tool).result == "command"
                ):
                    yield part, part.state


def _check_words(command: str, code: int | None, output: str) -> str:
    ended = "did not end" if code is None else f"exits with {code}"
    head = f"{_cut_middle(' '.join(command.split()), _COMMAND_LENGTH)} ({ended})"
    tail = output.strip()[-_CHECK_LENGTH:]
    return f"{head}\n{tail}" if tail else head


def _changed_files(messages: Sequence[MessageWithParts]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, PatchPart):
                found.extend((message.info.id, path) for path in part.files)
            elif isinstance(part, ToolPart) and row_of(part.tool).edits and isinstance(part.state, ToolStateCompleted):
                found.extend((message.info.id, path) for path in _paths(part.state))
    return found


def _read_files(messages: Sequence[MessageWithParts]) -> list[tuple[str, str]]:
    return [
        (message.info.id, path)
        for message in messages
        for part in message.parts
        if isinstance(part, ToolPart) and part.tool == "read" and isinstance(part.state, ToolStateCompleted)
        for path in _paths(part.state)
    ]


def _paths(state: ToolStateCompleted) -> list[str]:
    """Return the files that a call names, or that its patch changed."""
    patched: list[dict[str, object]] = state.metadata.get("files") or []
    given = [state.input.get("filePath"), *(file.get("movePath") or file.get("filePath") for file in patched)]
    return [path for path in given if isinstance(path, str) and path]


def _relative(path: str, worktree: Path) -> str:
    given = Path(path)
    return str(given.relative_to(worktree)) if given.is_relative_to(worktree) else path


def _cut_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} […{len(text) - 2 * half} characters left out…] {text[-half:]}"
