"""Draws items and caches the drawn lines: requests, answers in pieces, calls, failed turns."""

import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, assert_never

from opencode_tui.schema.error import split_remedy
from opencode_tui.schema.session.stored_error import (
    ErrorWords,
    OverflowData,
    ProviderAuthData,
    StoredApiError,
    StoredAuthError,
    StoredError,
    StoredOutputLengthError,
    StoredOverflowError,
    StoredStructuredOutputError,
    StoredUnknownError,
    output_remedy,
)
from opencode_tui.text.cells import breaks, clip, pad, width, wrap
from opencode_tui.text.cost import plan_words
from opencode_tui.text.quantity import amount, duration, money, plural
from opencode_tui.text.retry import past_reason
from opencode_tui.text.safe_text import screen_line, screen_lines
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.conversation.line import (
    BODY,
    GUTTER,
    PROSE_WIDTH,
    TEXT,
    Line,
    LineBuilder,
    RenderContext,
    Span,
    joints,
    slice_spans,
)
from opencode_tui.tui.conversation.links import UNFOLDS
from opencode_tui.tui.conversation.markdown import Block, Markdown
from opencode_tui.tui.conversation.prose import add_caret, draw_block, estimate_block
from opencode_tui.tui.conversation.tools import ViewState, draw_tool, picture_rows
from opencode_tui.tui.state.message import (
    AnyItem,
    CompactionItem,
    ErrorItem,
    GrowingItem,
    RetryItem,
    StopItem,
    TextItem,
    ThoughtItem,
    ToolItem,
    UndoItem,
    UserItem,
)

SLICE = 8_000
"""Characters of a text that are parsed in one step: about a millisecond."""


class Leaf:
    """A piece that is drawn in one step: a block of a response, or all of another item (`block` is None)."""

    __slots__ = ("block", "height", "lines")

    def __init__(self, block: Block | None, height: int) -> None:
        self.block = block
        self.height = height
        self.lines: list[Line] | None = None


class Flow:
    """A growing text as leaves; parsed text is not parsed again."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.height = 0
        self.rest = 0
        """Estimated lines of the text that is not parsed yet."""

        self.generation = 0
        self._markdown = Markdown()
        self._piece = 0
        self._offset = 0
        self._is_closed = False

    def advance(self, item: GrowingItem, page: RenderContext) -> None:
        """Parse at most one more slice."""
        text = self._next(item)
        if text:
            self._render_pieces(self._markdown.feed(text), page)
        self.rest = self._estimate_rest(item, page)
        if item.is_closed and not self.rest and not self._is_closed:
            self._is_closed = True
            self._render_pieces(self._markdown.close(), page)

    def is_current(self, item: GrowingItem) -> bool:
        """Return whether the parsed text is the start of the item's current text."""
        return self.generation == item.generation and not (self._is_closed and self._piece < len(item.pieces))

    def _next(self, item: GrowingItem) -> str:
        taken: list[str] = []
        size = 0
        while self._piece < len(item.pieces) and size < SLICE:
            piece = item.pieces[self._piece][self._offset : self._offset + SLICE - size]
            taken.append(piece)
            size += len(piece)
            self._offset += len(piece)
            if self._offset >= len(item.pieces[self._piece]):
                self._piece += 1
                self._offset = 0
        return "".join(taken)

    def _estimate_rest(self, item: GrowingItem, page: RenderContext) -> int:
        if self._piece >= len(item.pieces):
            return 0
        size = sum(map(len, item.pieces[self._piece :])) - self._offset
        return 1 + size // page.prose

    def _render_pieces(self, first: int, page: RenderContext) -> None:
        blocks = self._markdown.blocks
        self.height -= sum(leaf.height for leaf in self.leaves[first:])
        del self.leaves[first:]
        for block in blocks[first:]:
            self.leaves.append(Leaf(block, estimate_block(block, page)))
        self.height += sum(leaf.height for leaf in self.leaves[first:])


class Entry:
    """An item's place in the layout: `gap` empty rows, then its leaves. `at` is its index among all."""

    __slots__ = ("at", "flow", "gap", "head", "height", "item")

    def __init__(self, item: AnyItem) -> None:
        self.item = item
        self.at = 0
        self.gap = 0
        self.height = 0
        self.head: Leaf | None = None
        self.flow: Flow | None = None

    @property
    def count(self) -> int:
        """The number of leaves, including the one for text that is not parsed yet."""
        flow = self.flow
        return (self.head is not None) + (0 if flow is None else len(flow.leaves) + bool(flow.rest))

    def leaf(self, number: int) -> Leaf | None:
        """Return a leaf; None represents the text that is not parsed yet."""
        if self.head is not None:
            if number == 0:
                return self.head
            number -= 1
        leaves = self.flow.leaves if self.flow is not None else []
        return leaves[number] if number < len(leaves) else None

    def above(self, number: int) -> int:
        """Return the number of lines above a leaf, including the gap."""
        if number == 0:
            return 0
        above = self.gap + (self.head.height if self.head is not None else 0)
        if self.flow is None:
            return above
        index = number - (self.head is not None)
        leaves = self.flow.leaves
        if index * 2 > len(leaves):
            return above + self.flow.height - sum(leaf.height for leaf in leaves[index:])
        return above + sum(leaf.height for leaf in leaves[:index])

    @property
    def leaves(self) -> list[Leaf]:
        """All leaves."""
        pieces = [self.head] if self.head is not None else []
        return [*pieces, *self.flow.leaves] if self.flow is not None else pieces


REQUEST_ROWS = 12
"""Rows of a long request that are seen before it is opened."""

MAX_LETTERS = 20_000

MIN_HINT_ROOM = 60


def draw_user(item: UserItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the request's lines."""
    facts = "queued" if item.is_queued else _facts(item, page, scene)
    is_focused = scene.is_focused(item)
    hints = _hints(page) if is_focused and not item.is_queued else []
    keys = sum(width(text) for text, _ in hints)
    room = min(PROSE_WIDTH, page.room - width(facts) - keys - 2)
    rows = _rows(item, room, scene.is_open(item) or is_focused)
    is_dim = item.is_queued or not item.is_typed
    tone = "background" if item.is_queued else "selection" if is_focused else "background" if is_dim else "surface"
    lines: list[Line] = []
    bar = "guide" if is_dim else "user"
    for number, (text, joint) in enumerate(rows):
        pen = LineBuilder(page, tone=tone, tone_from=GUTTER)
        if not page.is_cut:
            pen.move(GUTTER).put(page.look.glyphs.user_bar, page.style(bar, tone))
        pen.move(TEXT).begin_copy().put(text, page.style("muted" if is_dim else "text", tone))
        if not number:
            pen.move(page.right + 1 - width(facts) - keys).put(facts, page.style("muted", tone)).put_all(hints)
        lines.append(pen.line(joint=joint))
    for source in item.pictures if item.pictures and scene.pictures is not None else ():
        for spans in picture_rows(source, item, page, scene, tone):
            pen = LineBuilder(page, tone=tone, tone_from=GUTTER)
            if not page.is_cut:
                pen.move(GUTTER).put(page.look.glyphs.user_bar, page.style(bar, tone))
            pen.move(TEXT).put_all(spans).begin_copy()
            lines.append(pen.line())
    return lines


def _facts(item: UserItem, page: RenderContext, scene: ViewState) -> str:
    """Return when, how long, how much; the last goes first where there is little room."""
    turn = item.turn
    facts = [scene.time_words(turn.started, page.width)]
    if turn.ended is not None:
        seconds = (turn.ended - (turn.begun or turn.started)) / 1000
        facts += [duration(seconds)] if seconds >= 1 else []
        facts += [money(turn.cost)] if turn.cost > 0 else []
    separator = f" {page.look.glyphs.separator} "
    while len(facts) > 1 and width(separator.join(facts)) > page.room // 3:
        facts.pop()
    return separator.join(facts)


def _hints(page: RenderContext) -> list[Span]:
    """Return the keys that act on a request, where there is room for them."""
    if page.room < MIN_HINT_ROOM:
        return []
    key, act = page.style("accent", "selection", bold=True), page.style("text", "selection")
    gap = ("   ", page.area("selection"))
    return [gap, ("u", key), (" undo", act), gap, ("f", key), (" fork", act)]


def _rows(item: UserItem, room: int, is_open: bool) -> list[tuple[str, str]]:
    """Return the rows of the text and what parts them from the next; a long one is cut until it is opened."""
    rows: list[tuple[str, str]] = []
    for line in screen_lines(item.text[:MAX_LETTERS]) if item.text else []:
        cuts = breaks(line, room)
        rows += [(line[start:end], joint) for (start, end), joint in zip(cuts, joints(line, cuts), strict=True)]
    if not is_open and len(rows) > REQUEST_ROWS + 1:
        rows = [*rows[:REQUEST_ROWS], (f"… {len(rows) - REQUEST_ROWS} lines", "\n")]
    elif len(item.text) > MAX_LETTERS:
        rows.append((f"… {len(item.text) - MAX_LETTERS} characters", "\n"))
    return rows + [(f"[{screen_lines(name)[0]}]", "\n") for name in item.attachments]


STOPPED = "The turn stopped. Nothing is lost."
_STATUS = re.compile(r" ?\((?:HTTP )?(\d{3})\)")
_MISSING_MODEL = re.compile(
    r"model.{0,80}(?:not exist|not found|not supported|unsupported|unknown|invalid|deprecated|retired)"
    r"|(?:unknown|invalid|unsupported|no such|not found).{0,20}model",
    re.IGNORECASE,
)
_ONE_COMMAND = re.compile(r"run `([^`]+)`")
_OVERFLOW_LEAD = "context window: "
"""What older records have before the provider's reason."""

_TOO_LARGE = "The conversation exceeds the model's context window"
_SMALLER = "/compact, or switch to a larger model"
_LONG = 600
FAILURE_ROWS = 6


class Words(NamedTuple):
    """The texts for a failure: `detail` is the provider's message, `fix` a command or an action.

    `then` is whether the message can be sent again.
    """

    title: str
    code: str = ""
    detail: str = ""
    meaning: str = STOPPED
    fix: str = ""
    then: bool = True


def draw_failure(item: ErrorItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the lines of a failed turn."""
    words = words_of(item.error, item.provider, item.model)
    time = scene.time_words(item.time, page.width)
    code = f" ({words.code})" if words.code else ""
    room = page.room - width(time) - 2
    title = [words.title[start:end] for start, end in breaks(words.title, room - width(code))]
    if len(title) > FAILURE_ROWS:
        title = [*title[: FAILURE_ROWS - 1], title[FAILURE_ROWS - 1] + page.look.glyphs.ellipsis]
    lines: list[Line] = []
    for number, text in enumerate(title):
        pen = LineBuilder(page)
        if not number:
            pen.move(GUTTER).put(page.look.glyphs.failed, page.style("error", bold=True))
        pen.move(TEXT).begin_copy().put(text, page.style("error", bold=True))
        if number == len(title) - 1:
            pen.put(code, page.style("muted"))
        if not number:
            pen.move(page.right + 1 - width(time)).put(time, page.style("muted"))
        lines.append(pen.line())
    lines += [line for text in (words.detail, words.meaning) if text for line in _wrapped(text, page)]
    if words.fix:
        lines += _labeled("Fix", words.fix, "", page)
    if words.then:
        lines += _labeled("Then", "press ", "up, enter", page, " to resend")
    return lines


def words_of(error: StoredError, provider: str, model: str = "") -> Words:
    """Return the texts for a stored error."""
    match error:
        case StoredAuthError() if plan_words(error.data.provider_id or provider):  # an account, not a key
            reason, remedy = split_remedy(error.data.message)
            return Words(_sentence(reason), fix=_command(remedy) or "/login")
        case StoredAuthError(data=ProviderAuthData(words=ErrorWords() as parts)):
            code = "" if parts.status is None else str(parts.status)
            return Words(_sentence(parts.title), code=code, detail=_line(parts.detail or ""), fix=_fix_of(parts))
        case StoredAuthError():
            return _refused_key(error.data.message, error.data.provider_id or provider)
        case StoredApiError():
            status = error.data.status_code
            text, _ = _without_status(error.data.message)
            title, remedy = split_remedy(text)
            fix = _command(remedy) or _api_fix(status, text)
            return Words(_sentence(title), code="" if status is None else str(status), fix=fix)
        case StoredOverflowError(data=OverflowData(words=ErrorWords() as parts)):
            return Words(_TOO_LARGE, detail=_line(parts.detail or ""), fix=_fix_of(parts) or _SMALLER)
        case StoredOverflowError():
            reason, remedy = split_remedy(_without_status(error.data.message)[0])
            return Words(
                _TOO_LARGE, detail=_line(reason.partition(_OVERFLOW_LEAD)[2]), fix=_command(remedy) or _SMALLER
            )
        case StoredOutputLengthError():
            fix = output_remedy(provider or "PROVIDER", model or "MODEL")
            return Words(
                "The response hit the model's output limit", meaning="Partial output was kept.", fix=fix, then=False
            )
        case StoredStructuredOutputError():
            return Words("The response did not match the requested schema", meaning=_sentence(error.data.message))
        case StoredUnknownError():
            return Words(_sentence(error.data.message))
        case _:
            return Words("The turn failed")


def _fix_of(parts: ErrorWords) -> str:
    return _command(parts.remedy or "")


def _refused_key(message: str, provider: str) -> Words:
    """Return the texts for a key that is missing or rejected, of an older record that has its sentence only.

    Even older ones have their remedy after the last semicolon.
    """
    text, code = _without_status(message)
    reason, remedy = split_remedy(text)
    if not remedy and "; " in text and "rejected the" in text:
        reason, _, remedy = text.rpartition("; ")
    login = f"opencode-tui auth login {provider}"
    title, is_rejected, detail = reason.partition(": ") if "rejected the" in reason else (reason, "", "")
    if not (is_rejected or code or re.search("refuse|invalid", text, re.IGNORECASE)):
        return Words(f"No API key for {provider}", fix=_command(remedy) or login)
    return Words(
        _line(title) if is_rejected else f"{provider} rejected the API key",
        code=code,
        detail=_line(detail),
        fix=_command(remedy) or login,
    )


def _command(remedy: str) -> str:
    """Return a remedy for the screen; one that is a single command without the words around it, so that it can be copied."""
    found = _ONE_COMMAND.fullmatch(remedy)
    return _line(found.group(1) if found else remedy)


def _without_status(message: str) -> tuple[str, str]:
    """Return an error's text without its HTTP status, and the status; empty without one."""
    found = _STATUS.search(message)
    return (message.replace(found[0], "", 1), found[1]) if found else (message, "")


def _api_fix(status: int | None, message: str) -> str:
    """Return the remedy; none where only the provider's message says what is wrong."""
    if status == 429:
        return "wait, or switch models (/models)"
    if status is None:
        return "check the network, or switch models (/models)"
    return "switch models (/models)" if status in (400, 404) and _MISSING_MODEL.search(message) else ""


def _line(text: str) -> str:
    return screen_line(" ".join(text.split())[:_LONG])


def _sentence(text: str) -> str:
    return _line(text) or "The turn failed"


def _wrapped(text: str, page: RenderContext) -> list[Line]:
    return [
        LineBuilder(page).move(TEXT).begin_copy().put(text[start:end], page.style("text")).line()
        for start, end in breaks(text, page.room)
    ]


def _labeled(label: str, before: str, key: str, page: RenderContext, after: str = "") -> list[Line]:
    """Return a remedy after its label; it is wrapped, never cut, so that it can be copied."""
    text, plain = before + key + after, page.style("text")
    cuts = breaks(text, page.right - BODY + 1)
    spans = slice_spans([(before, plain), (key, page.style("accent", bold=True)), (after, plain)], cuts)
    lines: list[Line] = []
    for row, joint in zip(spans, joints(text, cuts), strict=True):
        pen = LineBuilder(page)
        if not lines:
            pen.move(TEXT).put(label, page.style("muted"))
        lines.append(pen.move(BODY).begin_copy().put_all(row).line(joint=joint))
    return lines


def draw_item(item: AnyItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return an item's lines; only the first for reasoning and none for text, whose blocks are drawn one by one."""
    match item:
        case UserItem():
            return draw_user(item, page, scene)
        case ToolItem():
            return draw_tool(item, page, scene)
        case ThoughtItem():
            return [draw_thought_line(item, page, scene)]
        case CompactionItem():
            return draw_compaction(item, page, scene)
        case RetryItem():
            return draw_retries(item, page, scene)
        case ErrorItem():
            return draw_failure(item, page, scene)
        case StopItem():
            return draw_stop(item, page, scene)
        case UndoItem():
            return draw_undo(item, page, scene)
        case TextItem():
            return []
        case _:
            assert_never(item)


KEPT_LINES = 4_000
"""Drawn lines in the cache."""

MIN_LEAVES = 200
"""Leaves that stay in the cache at any length: visible lines must not be evicted."""

_log = logging.getLogger(__name__)


class RenderCache:
    """The drawn leaves of one page; items after the index `cut_at` are those that an undo would remove."""

    def __init__(self, page: RenderContext, scene: ViewState) -> None:
        self.page = page
        self.scene = scene
        self.cut_at: int | None = None
        self._cut_page = replace(page, is_cut=True)
        self._kept: OrderedDict[int, Leaf] = OrderedDict()
        self._lines = 0

    def begin(self, page: RenderContext) -> None:
        """Clear the cache for another page."""
        self.page = page
        self._cut_page = replace(page, is_cut=True)
        self._kept.clear()
        self._lines = 0

    def lines(self, entry: Entry, leaf: Leaf, *, is_end: bool) -> list[Line]:
        """Return a leaf's lines; `is_end` is whether it is the last leaf of its entry."""
        if leaf.lines is None:
            leaf.lines = self._draw(entry, leaf, is_end)
            self._kept[id(leaf)] = leaf
            self._lines += len(leaf.lines)
        else:
            self._kept.move_to_end(id(leaf))
        return leaf.lines

    def blank(self, entry: Entry) -> Line:
        """Return an empty line of an entry."""
        is_cut = self._is_cut(entry)
        line = Line((self._cut_page if is_cut else self.page).blank())
        return self._with_bar(line) if is_cut else line

    def evict(self, leaf: Leaf) -> None:
        """Remove a leaf's lines from the cache."""
        if leaf.lines is not None:
            self._kept.pop(id(leaf), None)
            self._lines -= len(leaf.lines)
            leaf.lines = None

    def trim(self) -> None:
        """Evict the least recently used leaves."""
        while self._lines > KEPT_LINES and len(self._kept) > MIN_LEAVES:
            self.evict(next(iter(self._kept.values())))

    def _is_cut(self, entry: Entry) -> bool:
        return self.cut_at is not None and entry.at > self.cut_at

    def _draw(self, entry: Entry, leaf: Leaf, is_end: bool) -> list[Line]:
        is_cut = self._is_cut(entry)
        page, item = self._cut_page if is_cut else self.page, entry.item
        try:
            if leaf.block is None or not isinstance(item, GrowingItem):
                lines = draw_item(item, page, self.scene)
            else:
                lines = draw_block(leaf.block, page, token="muted" if isinstance(item, ThoughtItem) else "assistant")
                if is_end and not item.is_closed:
                    add_caret(lines, page)
                if isinstance(item, TextItem) and self.scene.is_focused(item):
                    lines = [self._with_bar(line, page.look.glyphs.user_bar, "accent") for line in lines]
        except Exception:  # noqa: BLE001 - an error in one item must not take down the screen
            _log.exception("item %s of kind %s cannot be drawn", item.id, item.kind)
            text = "Could not render this; see the log"
            lines = [LineBuilder(page).move(TEXT).put(text, page.style("error")).line()]
        return [self._with_bar(line) for line in lines] if is_cut else lines

    def _with_bar(self, line: Line, glyph: str = "", token: str = "warning") -> Line:
        """Draw a bar into the gutter: of a text that has the focus, else what marks what an undo would remove."""
        page = self._cut_page
        sign = (glyph or page.look.glyphs.cut, page.look.palette.style(token))
        bar = LineBuilder(page).move(GUTTER).put(*sign).line().strip
        strip = line.strip
        return Line(strip.join([bar.crop(0, 2), strip.crop(2, page.width)]), line.copies_from, line.joint)


_GAP = 1


def draw_thought_line(item: ThoughtItem, page: RenderContext, scene: ViewState) -> Line:
    """Return the first line of a reasoning block; its text follows when it is expanded."""
    glyphs = page.look.glyphs
    tone = "selection" if scene.is_focused(item) else "background"
    seconds = ((item.ended or scene.now) - item.started) / 1000 if item.started else 0
    time = f" for {duration(seconds)}" if seconds >= 1 else ""
    words = f"Thought{time}" if item.is_closed else f"Thinking{time}"
    pen = LineBuilder(page, tone=tone, tone_from=GUTTER)
    if not page.is_cut:
        pen.move(GUTTER).put(glyphs.unfolded if scene.is_open(item) else glyphs.folded, page.style("muted", tone))
    pen.move(TEXT).begin_copy().put(words, page.style("muted", tone, italic=True))
    if scene.is_focused(item):
        act = "fold" if scene.is_open(item) else "open"
        _put_right(pen, [("enter", page.style("accent", tone, bold=True)), (f" {act}", page.style("text", tone))], page)
    return pen.line()


def draw_compaction(item: CompactionItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the rule of a compaction, and its summary when it is expanded."""
    lines = [
        _rule(
            *_compaction_words(item, page),
            page,
            is_focused=scene.is_focused(item),
            right=_compaction_end(item, page, scene),
        )
    ]
    if scene.is_open(item) and item.summary:
        lines += [Line(page.blank()), *_prose(item.summary, page)]
    return lines


def draw_retries(item: RetryItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the line that reports failed attempts."""
    last = item.attempts[-1]
    text = f"Retried {plural(item.retries, 'time')}: {past_reason(item.provider, last)}"
    lost = max(0, last.time.created - item.began) / 1000
    pen = LineBuilder(page).move(GUTTER).put(page.look.glyphs.retried, page.style("muted"))
    fact = duration(lost) if lost >= 1 else ""
    room = page.room - width(fact) - 2
    pen.move(TEXT).begin_copy().put(clip(text, room, page.look.glyphs.ellipsis), page.style("muted"))
    if fact:
        pen.move(page.right + 1 - width(fact)).put(fact, page.style("muted"))
    return [pen.line()]


def draw_stop(item: StopItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the line of an answer that the user interrupted, or whose process ended."""
    pen = LineBuilder(page).move(GUTTER).put(page.look.glyphs.interrupted, page.style("muted"))
    pen.move(TEXT).begin_copy().put(
        "Session ended unexpectedly, send a message to go on" if item.is_killed else "Interrupted by you",
        page.style("muted"),
    )
    time = scene.time_words(item.time, page.width)
    return [pen.move(page.right + 1 - width(time)).put(time, page.style("muted")).line()]


def draw_undo(item: UndoItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the rule where an undo would start, or the summary of an active undo."""
    sign = (page.look.glyphs.undone, page.style("warning"))
    if item.is_preview:
        return [_rule(sign, [("Undo from here", page.style("warning"))], page, right=[])]
    room = page.room - width(f"{scene.redo_key} redo") - 4
    text, reason = _undone_words(item, page, room), item.undo_off
    if reason and width(f"{text} ({reason})") <= room:
        text, reason = f"{text} ({reason})", ""
    redo = [(scene.redo_key, page.style("text")), (" redo", page.style("muted"))]
    lines = [_rule(sign, [(text, page.style("text"))], page, right=redo, is_focused=scene.is_focused(item))]
    column = max((width(screen_line(file.path)) for file in item.files), default=0)
    lines += _muted_rows(reason[:1].upper() + reason[1:], page)
    files = item.files if scene.is_open(item) else _listed(item.files)
    lines += [line for file in files for line in _undone_file(file, min(column, page.room // 2), page)]
    if len(files) < len(item.files):
        lines.append(_more_files(len(item.files) - len(files), page, is_focused=scene.is_focused(item)))
    return [*lines, Line(page.blank()), *_muted_rows("Redo is available until you send a new message.", page)]


LISTED = 6
"""Files of an undo that are listed until it is opened, so that the line with the key of redo stays in sight."""


def _listed(files: Sequence[UndoneFile]) -> Sequence[UndoneFile]:
    """Return the files to list: those that were kept first of all, in their order."""
    if len(files) <= LISTED + 1:  # a line that counts one file would take its place
        return files
    chosen = sorted(range(len(files)), key=lambda at: not files[at].is_left)[:LISTED]
    return [files[at] for at in sorted(chosen)]


def _more_files(count: int, page: RenderContext, *, is_focused: bool) -> Line:
    pen = LineBuilder(page).move(TEXT).begin_copy()
    pen.put(f"{page.look.glyphs.ellipsis} {count} more files", page.style("muted") + UNFOLDS)
    keys = "right" if is_focused else f"{page.focus_key}, right" if page.focus_key else ""
    if keys:
        pen.put("   ", page.area()).put(keys, page.style("text") + UNFOLDS)
        pen.put(" list all", page.style("muted") + UNFOLDS)
    return pen.line()


def _muted_rows(text: str, page: RenderContext) -> list[Line]:
    """Return a text over as many lines as it needs; none without one."""
    rows = wrap(text, page.room) if text else []
    return [LineBuilder(page).move(TEXT).begin_copy().put(row, page.style("muted")).line() for row in rows]


def _undone_words(item: UndoItem, page: RenderContext, room: int) -> str:
    """Return what the undo did, in fewer words where there is little room: none of them is cut."""
    full = _undone_said(item, page, nouns=True)
    return full if page.width >= 80 and width(full) <= room else _undone_said(item, page, nouns=False)


def _undone_said(item: UndoItem, page: RenderContext, *, nouns: bool) -> str:
    counts = Counter("kept" if file.is_left else file.fate for file in item.files)
    count = plural(item.messages, "message") if nouns else str(item.messages)
    words = [f"{count if item.messages else 'Files'} undone"]
    if item.undo_off:
        return f"{words[0]}, files unchanged"
    if nouns:
        verbs = {"restored": "restored", "deleted": "removed"}
        words += [f"{plural(counts[fate], 'file')} {verb}" for fate, verb in verbs.items() if counts[fate]]
    elif changed := counts["restored"] + counts["deleted"]:
        words.append(f"{changed} reverted")
    words += [f"{counts['kept']} kept"] if counts["kept"] else []
    return f" {page.look.glyphs.separator} ".join(words)


def _undone_file(file: UndoneFile, column: int, page: RenderContext) -> list[Line]:
    """Return a file's line; a reason that does not fit follows on the next line."""
    is_kept = file.is_left
    pen = LineBuilder(page)
    if is_kept:
        pen.move(GUTTER).put(page.look.glyphs.asks, page.style("warning", bold=True))
    pen.move(TEXT).begin_copy().put(f"{file.status} ", page.style("muted"))
    path = clip(screen_line(file.path), column, page.look.glyphs.ellipsis)
    pen.put(pad(path, column), page.style("text" if is_kept else "muted")).put("   ", page.area())
    pen.put(file.fate, page.style("text" if is_kept else "muted"))
    note = screen_line(file.note)
    is_below = width(note) + 2 > page.right - 8 - pen.at
    if note and not is_below:
        pen.put(f": {note}", page.style("muted"))
    token = ("diff_add", "diff_del") if is_kept else ("muted", "muted")
    if file.additions:
        added = f"+{file.additions}"
        pen.move(page.right - 3 - len(added)).put(added, page.style(token[0]))
    if file.deletions:
        removed = f"{page.look.glyphs.minus}{file.deletions}"
        pen.move(page.right + 1 - len(removed)).put(removed, page.style(token[1]))
    if not note or not is_below:
        return [pen.line()]
    reason = clip(note, page.room - 2, page.look.glyphs.ellipsis)
    return [pen.line(), LineBuilder(page).move(TEXT + 2).begin_copy().put(reason, page.style("muted")).line()]


def _rule(sign: Span, words: list[Span], page: RenderContext, *, right: list[Span], is_focused: bool = False) -> Line:
    """Return a line with a rule between its words and its right end."""
    tone = "selection" if is_focused else "background"
    room = page.room - sum(width(text) for text, _ in right) - 4
    words = [(clip(text, room, page.look.glyphs.ellipsis), style) for text, style in words]
    pen = LineBuilder(page, tone=tone, tone_from=GUTTER).move(GUTTER).put(*sign).move(TEXT).begin_copy().put_all(words)
    end = page.right + 1 - sum(width(text) for text, _ in right)
    rule = max(0, end - pen.at - _GAP - (_GAP if right else 0))
    pen.move(pen.at + _GAP).put(page.look.glyphs.rule * rule, page.style("border", tone))
    return pen.move(end).put_all(right).line() if right else pen.line()


def _compaction_words(item: CompactionItem, page: RenderContext) -> tuple[Span, list[Span]]:
    glyphs = page.look.glyphs
    if item.failure:
        sign = (
            (glyphs.failed, page.style("error", bold=True))
            if item.failure == "failed"
            else (glyphs.interrupted, page.style("muted"))
        )
        return sign, [("Compaction ", page.style("text")), (item.failure, page.style("muted"))]
    if item.is_running:
        counts = f"  {amount(item.before)} tokens" if item.before else ""
        sign = (glyphs.running, page.style("accent", bold=True))
        return sign, [("Compacting", page.style("text", bold=True)), (counts, page.style("muted"))]
    sign = (glyphs.compacted, page.style("accent", bold=True))
    return sign, [("Compacted", page.style("text")), (_counts(item, page), page.style("muted"))]


def _counts(item: CompactionItem, page: RenderContext) -> str:
    """Return the tokens before and after; until the next step was sent, `after` is the size of the summary alone."""
    if not (item.before and item.after):
        return ""
    return f"  {amount(item.before)} {page.look.glyphs.becomes} {amount(item.after)} tokens"


def _compaction_end(item: CompactionItem, page: RenderContext, scene: ViewState) -> list[Span]:
    is_focused = scene.is_focused(item)
    tone = "selection" if is_focused else "background"
    time = (scene.time_words(item.time, page.width), page.style("muted", tone))
    if not item.summary or item.is_running or page.width < 70 or not is_focused:
        return [time]
    act = "fold the summary" if scene.is_open(item) else "read the summary"
    return [
        time,
        ("   ", page.area(tone)),
        ("enter", page.style("accent", tone, bold=True)),
        (f" {act}", page.style("text", tone)),
    ]


def _prose(text: str, page: RenderContext) -> list[Line]:
    markdown = Markdown()
    markdown.feed(text)
    markdown.close()
    return [line for block in markdown.blocks for line in draw_block(block, page, token="muted")]


def _put_right(pen: LineBuilder, spans: list[Span], page: RenderContext) -> None:
    pen.move(max(pen.at, page.right + 1 - sum(width(text) for text, _ in spans))).put_all(spans)
