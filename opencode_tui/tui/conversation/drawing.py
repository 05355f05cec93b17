"""Draws items and caches the drawn lines."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from opencode_tui.text.cells import clip, pad, width, wrap
from opencode_tui.text.quantity import amount, duration, plural
from opencode_tui.text.retry import past_reason
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.conversation.entry import Entry, Leaf
from opencode_tui.tui.conversation.failure import draw_failure
from opencode_tui.tui.conversation.line import GUTTER, TEXT, Line, LineBuilder, RenderContext, Span
from opencode_tui.tui.conversation.links import UNFOLDS
from opencode_tui.tui.conversation.markdown import Markdown
from opencode_tui.tui.conversation.prose import add_caret, draw_block
from opencode_tui.tui.conversation.tool_view import draw_tool
from opencode_tui.tui.conversation.user import draw_user
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import (
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
