"""The rows of a Claude Code session as a tree, and the conversations in it.

A row names its parent, so a file holds a tree: going back to an earlier prompt starts another branch. The first branch keeps the
session's identity, because an earlier import may have read it alone; each later one with a prompt of its own is a conversation that
shares the rows before it. Rows of an answer beside the path (parallel calls and their results) are found by the ids of the answer
and of the calls.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from opencode_tui.extras.importing.json_lines import JsonLines, Line, as_objects, as_text, as_time
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

Kind = Literal["user", "assistant", "attachment", "system", "other"]
"""The kind of a row in the tree; of the others only their place matters."""

NOTIFICATION = "<task-notification>"
"""The beginning of what the program tells the model when an agent or a command in the background has ended."""

COMMAND_MARKS = (
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-",
    "[Request interrupted",
    "Caveat:",
    NOTIFICATION,
)
"""Beginnings of a user's row that is no prompt."""

_MAX_ROWS = 500_000


@dataclass(slots=True)
class Row:
    """A row of the tree: where it is in the file, its parent (an index, -1 for none), and what it has.

    `answer` is the id of the model's response; `calls` and `results` are ids of calls. `is_prompt`: the user wrote it.
    """

    line: int
    offset: int
    size: int
    uuid: str
    parent: int
    kind: Kind
    time: int
    answer: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    results: tuple[str, ...] = ()
    is_prompt: bool = False
    is_boundary: bool = False
    is_sidechain: bool = False


@dataclass(slots=True)
class Facts:
    """What the rows say of the session. `summaries` are titles by the last row of their session, which may be in another file."""

    directory: str = ""
    version: str = ""
    created: int = 0
    updated: int = 0
    custom_title: str = ""
    title: str = ""
    prompt: str = ""
    summaries: dict[str, str] = field(default_factory=dict[str, str])


class Conversation(Struct, frozen=True):
    """Rows in order, as indexes; `key` is the row that began a branch, empty for the first conversation."""

    key: str
    rows: Sequence[int]


class Tree(Struct, frozen=True):
    """A file's rows and facts. `results` has the row of each call's result, `left_out` rows in no conversation."""

    rows: Sequence[Row]
    facts: Facts
    conversations: Sequence[Conversation]
    sidechains: Sequence[Conversation]
    results: dict[str, int]
    left_out: Sequence[int]


def read_tree(file: JsonLines) -> Tree:
    """Read all rows of a file once, and return where they are and how they hang together."""
    rows: list[Row] = []
    index: dict[str, int] = {}
    facts = Facts()
    logical: dict[int, str] = {}
    for line in file.lines():
        _learn(facts, line.value)
        if len(rows) >= _MAX_ROWS:
            file.report(line.number, f"the session has more than {_MAX_ROWS:,} rows; the rest is left out")
            break
        row = _row(line, rows, index, facts)
        if row is None:
            continue
        if row.is_boundary:
            logical[len(rows)] = as_text(line.value.get("logicalParentUuid"))
        index[row.uuid] = len(rows)
        rows.append(row)
    for at, uuid in logical.items():
        before = index.get(uuid, -1)
        rows[at].parent = before if before < at else -1
    return _arrange(rows, facts)


def _learn(facts: Facts, value: JsonObject) -> None:
    """Record what a line says of the session."""
    time = as_time(value.get("timestamp"))
    if time is not None:
        facts.created = facts.created or time
        facts.updated = max(facts.updated, time)
    facts.directory = facts.directory or as_text(value.get("cwd"))
    facts.version = as_text(value.get("version")) or facts.version
    match value.get("type"):
        case "custom-title":
            facts.custom_title = as_text(value.get("customTitle")) or facts.custom_title
        case "ai-title":
            facts.title = as_text(value.get("aiTitle")) or facts.title
        case "summary":
            if leaf := as_text(value.get("leafUuid")):
                facts.summaries[leaf] = as_text(value.get("summary"))
            else:
                facts.title = as_text(value.get("summary")) or facts.title
        case _:
            pass


def _row(line: Line, rows: Sequence[Row], index: dict[str, int], facts: Facts) -> Row | None:
    """Return the row of a line, None for a line outside of the tree and for a copy of an earlier row."""
    value = line.value
    kind = _kind(value)
    uuid = as_text(value.get("uuid"))
    if kind is None or (uuid and uuid in index):
        return None
    uuid = uuid or f"line-{line.number}"
    time = as_time(value.get("timestamp")) or (rows[-1].time if rows else facts.created)
    row = Row(line.number, line.offset, line.size, uuid, -1, kind, time, is_sidechain=value.get("isSidechain") is True)
    row.parent = _parent(value.get("parentUuid", ""), row, rows, index)
    if kind == "system":
        row.is_boundary = value.get("subtype") == "compact_boundary"
    elif kind in ("user", "assistant"):
        _read_content(row, value, facts)
    elif kind == "attachment":
        attachment = as_object(value.get("attachment"))
        row.is_prompt = attachment.get("type") == "queued_command" and attachment.get("commandMode") in (None, "prompt")
    return row


def _kind(value: JsonObject) -> Kind | None:
    match value.get("type"):
        case "user" | "assistant" | "attachment" | "system" as kind:
            return kind
        case _:
            return "other" if as_text(value.get("uuid")) and "parentUuid" in value else None


def _parent(given: object, row: Row, rows: Sequence[Row], index: dict[str, int]) -> int:
    """Return the parent's index; where it is not named, or not before the row, the row before takes its place."""
    if given is None:
        return -1
    found = index.get(given) if isinstance(given, str) else None
    if found is not None:
        return found
    before = len(rows) - 1
    while before >= 0 and rows[before].is_sidechain != row.is_sidechain:
        before -= 1
    return before


def _read_content(row: Row, value: JsonObject, facts: Facts) -> None:
    message = as_object(value.get("message"))
    content = message.get("content")
    blocks = as_objects(content)
    if row.kind == "assistant":
        row.answer = as_text(message.get("id")) or row.uuid
        used = [block for block in blocks if block.get("type") == "tool_use"]
        row.calls = tuple((as_text(block.get("id")), as_text(block.get("name"))) for block in used)
        return
    found = [block for block in blocks if block.get("type") == "tool_result"]
    row.results = tuple(as_text(block.get("tool_use_id")) for block in found)
    if value.get("isMeta") is True or value.get("isCompactSummary") is True:
        return
    texts = [content] if isinstance(content, str) else [as_text(block.get("text")) for block in blocks]
    text = next((text for text in texts if text.strip()), "")
    has_media = any(block.get("type") in ("image", "document") for block in blocks)
    row.is_prompt = bool(text and not text.lstrip().startswith(COMMAND_MARKS)) or has_media
    if row.is_prompt and not row.is_sidechain:
        facts.prompt = facts.prompt or text


def _arrange(rows: list[Row], facts: Facts) -> Tree:
    results: dict[str, int] = {}
    for at, row in enumerate(rows):
        for call_id in row.results:
            results.setdefault(call_id, at)
    main = [at for at, row in enumerate(rows) if not row.is_sidechain]
    side = [at for at, row in enumerate(rows) if row.is_sidechain]
    if not main:  # the file of a subagent
        main, side = side, []
    conversations, left_out = _conversations(rows, main, results)
    chains, lost = _conversations(rows, side, results, is_side=True)
    return Tree(rows, facts, conversations, chains, results, [*left_out, *lost])


def _conversations(
    rows: Sequence[Row], chosen: Sequence[int], results: dict[str, int], *, is_side: bool = False
) -> tuple[list[Conversation], list[int]]:
    """Return the conversations among some rows, and the rows that are in none."""
    children: dict[int, list[int]] = {}
    for at in chosen:
        children.setdefault(rows[at].parent, []).append(at)
    weight = _answers_below(rows, chosen)
    found: list[Conversation] = []
    covered: set[int] = set()
    roots = children.get(-1, [])
    first = next((root for root in roots if weight[root]), roots[0] if roots else -1)
    starts: list[tuple[list[int], int]] = [([], root) for root in roots if root == first or weight[root]]
    while starts:
        before, at = starts.pop(0)
        path = list(before)
        while True:
            path.append(at)
            covered.add(at)
            following, branches = _next(rows, at, children, weight)
            starts += [(list(path), branch) for branch in branches]
            if following is None:
                break
            at = following
        begun = rows[path[len(before)]].uuid
        found.append(Conversation("" if not found and not is_side else begun, path))
    beside = _beside(rows, chosen, covered)
    whole = [_complete(rows, one, beside, results) for one in found]
    return _with_pieces(rows, chosen, whole)


def _with_pieces(
    rows: Sequence[Row], chosen: Sequence[int], found: Sequence[Conversation]
) -> tuple[list[Conversation], list[int]]:
    """Put answers that are in no conversation into that of their parent, and return the prompts that are in none.

    Such an answer was begun again, or a damaged line separates it. Such a prompt was written again before it had an answer.
    """
    home = {at: number for number, one in reversed(list(enumerate(found))) for at in one.rows}
    pieces: dict[int, list[int]] = {}
    lost: list[int] = []
    for at in chosen:
        if at in home or rows[at].kind not in ("user", "assistant"):
            continue
        parent = rows[at].parent
        while parent >= 0 and parent not in home:
            parent = rows[parent].parent
        if rows[at].is_prompt or not found:
            lost.append(at)
            continue
        home[at] = home.get(parent, 0)
        pieces.setdefault(home[at], []).append(at)
    whole = [Conversation(one.key, sorted([*one.rows, *pieces.get(number, [])])) for number, one in enumerate(found)]
    return whole, lost


def _next(
    rows: Sequence[Row], at: int, children: dict[int, list[int]], weight: Sequence[int]
) -> tuple[int | None, list[int]]:
    """Return the child with which the conversation of a row goes on, and the children that begin other conversations.

    Parallel calls of one answer and their results are children of each other, not branches: the longest goes on.
    """
    below = children.get(at, [])
    calls = {call_id for call_id, _ in rows[at].calls}
    parallel = [
        child
        for child in below
        if (rows[child].answer and rows[child].answer == rows[at].answer) or not calls.isdisjoint(rows[child].results)
    ]
    if parallel:
        following = max(parallel, key=lambda child: (weight[child], child))
    else:
        following = next((child for child in below if weight[child]), below[-1] if below else None)
    others = [child for child in below if child != following and child not in parallel]
    return following, [child for child in others if _is_branch(rows, child, children)]


def _answers_below(rows: Sequence[Row], chosen: Sequence[int]) -> list[int]:
    """Return for each row how many answers it and the rows below it have."""
    weight = [0] * len(rows)
    for at in reversed(chosen):
        weight[at] += rows[at].kind == "assistant"
        if rows[at].parent >= 0:
            weight[rows[at].parent] += weight[at]
    return weight


def _is_branch(rows: Sequence[Row], start: int, children: dict[int, list[int]]) -> bool:
    """Return whether a prompt with an answer is among a row and those below it."""
    has_prompt = has_answer = False
    waiting = [start]
    while waiting and not (has_prompt and has_answer):
        at = waiting.pop()
        has_prompt |= rows[at].is_prompt
        has_answer |= rows[at].kind == "assistant"
        waiting += children.get(at, [])
    return has_prompt and has_answer


def _beside(rows: Sequence[Row], chosen: Iterable[int], covered: set[int]) -> dict[str, list[int]]:
    """Return the rows beside all paths by the answer that they belong to."""
    beside: dict[str, list[int]] = {}
    for at in chosen:
        if at not in covered and rows[at].answer:
            beside.setdefault(rows[at].answer, []).append(at)
    return beside


def _complete(
    rows: Sequence[Row], one: Conversation, beside: dict[str, list[int]], results: dict[str, int]
) -> Conversation:
    """Add the rows of the path's answers and the results of its calls that lie beside it."""
    have = set(one.rows)
    added: set[int] = set()
    for at in one.rows:
        added |= {other for other in beside.get(rows[at].answer, ()) if rows[at].answer}
    for at in [*one.rows, *added]:
        added |= {results[call_id] for call_id, _ in rows[at].calls if call_id in results}
    return Conversation(one.key, sorted(have | added))
