"""What the timeline reads of a conversation."""

from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest

from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import Tokens, UserSummary
from opencode_tui.schema.session.part import FilePart, PatchPart
from opencode_tui.text.cells import width
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.pages.timeline import change_of, file_since
from opencode_tui.tui.pages.timeline_head import EDGES, PICTURE, bars_of, picture_of, turn_of
from opencode_tui.tui.pages.timeline_moments import Branch, Moment, Moments, begins_turn
from tests.support.sessions.records import text
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story, edit
from tests.support.terminal.screen import look


def moments(messages: Sequence[MessageWithParts], branches: Sequence[Branch] = ()) -> Sequence[Moment]:
    made = Moments(branches, root=ROOT)
    made.add(messages)
    return made.found


@pytest.mark.parametrize("room", [60, 84, 139])
@pytest.mark.parametrize(
    ("tokens", "words"), [(1, "300 new tokens"), (84_000, "25.2 M new tokens"), (999_999, "300 M new tokens")], ids=str
)
def test_the_words_of_the_head_are_whole_beside_columns_that_fill_it(room: int, tokens: int, words: str) -> None:
    found = [Moment(f"msg_{at}", at, "go", tokens=tokens, diffs=[diff("a.py", 1)]) for at in range(300)]
    rows = picture_of(found, "msg_3", look(), room - PICTURE)
    drawn = ["".join(words for words, _ in row) for row in rows]
    assert drawn[0].endswith(f"   {words}") and drawn[1].endswith("   ↶ undo restores files")
    assert all(width(one) <= room - EDGES for one in drawn)


def test_a_form_feed_in_a_change_is_no_line_of_its_own() -> None:
    story = Story()
    story.user("mend it", "1")
    story.answer([edit(story, diff="@@ -1,2 +1,3 @@\n-old\x0c\n+new\x0c\x1d-x\n+\u2028+more\n\n")], at="1")
    (moment,) = moments(story.messages)
    assert [(step.additions, step.deletions) for step in moment.steps] == [(2, 1)]


def steps(moment: Moment) -> list[tuple[str, str, int, int]]:
    return [(one.name, one.text, one.additions, one.deletions) for one in moment.steps]


def patch(*files: str) -> PatchPart:
    names = [f"{ROOT}/{name}" for name in files]
    return PatchPart(id="prt_patch", session_id=SESSION, message_id="msg_x", hash="0" * 40, files=names)


def diff(file: str, additions: int, deletions: int = 0) -> FileDiff:
    return FileDiff(file=file, additions=additions, deletions=deletions, status="modified")


def test_a_command_has_the_files_that_no_file_tool_changed() -> None:
    story = Story()
    story.user("go", "1", summary=UserSummary(diffs=[diff("src/csvkit/parser.py", 1, 1), diff("docs/a.md", 2)]))
    regen = story.tool("bash", {"command": "make docs"}, "")
    story.answer([edit(story), regen, patch("src/csvkit/parser.py", "docs/a.md")], at="1", finish="tool-calls")
    (moment,) = moments(story.messages)
    assert steps(moment) == [("Edit", "src/csvkit/parser.py", 1, 1), ("Bash", "make docs", 2, 0)]
    assert (moment.additions, moment.deletions) == (3, 1)


def test_a_turn_that_changed_nothing_is_one_row_and_the_last_one_says_what_came_of_it() -> None:
    story = Story()
    story.user("which", "1")
    story.answer(["That one."], at="1")
    story.user("and now", "2")
    story.answer(["214 passed\nmore"], at="2")
    first, last = moments(story.messages)
    assert (steps(first), steps(last)) == ([], [("response", "214 passed", 0, 0)])


def test_a_request_that_is_not_answered_yet_says_nothing() -> None:
    story = Story()
    story.user("which", "1")
    assert [one.steps for one in moments(story.messages)] == [[]]


def test_a_request_that_is_only_a_file_is_a_turn() -> None:
    story = Story()
    story.user("", "1").parts[:] = [
        FilePart(
            id="prt_file", session_id=SESSION, message_id="msg_x", mime="image/png", filename="a.png", url="data:,"
        )
    ]
    assert [one.text for one in moments(story.messages)] == ["[a.png]"]


def test_a_fork_stands_where_it_branches_off_and_not_when_it_was_made() -> None:
    story = Story()
    story.user("one", "1")
    story.answer(["1"], at="1")
    second = story.user("two", "2")
    story.answer(["2"], at="2")
    late = Branch(NOON + 60 * 60_000, "early part", "ses_a", before=second.info.id)
    whole = Branch(NOON + 90_000, "what was there", "ses_b")
    everything = Branch(NOON + 60 * 60_000, "all", "ses_c")
    nothing = Branch(NOON + 60 * 60_000, "empty", "ses_d", before=story.messages[0].info.id)
    found = moments(story.messages, [late, whole, everything, nothing])
    told = [[(one.session_id, one.messages) for one in moment.steps if one.session_id] for moment in found]
    assert told == [[("ses_a", 2), ("ses_b", 2)], [("ses_c", 4)]]


def facts(made: Moments) -> list[object]:
    """Return all that the page shows of moments, for comparisons."""
    shown: list[object] = [made.shares]
    for one in made.found:
        rule = one.compaction
        sizes = None if rule is None else (rule.before, rule.after, rule.is_measured)
        forks = [(step.session_id, step.messages) for step in one.steps]
        shown.append((one.message_id, one.text, one.is_rule, one.tokens, one.diffs, steps(one), forks, sizes))
    return shown


def test_turns_that_are_read_in_groups_are_shown_as_if_all_were_read_at_once() -> None:
    """With compactions, prompts of the program, commands of the user, forks and changes; cut before any prompt of the user."""
    story = Story()
    for number in range(4):
        first, second, third, last = (str(10 * number + minute) for minute in range(1, 5))
        story.user(f"request {number}", first, summary=UserSummary(diffs=[diff("a.py", number, 1)]))
        story.answer(
            ["yes"], at=first, end=f"{first}:02", finish="tool-calls", tokens=Tokens(input=90_000, output=number)
        )
        story.answer([edit(story), patch("docs/b.md")], at=second, end=f"{second}:30")
        if number == 1:
            story.compaction(third, "the summary", before=90_000, after=3_000)
            story.user("", third).parts[:] = [text("Continue.", synthetic=True)]
            story.answer(["on it"], at=last, tokens=Tokens(input=20_000))
        story.user("", last)
        story.answer([story.tool("bash", {"command": "ls"}, "a.py")], at=last)
    before = [Branch(NOON, f"fork {at}", f"ses_{at}", before=one.info.id) for at, one in enumerate(story.messages)]
    branches = [*before, Branch(NOON + 90 * 60_000, "late", "ses_late"), Branch(0, "early", "ses_early")]

    def made(*cuts: int) -> Moments:
        found = Moments(branches, root=ROOT)
        edges = [0, *cuts, len(story.messages)]
        for begin, end in reversed([*pairwise(edges)]):
            found.add(story.messages[begin:end], begin)
        return found

    whole = facts(made())
    cuts = [at for at, one in enumerate(story.messages) if at and begins_turn(one)]
    assert len(cuts) == 3 and any("Compacted" in str(one) for one in whole)
    for some in (some for count in (1, 2, 3) for some in combinations(cuts, count)):
        assert facts(made(*some)) == whole


def test_the_change_that_is_shown_is_that_since_the_request_over_all_later_turns() -> None:
    before, between, after = ("x = 1\n", "x = 2\n", "x = 3\ny = 4\n")
    story = Story()
    story.user("one", "1", summary=UserSummary(diffs=[FileDiff(file="a.py", before=before, after=between)]))
    story.user("two", "2", summary=UserSummary(diffs=[FileDiff(file="a.py", before=between, after=after)]))
    found = moments(story.messages)
    gone = [UndoneFile(status="M", path="a.py", fate="restored")]
    file = file_since(found, found[0], gone)
    assert file is not None and (file.first, file.last) == tuple(one.message_id for one in found)
    shown = change_of(file, story.messages)
    assert shown is not None
    assert [(one.row.kind, one.row.text) for one in shown.rows] == [("-", "x = 1"), ("+", "x = 3"), ("+", "y = 4")]
    assert file_since(found, found[0], [UndoneFile(status="M", path="a.py", fate="kept")]) is None


def test_where_turns_share_a_bar_it_goes_to_the_one_that_makes_it_high_and_never_to_a_compaction() -> None:
    turns = [Moment(f"msg_{n}", n, "", tokens=9 if n == 6 else 1, is_rule=n == 1) for n in range(30)]
    groups = [[turns[at] for at in group] for group in bars_of(turns, 10)]
    assert [turn_of(group) for group in groups[:3]] == ["msg_0", "msg_3", "msg_6"]
    assert turn_of([turns[1]]) == ""
    assert bars_of(turns[:1], 10) == bars_of(turns, 9) == []
