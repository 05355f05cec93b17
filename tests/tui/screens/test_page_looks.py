"""The full pages as pictures, with as much on them as the design shows."""

from collections.abc import Callable
from typing import Any

import pytest

from opencode_tui.schema.api.inbox import InboxView, Running, Waiting
from opencode_tui.schema.api.mcp import McpServerStatus, McpTool
from opencode_tui.schema.api.review import ChangedPath, ChangeState, Hunk, TreeChanges
from opencode_tui.schema.api.search import SearchGroup, SearchHit, SearchKind, SearchResult
from opencode_tui.schema.api.setting import Setting, SettingList
from opencode_tui.schema.permission import Action, PermissionReport, PermissionRequest, Rule, Verdict
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import Tokens, UserSummary
from opencode_tui.schema.session.part import PatchPart, ToolPart
from opencode_tui.schema.session.session import (
    PINNED_KEY,
    AnyStatus,
    BusyStatus,
    RetryStatus,
    RevertState,
    SessionInfo,
    SessionSummary,
)
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoFile, UndoNote, UndoScope
from opencode_tui.schema.totals import SessionTotals
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story, edit
from tests.support.terminal.scripted_client import Script, session
from tests.tui.screens.test_looks import (
    DARK,
    HOUR,
    LIGHT,
    MINUTE,
    NOW_MS,
    PLAIN,
    Situation,
    asks_bash,
    asks_edit,
    idle,
    listen,
    opened_app,
    press,
    working,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]

DAY = 24 * HOUR


def listed(title: str, name: str, ago: int, changes: tuple[int, int] = (0, 0), **fields: Any) -> SessionInfo:
    """A session that was used so long ago, in ms, with the lines that it added and removed."""
    summary = SessionSummary(additions=changes[0], deletions=changes[1], files=1) if any(changes) else None
    return session(title, id=name, updated=NOW_MS - ago, summary=summary, **fields)


def many_sessions() -> Script:
    """Sessions of a week in every state, forks and agents among them, with what they cost."""
    script = working()
    undone = UndoNote(report=RevertReport(scope=UndoScope(message_id="msg_x", requests=2))).to_dict()
    forked = {"metadata": {"forkedFrom": {"sessionID": SESSION}}}
    script.sessions = [
        listed("Fix the off-by-one in the parser", SESSION, 12_000, (18, 1)),
        listed("try a generator", "ses_fork", 20 * MINUTE, (24, 9), **forked),
        listed("list callers of rows_from (@explore subagent)", "ses_callers", 22 * MINUTE, parent_id="ses_fork"),
        listed("write the release note (@general subagent)", "ses_note", 9_000, parent_id=SESSION),
        listed("find CSV tests (@explore subagent)", "ses_child", 31 * MINUTE, parent_id=SESSION),
        listed("Dark mode for the report", "ses_dark", 4 * MINUTE, (96, 14)),
        listed(
            "CHANGELOG を自動生成する", "ses_cjk", 2 * HOUR, (3, 0),
            revert=RevertState(message_id="msg_x"), metadata={"undo": undone},
        ),
        listed("Move the benchmarks to asv", "ses_asv", 3 * HOUR, (12, 2)),
        listed("Add retry to the client", "ses_retry", 21 * HOUR, (142, 31)),
        listed("retry with jitter", "ses_jitter", 20 * HOUR, (9, 4), metadata={"forkedFrom": {"sessionID": "ses_retry"}}),
        listed("Type hints for the writer", "ses_hints", 23 * HOUR, (58, 51)),
        listed("Why is import csvkit slow?", "ses_slow", 4 * DAY),
        listed("Split the test data by dialect", "ses_split", 5 * DAY, (210, 188)),
        listed("Release 0.9", "ses_release", 6 * DAY, (31, 8)),
    ]  # fmt: skip
    asking = PermissionRequest(id="per_other", session_id="ses_dark", permission="bash", patterns=["rm -rf dist"])
    busy: dict[str, AnyStatus] = {SESSION: BusyStatus(), "ses_dark": BusyStatus(), "ses_note": BusyStatus()}
    script.permissions, script.statuses = [asking], busy
    script.costs = {
        SESSION: 0.39, "ses_fork": 0.1, "ses_callers": 0.01, "ses_note": 0.02, "ses_child": 0.01, "ses_dark": 0.57,
        "ses_cjk": 0.08, "ses_asv": 0.33, "ses_retry": 0.74, "ses_jitter": 0.05, "ses_hints": 0.29, "ses_slow": 0.004,
        "ses_split": 0.38, "ses_release": 0.16,
    }  # fmt: skip
    return script


def many_sessions_pinned() -> Script:
    """The same with a pinned session."""
    script = many_sessions()
    script.sessions = [
        one.changed(metadata={PINNED_KEY: True}) if one.id == "ses_release" else one for one in script.sessions
    ]
    return script


def asks_by_many_rules() -> Script:
    """A command whose parts fall under rules of several places."""
    script = asks_bash()
    rules: list[tuple[str, str, Action, str | None]] = [
        ("rm -rf build", "rm *", "ask", "/home/you/.config/opencode-tui/opencode.json"),
        ("git push", "git push *", "allow", f"{ROOT}/.opencode/agents/build.md"),
        ("pip list", "*", "allow", None),
    ]
    verdicts = [
        Verdict(
            permission="bash", pattern=part, action=action, source=source,
            rule=Rule(permission="bash", pattern=pattern, action=action),
        )
        for part, pattern, action, source in rules
    ]  # fmt: skip
    script.report = PermissionReport(action="ask", verdicts=verdicts)
    return script


def asks_edit_by_agent() -> Script:
    """An edit that the agent's own file wants to be asked for."""
    script = asks_edit()
    rule = Rule(permission="edit", pattern="*", action="ask")
    verdict = Verdict(
        permission="edit",
        pattern="src/csvkit/writer.py",
        action="ask",
        rule=rule,
        source=f"{ROOT}/.opencode/agents/build.md",
    )
    script.report = PermissionReport(action="ask", verdicts=[verdict])
    return script


WRITER = """class Writer:
    def __init__(self, out, dialect):
        self.out = out
        self.dialect = dialect

{gap}

    def row(self, values):
        for i in range(len(values) - 1):
            self.write(values[i])
"""
BEFORE = WRITER.replace("{gap}", "\n".join(f"    # note {number}" for number in range(24)))
AFTER = BEFORE.replace("out = out\n", "out = out or sys.stdout\n").replace(
    "(values) - 1):\n            self.write(values[i])\n",
    "(values)):\n            self.write(values[i])\n        self.end()\n",
)


def changed(file: str, additions: int, deletions: int, *, before: str = "", after: str = "") -> FileDiff:
    status = "modified" if deletions or before else "added"
    return FileDiff(file=file, before=before, after=after, additions=additions, deletions=deletions, status=status)


def edited(story: Story, path: str, additions: int, deletions: int) -> ToolPart:
    """An edit with so many lines."""
    return edit(story, path, "@@ -1 +1 @@\n" + "-a\n" * deletions + "+b\n" * additions)


def long_timeline() -> Script:
    """The session of the design's picture: five turns, a fork, a compaction, a file that a command made."""
    script = idle()
    story = Story()
    story.user("Which function turns the text into rows?", "1")
    story.answer(["`rows_from()` in `src/csvkit/parser.py`."], at="1")
    last_row = [changed("tests/test_last_row.py", 17, 0), changed("src/csvkit/parser.py", 1, 1)]
    story.user(
        "The last row of every CSV is dropped. Find out why and fix it.", "4", summary=UserSummary(diffs=last_row)
    )
    write = story.tool(
        "write",
        {"filePath": f"{ROOT}/tests/test_last_row.py"},
        "",
        title="tests/test_last_row.py",
        filediff={"additions": 17, "deletions": 0},
    )
    story.answer([write, edit(story), "Fixed."], at="5")
    changelog = story.user(
        "Also add a line to the changelog.", "9", summary=UserSummary(diffs=[changed("CHANGELOG.md", 2, 0)])
    )
    story.answer([edited(story, "CHANGELOG.md", 2, 0), "Added."], at="10")
    writer = [changed("src/csvkit/writer.py", 4, 2, before=BEFORE, after=AFTER), changed("docs/table.md", 2, 0)]
    same = story.user(
        "Does the writer have the same bug? If so, fix it there too.", "14", summary=UserSummary(diffs=writer)
    )
    regen = story.tool("bash", {"command": "python -m csvkit.regen"}, "", output="")
    assert isinstance(regen.state, ToolStateCompleted)
    asked = regen.state.time.changed(start=NOON + 15 * MINUTE + 14_000, end=NOON + 16 * MINUTE, waited=20_000)
    regen = regen.changed(state=regen.state.changed(time=asked))
    files = [f"{ROOT}/{one.file}" for one in writer]
    patch = PatchPart(id="prt_patch", session_id=SESSION, message_id="msg_x", hash="0" * 40, files=files)
    story.answer(
        [edited(story, "src/csvkit/writer.py", 4, 2), regen, patch, "It had."],
        at="15",
        end="17",
        tokens=Tokens(input=147_000, output=1_000),
    )
    story.compaction("41", "What was done.", before=146_000, after=2_000)
    story.user(
        "Now make the dialect sniffer handle a lone quote.", "43",
        summary=UserSummary(diffs=[changed("src/csvkit/sniff.py", 6, 2)]),
    )  # fmt: skip
    sent = Tokens(input=20_000, output=1_000)
    story.answer(
        [edited(story, "src/csvkit/sniff.py", 6, 2), "214 passed\n\nA lone quote is text."], at="44", tokens=sent
    )
    script.messages = story.messages
    origin = {"forkedFrom": {"sessionID": SESSION, "messageID": changelog.info.id}}
    made = NOON + 20 * MINUTE
    fork = session("try a generator", id="ses_fork", updated=made, created=made, metadata=origin)
    script.sessions = [one for one in script.sessions if one.id != "ses_fork"] + [fork]
    gone = [one.info.id for one in story.messages if one.info.id >= same.info.id]
    script.undo = RevertPreview(
        scope=UndoScope(message_id=same.info.id, messages=gone, requests=2, answers=3),
        restored=[
            UndoFile(path=f"{ROOT}/src/csvkit/sniff.py", status="modified", additions=6, deletions=2),
            UndoFile(path=f"{ROOT}/src/csvkit/writer.py", status="modified", additions=4, deletions=2),
        ],
        kept=[
            UndoFile(path=f"{ROOT}/docs/table.md", status="modified", additions=2, changed_at=NOON + 30 * MINUTE),
        ],
    )
    return script


def found(**facts: Any) -> Callable[[], Script]:
    """What a search for two words finds in three sessions of two projects; the texts of one steer terminals."""

    def make() -> Script:
        script = many_sessions()
        answer = "…wait min(2 ** attempt, 60) s before the next retry, with backoff jitter, and respect the header…"
        hostile = "a \x1b[31mretry\x1b[0m \u202eof the backoff"
        groups = [
            SearchGroup(
                session_id="ses_flags",
                project_id="p",
                directory=ROOT,
                title="Rename the retry and backoff flags",
                marks=[(11, 16), (21, 28)],
                updated=NOW_MS - 2 * HOUR,
                count=0,
                hits=[],
            ),
            SearchGroup(
                session_id="ses_shop",
                project_id="other",
                directory="/home/you/src/shop",
                title="Make the client survive 429s",
                marks=[],
                updated=NOW_MS - 3 * DAY,
                count=9,
                hits=[
                    _hit("answer", answer, _marks(answer)),
                    _hit("tool", '$ rg -n "retry|backoff" src', _marks('$ rg -n "retry|backoff" src'), tool="bash"),
                    _hit("prompt", "does it retry with backoff?", _marks("does it retry with backoff?")),
                ],
            ),
            SearchGroup(
                session_id="ses_csv",
                project_id="p",
                directory=ROOT,
                title="Flaky download test",
                marks=[],
                updated=NOW_MS - 14 * DAY,
                archived=NOW_MS - DAY,
                count=2,
                hits=[_hit("tool", hostile, _marks(hostile), tool="a_server_with_a_long_name")],
            ),
        ]
        script.found = SearchResult(groups=groups, matches=11, indexed=40, sessions=40, elapsed_ms=4.0).changed(**facts)
        return script

    return make


def _marks(text: str) -> list[tuple[int, int]]:
    return [(text.index(word), text.index(word) + len(word)) for word in ("retry", "backoff")]


def _hit(kind: SearchKind, snippet: str, marks: list[tuple[int, int]], *, tool: str | None = None) -> SearchHit:
    return SearchHit(
        message_id="msg_x", part_id="prt_x", kind=kind, tool=tool, time=NOON + 2 * MINUTE, snippet=snippet, marks=marks
    )


def mcp_servers() -> Script:
    """Servers in most states, the first of which is selected."""
    script = working()
    script.mcp = [
        McpServerStatus(
            name="github",
            kind="local",
            state="connected",
            target="npx -y @modelcontextprotocol/server-github",
            tools=26,
            tokens=4_200,
            is_listed=True,
            instructions="Search before you create an issue; pull requests need a branch that was pushed.",
            output=["GitHub MCP server runs on stdio"],
        ),
        McpServerStatus(name="docs", kind="remote", state="known", target="https://docs.example.com/mcp", tools=3,
                        tokens=610, resources=4, prompts=1, is_listed=True),
        McpServerStatus(name="tickets", kind="remote", state="needs_auth", target="https://tickets.example.com/mcp",
                        error="it asks for a sign-in: `opencode-tui mcp auth tickets`"),
        McpServerStatus(name="database", kind="local", state="failed", target="db-mcp --port 5432",
                        error="it ended with code 1: cannot connect to localhost:5432"),
        McpServerStatus(name="browser", kind="local", state="disabled", target="npx @playwright/mcp", tools=25,
                        tokens=4_650, is_listed=True),
    ]  # fmt: skip
    script.mcp_tools = [
        McpTool(id=f"github_{name}", name=name, server="github", description=words, parameters={})
        for name, words in (
            ("create_issue", "Create an issue in a repository"),
            ("get_file_contents", "Return the contents of a file or a folder"),
            ("list_pull_requests", "List the pull requests of a repository, newest first"),
            ("search_code", "Search for code across repositories"),
        )
    ]
    return script


TIMELINE = press("ctrl+x", "g", "up")
LIST = press("ctrl+x", "l")
MCP = press("slash", *"mcp", "enter")
SEARCH = press("ctrl+x", "l", "/", *"retry", "space", *"backoff")


def some_settings() -> Script:
    """Settings of each kind, from each kind of source."""
    script, own = idle(), "/home/you/.config/opencode-tui/opencode.jsonc"
    script.listed_settings = SettingList(
        settings=[
            Setting(
                path=["theme"], kind="text", about="Name of the color theme.", value='"nord"', source=own, is_own=True
            ),
            Setting(
                path=["tui", "delivery"],
                kind="choice",
                about="When a message that you send during a turn is read: `steer`, at its next step, or `queue`, after it.",
                choices=['"steer"', '"queue"'],
                value='"queue"',
                source=f"{ROOT}/opencode.jsonc",
            ),
            Setting(
                path=["tui", "vim"],
                kind="switch",
                about="Edit the prompt with the keys of vim.",
                choices=["true", "false"],
            ),
            Setting(path=["trash", "days"], kind="number", about="Days.", choices=["false"], default="30"),
            Setting(
                path=["server", "cors"],
                kind="list",
                about="Further allowed origins.",
                value='["https://a.example"]',
                source="OPENCODE_CONFIG_CONTENT",
                at_start=True,
            ),
            Setting(
                path=["permission"], kind="object", about="Rules.", value='{"bash": "ask"}', source=own, is_own=True
            ),
        ],
        user_file=own,
    )
    return script


SETTINGS = press("ctrl+x", "comma", "down")


def what_runs() -> Script:
    """Sessions of several folders in every state; the first asks by several rules."""
    script = asks_by_many_rules()
    request, call = script.permissions[0], script.messages[1].parts[1]
    assert isinstance(call, ToolPart)

    def row(title: str, folder: str, ago: int, **fields: Any) -> Running:
        info = session(title, id=f"ses_{folder}", updated=NOW_MS - ago).changed(directory=f"/home/you/src/{folder}")
        totals = SessionTotals(input=fields.pop("used", 0), cost=fields.pop("cost", 0.0))
        known: dict[str, Any] = {
            "state": "works",
            "pid": 41,
            "is_reachable": True,
            "status": BusyStatus(),
            "branch": "main",
        }
        known |= {"info": info, "totals": totals, **fields}
        return Running(**known)

    waits, retries = (
        Waiting(permission=request, call=call),
        RetryStatus(attempt=2, message="overloaded", next=NOW_MS + 12_000),
    )
    rows = [
        row("Clean the build folders", "csvkit", 12_000, state="asks", waiting=[waits, waits], used=104_000, cost=0.42),
        row("Move the benchmarks to asv", "asv", 3 * HOUR, state="stopped", is_reachable=False, used=9_100, cost=0.04),
        row("Dark mode for the report", "report", 4 * MINUTE, state="retries", status=retries, branch="feature/dark-mode"),
        row("CHANGELOG を自動生成する", "notes", 30_000, said="I group the entries by label.", used=1_200_000, cost=3.1),
        row("Serve the documentation", "docs-of-a-folder-with-a-long-name", MINUTE, is_reachable=False, branch=None),
    ]  # fmt: skip
    script.inbox = InboxView(rows=rows, silent=[])
    return script


RUNNING = press("ctrl+x", "z")


def changed_tree() -> Script:
    """Changes of each state, a folder of generated files, a long and a hostile name."""
    script = working()
    script.statuses = {}
    lines = [
        " def last_row(rows):",
        "-    return rows[-1]",
        "+    if not rows:",
        "+        return None",
        "+    return rows[-1]",
    ]
    piece = Hunk(id="piece", before=12, after=12, header="class Reader:", lines=lines)

    def file(path: str, state: ChangeState, *hunks: Hunk, note: str = "") -> ChangedPath:
        status = "added" if state == "untracked" else "modified"
        return ChangedPath(path=path, state=state, status=status, additions=3, deletions=1, note=note, hunks=[*hunks])

    made = [file(f"node_modules/left-pad/{at}.js", "untracked", Hunk(id=f"n{at}", lines=[])) for at in range(13)]
    name = f"tests/{'very_' * 12}long_name.py"
    files = [
        file("src/csvkit/writer.py", "staged", piece.changed(id="staged")),
        file("src/csvkit/writer.py", "unstaged", piece, piece.changed(id="other", before=80, after=82)),
        file("logo.png", "unstaged", Hunk(id="png", lines=[]), note="binary"),
        file(name, "untracked", Hunk(id="long", lines=[])),
        file("a\x1b[2J\n.py", "untracked", Hunk(id="hostile", lines=[])),
        *made,
    ]
    script.tree = TreeChanges(branch="fix/last-row", hooks=["pre-commit"], files=files)
    return script


CHANGES = press("ctrl+x", "h", "down", "down", "enter", "down", "space", *["down"] * 3, "c", *"why?", "enter", "down")

SITUATIONS: dict[str, Situation] = {
    "changes-to-commit": Situation(changed_tree, (120, 33), DARK, CHANGES),
    "changes-to-commit-light": Situation(changed_tree, (120, 33), LIGHT, CHANGES),
    "changes-to-commit-in-60-columns": Situation(changed_tree, (60, 33), DARK, press("ctrl+x", "h", "down")),
    "changes-to-commit-in-16-colors-and-ascii": Situation(changed_tree, (100, 30), PLAIN, CHANGES),
    "changes-to-commit-with-a-comment-that-is-written": Situation(
        changed_tree, (100, 30), DARK, press("ctrl+x", "h", "down", "c", *"is q text?")
    ),
    "sessions-with-their-costs": Situation(many_sessions, (140, 35), DARK, LIST),
    "sessions-with-their-costs-light": Situation(many_sessions, (140, 35), LIGHT, LIST),
    "sessions-in-100-columns": Situation(many_sessions, (100, 30), DARK, LIST),
    "sessions-in-60-columns": Situation(many_sessions, (60, 30), DARK, LIST),
    "permission-with-the-files-of-its-rules": Situation(asks_by_many_rules, (110, 33), DARK, listen()),
    "permission-with-the-files-of-its-rules-in-60-columns": Situation(asks_by_many_rules, (60, 33), LIGHT, listen()),
    "permission-for-an-edit-by-the-agents-file": Situation(asks_edit_by_agent, (110, 33), DARK, listen()),
    "timeline-of-five-turns": Situation(long_timeline, (140, 33), DARK, TIMELINE),
    "timeline-of-five-turns-light": Situation(long_timeline, (140, 33), LIGHT, TIMELINE),
    "timeline-in-60-columns": Situation(long_timeline, (60, 33), DARK, TIMELINE),
    "timeline-in-16-colors-and-ascii": Situation(long_timeline, (120, 33), PLAIN, TIMELINE),
    "session-browser": Situation(many_sessions_pinned, (140, 40), DARK, press("ctrl+x", "s")),
    "session-browser-light-with-a-filter": Situation(
        many_sessions_pinned, (160, 40), LIGHT, press("ctrl+x", "s", "slash", "r", "e", "t", "r", "y")
    ),
    "session-browser-in-100-columns": Situation(many_sessions_pinned, (100, 30), DARK, press("ctrl+x", "s", "down")),
    "session-browser-in-60-columns": Situation(many_sessions_pinned, (60, 26), DARK, press("ctrl+x", "s", "end")),
    "session-browser-in-16-colors-and-ascii": Situation(
        many_sessions_pinned, (120, 34), PLAIN, press("ctrl+x", "s", "down", "down")
    ),
    "settings": Situation(some_settings, (140, 24), DARK, SETTINGS),
    "settings-in-80-columns-with-a-filter": Situation(
        some_settings, (80, 20), LIGHT, press("ctrl+x", "comma", *"days")
    ),
    "settings-in-60-columns-and-16-colors": Situation(some_settings, (60, 20), PLAIN, SETTINGS),
    "settings-while-a-value-is-typed": Situation(
        some_settings, (140, 24), LIGHT, press("ctrl+x", "comma", *"days", "enter", "7")
    ),
    "what-runs-in-140-columns": Situation(what_runs, (140, 30), DARK, RUNNING),
    "what-runs-in-80-columns": Situation(what_runs, (80, 24), LIGHT, RUNNING),
    "what-runs-in-16-colors-and-ascii": Situation(what_runs, (80, 24), PLAIN, press("ctrl+x", "z", "down")),
    "mcp-servers": Situation(mcp_servers, (150, 26), DARK, MCP),
    "mcp-servers-in-60-columns": Situation(mcp_servers, (60, 20), LIGHT, MCP),
    "sessions-in-16-colors-and-ascii": Situation(many_sessions, (120, 30), PLAIN, LIST),
    "search-in-160-columns": Situation(found(), (160, 30), DARK, SEARCH),
    "search-in-160-columns-light": Situation(found(), (160, 30), LIGHT, SEARCH),
    "search-in-100-columns": Situation(found(), (100, 24), DARK, press("ctrl+x", "l", "/", *"retry", "down", "down")),
    "search-in-100-columns-light": Situation(found(), (100, 24), LIGHT, SEARCH),
    "search-in-60-columns": Situation(found(), (60, 22), DARK, SEARCH),
    "search-in-60-columns-light": Situation(found(), (60, 22), LIGHT, SEARCH),
    "search-in-16-colors-and-ascii": Situation(found(), (100, 24), PLAIN, SEARCH),
    "search-while-the-index-is-built": Situation(found(indexed=3_200, sessions=10_000), (100, 24), DARK, SEARCH),
    "search-without-a-query": Situation(found(), (100, 24), DARK, press("ctrl+x", "l", "/")),
    "search-without-a-match-so-far": Situation(
        found(groups=[], matches=0, indexed=3_200, sessions=10_000), (100, 24), LIGHT, SEARCH
    ),
    "search-on-a-full-disk": Situation(
        found(problem="cannot use the search index /home/you/.cache/x.db: the disk is full; free some space"),
        (100, 24),
        DARK,
        SEARCH,
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_page(name: str, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    situation = SITUATIONS[name]
    app, act = opened_app(situation)
    assert snap_compare(app, terminal_size=situation.size, run_before=act)
