"""How the view behaves: what it follows, what keys and the mouse do, what a selection copies."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip

from opencode_tui.schema.event.event import PartGrowth, PartUpdated, SessionUpdated
from opencode_tui.schema.session.part import PartTime, TextPart
from opencode_tui.schema.session.session import BusyStatus, RevertState
from opencode_tui.schema.session.stored_error import MessageData, StoredUnknownError
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.conversation import drawing, requests
from opencode_tui.tui.conversation.layout import STEP
from opencode_tui.tui.state.transcript import Transcript
from tests.support.hostile.strings import HOSTILE, hostile_strings, steering
from tests.support.terminal.conversation import (
    SESSION,
    ConversationApp,
    Story,
    chat_dark,
    compaction_and_retry,
    edit,
    errors,
    every_state,
    every_tool,
    failures,
    look,
    markdown,
    read,
    requests_of,
    revert_preview,
)
from tests.support.terminal.screen import resize
from tests.support.terminal.scripted_client import session

pytestmark = pytest.mark.usefixtures("jumping_clock")

SIZE = (100, 20)


def app_of(story: Story, **fields) -> ConversationApp:
    return ConversationApp(story.transcript(**fields), look())


def shown(app: ConversationApp) -> list[str]:
    """The rows in sight, without what fills them."""
    return [placed.line.strip.text.rstrip() for placed in app.view.viewport.lines]


def asked(app: ConversationApp, kind: type) -> list[object]:
    return [one for one in app.asked if isinstance(one, kind)]


def long_story(turns: int = 60) -> Story:
    story = Story()
    for number in range(turns):
        story.user(f"Question {number}?", str(number % 60))
        story.answer(
            [
                read(story, f"src/file_{number}.py", 3),
                edit(story),
                f"Answer {number}. " + "word " * (number * 7 % 60) + "\n\n- a\n- b",
            ],
            at=str(number % 60),
        )
    return story


class Stream:
    """An answer that grows in a transcript."""

    def __init__(self, story: Story) -> None:
        story.user("go")
        story.status = BusyStatus()
        self.part = story.answer([story.text("", is_open=True)], end=None).parts[0]
        assert isinstance(self.part, TextPart)
        self.text = ""

    def grow(self, transcript: Transcript, delta: str) -> None:
        self.text += delta
        transcript.apply(PartGrowth(SESSION, self.part.message_id, self.part.id, delta, self.record))

    def record(self) -> TextPart:
        assert isinstance(self.part, TextPart)
        return self.part.changed(text=self.text)


async def settle(pilot: Pilot[None]) -> None:
    await pilot.pause(0.12)


def all_strips(app: ConversationApp) -> list[Strip]:
    """Return the lines of all entries, also of those outside the window."""
    layout = app.view.viewport.layout
    strips = [placed.line.strip for entry in layout.entries for placed in layout.lines_of(entry)]
    assert strips
    return strips


@pytest.mark.slow
async def test_the_view_stays_at_the_end_while_an_answer_grows() -> None:
    story = long_story(5)
    stream = Stream(story)
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        for number in range(40):
            stream.grow(app.view.transcript, f"line {number}\n\n")
        await settle(pilot)
        assert app.view.is_following
        assert "line 39" in shown(app)[-1]


async def test_rows_move_by_some_lines_at_once_below_a_text_that_grows_and_its_end_is_at_the_bottom() -> None:
    story = long_story(5)
    stream = Stream(story)
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        tops: list[int] = []
        for number in range(1, 25):
            stream.grow(app.view.transcript, f"- line {number}\n")
            await settle(pilot)
            tops.append(app.view.viewport.top)
            assert f"line {number}" in shown(app)[-1]
            least = app.view.size.height - (STEP if number > STEP else 1)  # one less where the first row would be empty
            assert len(shown(app)) >= least
        assert tops == sorted(tops) and tops[-1] > tops[STEP] > tops[STEP - 1], tops
        moved = [after for before, after in pairwise(tops[STEP:]) if after != before]
        assert 0 < len(moved) <= len(tops[STEP:]) / (STEP - 1), tops
        app.view.transcript.apply(PartUpdated(part=stream.record().changed(time=PartTime(start=1, end=2))))
        await settle(pilot)
        assert (len(shown(app)), "line 24" in shown(app)[-1]) == (app.view.size.height, True)
        assert app.view.is_following


async def test_a_conversation_that_fits_moves_no_row() -> None:
    story = Story()
    stream = Stream(story)
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        for number in range(15):
            stream.grow(app.view.transcript, f"- line {number}\n")
            await settle(pilot)
            assert app.view.viewport.top == 0
        assert "line 14" in shown(app)[-1]


async def test_rows_stay_where_one_scrolls_to_while_a_text_grows() -> None:
    story = long_story(5)
    stream = Stream(story)
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        stream.grow(app.view.transcript, "- one\n- two\n")
        await settle(pilot)
        app.view.scroll_lines(-5)
        before = shown(app)
        for number in range(6):
            stream.grow(app.view.transcript, f"- line {number}\n")
            await settle(pilot)
            assert shown(app) == before


async def test_scrolling_up_stops_following_and_counts_what_comes() -> None:
    story = long_story(5)
    stream = Stream(story)
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app.view.scroll_lines(-10)
        before = shown(app)
        stream.grow(app.view.transcript, "one\n\ntwo\n\nthree")
        await settle(pilot)
        assert shown(app) == before
        told = asked(app, requests.FollowChanged)[-1]
        assert isinstance(told, requests.FollowChanged)
        assert (told.is_following, told.new_lines) == (False, 6)
        app.view.action_scroll_end()
        await settle(pilot)
        assert "three" in shown(app)[-1]
        assert app.view.is_following


async def test_lines_that_are_drawn_for_the_first_time_are_not_new() -> None:
    story = Story()
    for number in range(30):  # requests beside whose figures there is less room than an estimate knows
        story.user(f"{number} " + "word " * (9 + number), str(number))
        story.answer(["Answered. " * (5 + number)], at=str(number), end=f"{number}:12", cost=0.42)
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        for _ in range(60):
            app.view.scroll_lines(-2)
        await settle(pilot)
        told = [one.new_lines for one in asked(app, requests.FollowChanged) if isinstance(one, requests.FollowChanged)]
        assert told and not any(told)


async def test_reaching_the_end_by_hand_follows_again() -> None:
    app = app_of(long_story(5))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app.view.scroll_lines(-5)
        app.view.scroll_lines(3)
        assert not app.view.is_following
        app.view.scroll_lines(9)
        assert app.view.is_following


@pytest.mark.fast_cases("18")
@pytest.mark.parametrize("step", [1, 7, 18])
async def test_the_whole_history_scrolls_without_a_jump(step: int) -> None:
    app = app_of(long_story())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        rows = shown(app)
        for _ in range(10_000):
            before = shown(app)
            app.view.scroll_lines(-step)
            if app.view.viewport.top == 0:
                break
            after = shown(app)
            moved = step + (after[step:] != before[: len(before) - step])  # one more over an empty row
            assert after[moved:] == before[: len(before) - moved]
            assert after[0] and (moved == step or not after[1])
            rows = after[:moved] + rows
        assert any("Question 0?" in row for row in shown(app))
        assert [row for row in rows if "Question" in row][-1].strip(" ▎").startswith("Question 59?")


async def test_a_resize_keeps_the_end_at_the_end_and_the_top_at_the_top() -> None:
    app = app_of(long_story(20))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        last = shown(app)[-1]
        await resize(pilot, 60, 30)
        await settle(pilot)
        assert shown(app)[-1] == last
        app.view.scroll_to_item(app.view.transcript.items[8].id)
        await settle(pilot)
        top = app.view.viewport.lines[0].entry.item
        await resize(pilot, 90, 12)
        await settle(pilot)
        assert app.view.viewport.lines[0].entry.item is top


async def test_a_reload_keeps_the_place() -> None:
    story = long_story(20)
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        app.view.scroll_to_item(app.view.transcript.items[8].id)
        await settle(pilot)
        before = shown(app)
        app.view.transcript.load(story.messages)
        await settle(pilot)
        assert shown(app) == before


async def test_nothing_runs_while_nothing_changes() -> None:
    app = app_of(long_story(3))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        timers = [timer for timer in (app.view._frames, app.view._seconds) if timer is not None]
        assert [timer._active.is_set() for timer in timers] == [False, False]


async def test_a_running_time_ticks() -> None:
    app = app_of(chat_dark())
    async with app.run_test(size=(100, 34)) as pilot:
        await settle(pilot)
        assert any("running  12 s" in row for row in shown(app))
        app.now += 2
        await pilot.pause(1.2)
        assert any("running  14 s" in row for row in shown(app))


async def test_enter_opens_and_folds_what_has_the_focus() -> None:
    story = Story()
    story.user("hi")
    story.answer([story.tool("bash", {"command": "ls"}, output="a.py\nb.py", exit=0)])
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        app.view.focus()
        await settle(pilot)
        await pilot.press("enter")
        assert [row.strip() for row in shown(app)[-2:]] == ["│ a.py", "│ b.py"]
        await pilot.press("enter")
        assert "enter open" in shown(app)[-1]


async def test_a_long_output_opens_in_a_view_of_its_own() -> None:
    story = Story()
    story.user("hi")
    story.answer([story.tool("bash", {"command": "ls"}, output="line\n" * 1_000, exit=0)])
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        app.view.focus()
        await settle(pilot)
        await pilot.press("enter", "enter")
        await settle(pilot)
        (request,) = asked(app, requests.FullTextRequested)
        assert isinstance(request, requests.FullTextRequested)
        assert (request.full.title, request.full.text.count("\n")) == ("Bash  ls", 1_000)


async def test_a_click_opens_a_line_and_another_folds_it() -> None:
    story = Story()
    story.user("hi")
    story.answer([story.thought("Hm, let me see."), "Answer"])
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.click(app.view, offset=(5, 2))
        assert "Hm, let me see." in shown(app)[3]
        await pilot.click(app.view, offset=(5, 2))
        assert shown(app)[4].strip() == "Answer"
        assert app.focused is not app.view


async def test_a_task_opens_its_agents_session() -> None:
    story = Story()
    story.user("hi")
    story.answer([story.tool("task", {"description": "find"}, "report", sessionId="ses_child")])
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.click(app.view, offset=(5, 2))
        await settle(pilot)
        (request,) = asked(app, requests.SessionRequested)
        assert request.session_id == "ses_child"  # pyright: ignore[reportAttributeAccessIssue] - it is one


async def test_a_link_is_asked_for_when_it_is_clicked() -> None:
    story = Story()
    story.user("hi")
    story.answer(["See [the page](https://docs.example/a)."])
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.click(app.view, offset=(9, 2))
        await settle(pilot)
        assert [one.href for one in asked(app, requests.LinkRequested)] == ["https://docs.example/a"]  # pyright: ignore[reportAttributeAccessIssue] - links


@pytest.mark.slow
async def test_keys_ask_for_what_the_app_must_do() -> None:
    story = compaction_and_retry()
    app = app_of(story)
    async with app.run_test(size=(100, 40)) as pilot:
        app.view.focus()
        await settle(pilot)
        pruned = next(item for item in app.view.transcript.items if item.kind == "tool" and "grep" in item.part.tool)  # pyright: ignore[reportAttributeAccessIssue] - a call
        while app.view._scene.focus != pruned.id:
            await pilot.press("up")
        await pilot.press("r", "u", "f", "y", "escape")
        await settle(pilot)
        kinds = [type(one).__name__ for one in app.asked if not isinstance(one, requests.FollowChanged)]
        assert kinds == ["RestoreRequested", "RevertRequested", "ForkRequested", "CopyRequested", "Left"]
        revert = asked(app, requests.RevertRequested)[0]
        assert (revert.message_id, revert.part_id) == (pruned.message_id, pruned.id)  # pyright: ignore[reportAttributeAccessIssue] - it is one


@pytest.mark.slow
async def test_the_focus_walks_over_items_and_is_kept_in_sight() -> None:
    app = app_of(long_story(10))
    async with app.run_test(size=SIZE) as pilot:
        app.view.focus()
        await settle(pilot)
        for _ in range(12):
            await pilot.press("up")
            assert any(placed.entry.item.id == app.view._scene.focus for placed in app.view.viewport.lines)
        for _ in range(13):
            await pilot.press("down")
        await settle(pilot)
        assert len(asked(app, requests.Left)) == 1


async def test_a_selection_copies_text_without_gutter_and_joins_wrapped_lines() -> None:
    story = Story()
    story.user("hi")
    answer = "This sentence is long enough to wrap at sixty cells, twice if need be, and ends here."
    story.answer([answer, "Second."])
    app = app_of(story)
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        await pilot.mouse_down(app.view, offset=(3, 2))
        await pilot.hover(app.view, offset=(20, 3))
        await pilot.hover(app.view, offset=(30, 5))
        await pilot.mouse_up(app.view, offset=(30, 5))
        await settle(pilot)
        assert app.screen.get_selected_text() == f"{answer}\n\nSecond."


async def test_a_selection_of_wide_letters_is_cut_at_letters() -> None:
    story = Story()
    story.user("hi")
    story.answer(["日本語の文章"])
    app = app_of(story)
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        await pilot.mouse_down(app.view, offset=(5, 2))
        await pilot.hover(app.view, offset=(9, 2))
        await pilot.mouse_up(app.view, offset=(9, 2))
        assert app.screen.get_selected_text() in ("本語", "本語の")
        assert len({placed.line.strip.cell_length for placed in app.view.viewport.lines}) == 1


async def test_an_item_that_cannot_be_drawn_says_so_and_the_others_are_seen(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def draw(item, page, scene):
        if item.kind == "tool":
            raise RuntimeError("broken")
        return real(item, page, scene)

    real = drawing.draw_item
    monkeypatch.setattr(drawing, "draw_item", draw)
    app = app_of(every_tool())
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        assert "Use every tool once." in shown(app)[0]
        assert any("Could not render this" in row for row in shown(app))
    assert "broken" in caplog.text


def hostile_stories(text: str) -> Iterable[Story]:
    """The text as each thing that comes from outside."""
    story = Story()
    story.user(text)
    story.answer(
        [
            story.thought(text),
            text,
            f"# {text}\n- {text}\n> {text}\n```{text}\n{text}\n```\n|{text}|b|\n|-|-|\n|{text}|{text}|",
        ]
    )
    story.answer(
        [
            story.tool("bash", {"command": text}, output=text, exit=1),
            story.running("bash", {"command": text}, output=text),
            story.tool("read", {"filePath": text}, text, title=text),
            story.tool("grep", {"pattern": text}, f"Found\n{text}:\n  Line 1: {text}", matches=1),
            story.tool(
                "edit",
                {"filePath": text},
                title=text,
                diff=f"@@ -1 +1 @@\n-{text}\n+{text}x",
                filediff={"additions": 1},
            ),
            story.tool("todowrite", {}, todos=[{"content": text, "status": text}]),
            story.tool("question", {"questions": [{"question": text}] * 2}, answers=[[text], [text]]),
            story.tool("task", {"description": text, "subagent_type": text}, text, tools=[text]),
            story.running("task", {"description": text}, tools=[text]),
            story.tool(f"own{text}", {"name": text}, text),
            story.failed("write", {"filePath": text}, text),
            story.retry("0", message=text),
        ],
        error=StoredUnknownError(data=MessageData(message=text)),
    )
    story.compaction("1", text, before=1000, after=10)
    yield story


STRINGS = hostile_strings(500)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [*HOSTILE, *(" ".join(STRINGS[at : at + 25]) for at in range(0, 500, 25)), "\n".join(STRINGS)]
)
async def test_hostile_texts_steer_nothing_wherever_they_stand(text: str) -> None:
    for story in hostile_stories(text):
        app = app_of(story)
        async with app.run_test(size=(100, 90)) as pilot:
            await settle(pilot)
            for item in list(app.view.transcript.items):
                if item.kind in ("tool", "thought", "compaction"):
                    app.view.act(item)
            await settle(pilot)
            for strip in all_strips(app):
                assert steering(strip.text) == []
                assert "\n" not in strip.text
                assert strip.cell_length == 100


@pytest.mark.fast_cases(
    "chat_dark-20",
    "chat_dark-160",
    "compaction_and_retry-100",
    "errors-60",
    "every_tool-40",
    "every_state-20",
    "every_state-160",
    "markdown-100",
)
@pytest.mark.parametrize("width", [20, 40, 60, 100, 160])
@pytest.mark.parametrize("make", [chat_dark, compaction_and_retry, errors, every_tool, every_state, markdown, failures])
async def test_every_line_is_as_wide_as_the_view(make, width: int) -> None:
    story = make()
    app = ConversationApp(story.transcript(requests=requests_of(story, "rm -rf build dist")), look())
    async with app.run_test(size=(width, 30)) as pilot:
        await settle(pilot)
        for strip in all_strips(app):
            assert (strip.cell_length, sum(segment.cell_length for segment in strip)) == (width, width)


async def test_another_look_draws_all_anew() -> None:
    app = app_of(chat_dark())
    async with app.run_test(size=(100, 34)) as pilot:
        await settle(pilot)
        app.look = look(dark=False)
        app.view.refresh()
        await settle(pilot)
        style = next(iter(app.view.viewport.lines[0].line.strip)).style
        assert style is not None and style.bgcolor is not None and style.bgcolor.name == "#fcfbf9"


async def test_another_transcript_takes_the_place() -> None:
    app = app_of(chat_dark())
    async with app.run_test(size=(100, 34)) as pilot:
        await settle(pilot)
        app.view.show(failures().transcript())
        await settle(pilot)
        assert any("And stop" in row for row in shown(app))
        assert not any("changelog" in row for row in shown(app))


async def test_a_preview_of_an_undo_mutes_what_would_go() -> None:
    app = app_of(revert_preview())
    async with app.run_test(size=(100, 34)) as pilot:
        await settle(pilot)
        second = [item for item in app.view.transcript.items if item.kind == "user"][1]
        app.view.transcript.preview_undo(second.message_id)
        app.view.scroll_to_item("undo")
        await settle(pilot)
        rule = next(index for index, row in enumerate(shown(app)) if "Undo from here" in row)
        muted = shown(app)[rule + 1 :]
        assert muted and all(row[1] == "╎" for row in muted)
        app.view.transcript.end_preview()
        await settle(pilot)
        rows = shown(app)
        assert rows and not any("╎" in row for row in rows)


async def test_a_part_that_was_told_before_its_message_is_not_lost_for_the_view() -> None:
    story = long_story(2)
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        part = story.messages[-1].parts[-1]
        assert isinstance(part, TextPart)
        app.view.transcript.apply(PartUpdated(part=part.changed(text="Another text")))
        await settle(pilot)
        assert "Another text" in shown(app)[-1]


async def test_a_very_long_answer_is_read_to_its_end_by_and_by() -> None:
    story = Story()
    story.user("hi")
    story.answer(["word " * 400_000 + "end"])
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(600):
            await pilot.pause(0.05)
            if shown(app)[-1].endswith("end"):
                break
        assert shown(app)[-1].endswith("end")
        assert not app.view.viewport.layout.is_behind


async def test_a_link_under_the_pointer_is_underlined() -> None:
    story = Story()
    story.user("hi")
    story.answer(["See [the page](https://docs.example/a)."])
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.hover(app.view, offset=(9, 2))
        await settle(pilot)
        (strip,) = app.view.render_lines(Region(0, 2, 100, 1))
        assert [segment.text for segment in strip if segment.style and segment.style.underline] == [
            "the page",
            " (https://docs.example/a)",
        ]


async def test_what_fits_has_no_thumb_and_cannot_be_scrolled_away() -> None:
    app = app_of(chat_dark())
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        app.view.action_page_up()
        assert app.view.is_following
        app.view.scroll_lines(-3)
        assert app.view.viewport.top == 0


@pytest.mark.slow
async def test_the_view_never_starts_with_an_empty_row() -> None:
    app = app_of(long_story(20))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        positions = 0
        for step in (-1, -1, -5, -3, 2, -20, 1, 1, -7, -1, -1, -1, 4, 30):
            app.view.scroll_lines(step)
            assert shown(app)[0]
            positions += 1
        for height in range(12, 30):
            await resize(pilot, 100, height)
            await settle(pilot)
            app.view.action_scroll_end()
            assert shown(app)[0]
            assert any("b" in row for row in shown(app)[-2:])
            positions += 1
        assert positions == 32


def many_files_undone(app: ConversationApp, count: int) -> None:
    transcript = app.view.transcript
    first = next(item for item in transcript.items if item.kind == "user")
    files = [UndoneFile("M", f"src/{number:03}.py", "restored", "", 1, 1) for number in range(count)]
    files[50] = UndoneFile("M", "src/050.py", "kept", "you changed it at 12:05", 3)
    transcript.show_undone(first.message_id, files)
    transcript.apply(SessionUpdated(info=session("reverted", revert=RevertState(message_id=first.message_id))))


async def test_an_undo_of_many_files_lists_some_and_keeps_its_key_in_sight() -> None:
    app = app_of(chat_dark())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        many_files_undone(app, 100)
        await settle(pilot)
        folded = shown(app)
        assert "99 files restored · 1 kept" in folded[0]
        assert folded[0].endswith("ctrl+x r redo")
        assert [row.split()[1] for row in folded if row.lstrip("! ").startswith("M ")] != []
        assert [row for row in folded if "src/050.py" in row and "kept" in row]
        more = next(number for number, row in enumerate(folded) if "94 more files" in row)
        await pilot.click(app.view, offset=(5, more))
        await settle(pilot)
        lines = [strip.text for strip in all_strips(app)]
        assert sum("src/" in line and ".py" in line for line in lines) == 100
        assert not any("more files" in line for line in lines)
        app.view.focus()
        await settle(pilot)
        await pilot.press("left")
        await settle(pilot)
        assert "94 more files   right list all" in "\n".join(shown(app))
        assert not asked(app, requests.RedoRequested)


WRONGLY_ESTIMATED = {
    "a table with wide cells": "| a | b |\n|---|---|\n" + f"| {'one two ' * 30} | {'x ' * 60} |\n" * 3,
    "wide letters": "\u6f22\u5b57 " * 120,
    "wide letters in code": "```\n" + "\u6f22\u5b57" * 120 + "\n```",
    "long words": " ".join(["w" * 61] * 12),
    "a list of wide letters": "\n".join(["- " + "\u6f22\u5b57" * 60] * 4),
    "combining letters": "e\u0301" * 900,
    "words": "word " * 300,
}
"""Texts before they are drawn: some take more lines than is estimated, some fewer."""


@pytest.mark.parametrize("way", ["key", "scroll bar"])
@pytest.mark.parametrize("text", WRONGLY_ESTIMATED.values(), ids=list(WRONGLY_ESTIMATED))
async def test_the_first_line_is_shown_however_wrong_the_heights_were(text: str, way: str) -> None:
    story = Story()
    story.user("The question?", "1")
    story.answer([text + "\n\n" + "\n\n".join(f"Paragraph {number}." for number in range(20))], at="1")
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "The question?" not in "\n".join(shown(app))
        if way == "key":
            app.view.action_scroll_home()
        else:
            app.view.scroll_y = 0
        await pilot.pause()
        assert "The question?" in "\n".join(shown(app)[:2])
        assert app.view.viewport.top == 0 and app.view.scroll_y == 0
        assert not app.view.is_following
        app.view.action_scroll_end()
        await pilot.pause()
        assert "Paragraph 19." in shown(app)[-1]


async def test_the_first_line_of_what_fits_leaves_it_at_its_end() -> None:
    story = Story()
    story.user("The question?", "1")
    story.answer(["A short answer."], at="1")
    app = app_of(story)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.view.action_scroll_home()
        await pilot.pause()
        assert app.view.is_following and "The question?" in "\n".join(shown(app))
