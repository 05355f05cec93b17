"""An editor and the agent: the library's client over real pipes, the scripted model, a real repository."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.experimental import v2
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    ImageContentBlock,
    McpServerStdio,
    PermissionOption,
    PromptResponse,
    RequestPermissionResponse,
    ResourceContentBlock,
    TextContentBlock,
    ToolCallUpdate,
)

from opencode_tui.acp.serve import serve
from opencode_tui.cli.engine_access import serve_terminals
from opencode_tui.client.shared import open_shared
from opencode_tui.engine.sandbox.tier import Tier, probe
from opencode_tui.engine.session.prompt import SessionPrompt
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.event.event import BusLagged, Envelope, PermissionAsked, QuestionAsked
from opencode_tui.schema.model import parse_model_ref
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import MessageTime
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.stored_error import StoredAbortedError
from opencode_tui.storage.paths import find_paths
from tests.conftest import isolated_environment
from tests.support.mcp import server as mcp_server
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.records import assistant, user, write_records
from tests.support.world.repo import Repo, make_repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = "fake/fake-model"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Editor:
    """A client: what it was sent, and how it answers permission requests."""

    def __init__(self) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.former: set[str] = set()
        """Sessions of earlier tests; a turn that one of these left is not heard."""
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.kinds: list[str] = []
        """The kinds of the options to choose, in order; the last one repeats."""
        self.preferred = ""
        """The ID of an option that is chosen before all others."""
        self.conn: ClientSideConnection

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if session_id not in self.former:
            self.updates.append((session_id, update))

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        kind = self.kinds.pop(0) if len(self.kinds) > 1 else self.kinds[0]
        preferred = (one for one in options if one.option_id == self.preferred)
        chosen = next(preferred, None) or next((one for one in options if one.kind == kind), None)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def prompt(self, session_id: str, text: str, *blocks: Any) -> PromptResponse:
        return await self.conn.prompt(session_id=session_id, prompt=[TextContentBlock(type="text", text=text), *blocks])

    def of(self, kind: str, session_id: str | None = None) -> list[Any]:
        return [one for owner, one in self.updates if one.session_update == kind and session_id in (None, owner)]

    def text(self, kind: str = "agent_message_chunk", session_id: str | None = None) -> str:
        return "".join(one.content.text for one in self.of(kind, session_id))

    async def until(self, kind: str) -> Any:
        while not self.of(kind):
            await asyncio.sleep(0.01)
        return self.of(kind)[-1]

    async def until_text(self, text: str) -> None:
        while text not in self.text():
            await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    settings = {
        "model": MODEL,
        "provider": model.config(),
        "permission": {
            "bash": {"*": "allow", "echo ask*": "ask", "printf ask*": "ask", "dirname *": "ask", "basename *": "ask"}
        },
        "command": {"greet": {"template": "Greetings to $ARGUMENTS", "description": "Greets somebody"}},
    }
    return {**isolated_environment(home), "OPENCODE_CONFIG_CONTENT": json.dumps(settings)}


def make_project(folder: Path) -> Repo:
    repo = make_repo(folder)
    repo.commit("begin", **{"a.py": "x = 1\n", "linked.txt": "NEEDLE\n"})
    return repo


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return make_project(tmp_path_factory.mktemp("work") / "project")


Opening = Callable[[Path], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def piped(
    folder: Path, variables: dict[str, str], opening: Opening | None = None
) -> AsyncGenerator[tuple[asyncio.StreamWriter, asyncio.StreamReader]]:
    """Yield the client's ends of the pipes to an agent; then close them and wait for the agent."""
    loop = asyncio.get_running_loop()
    given, to_agent = os.pipe()
    from_agent, answers = os.pipe()
    agent = asyncio.create_task(
        serve(folder, opening or (lambda path: open_shared(variables, path, serve=serve_terminals)), (given, answers))
    )
    reader = asyncio.StreamReader(limit=1 << 24)
    incoming, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_agent, "rb", 0)
    )
    outgoing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(to_agent, "wb", 0))
    writer = asyncio.StreamWriter(outgoing, protocol, None, loop)
    try:
        yield writer, reader
    finally:
        writer.close()
        await agent
        await asyncio.sleep(0)
        incoming.close()


@asynccontextmanager
async def connected(folder: Path, variables: dict[str, str], opening: Opening | None = None) -> AsyncGenerator[Editor]:
    """Yield a client that has called `initialize`; then close its end and wait for the agent."""
    editor = Editor()
    async with piped(folder, variables, opening) as (writer, reader):
        editor.conn = ClientSideConnection(cast(Client, editor), writer, reader, use_unstable_protocol=True)
        await editor.conn.initialize(protocol_version=1, client_capabilities=ClientCapabilities())
        yield editor
    await editor.conn.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def connection(project: Repo, variables: dict[str, str]) -> AsyncGenerator[Editor]:
    async with connected(project.path, variables) as found:
        yield found


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let turns wait for the servers of the client, and answers for the last events, however loaded the machine is."""
    monkeypatch.setattr("opencode_tui.acp.session.READY_LIMIT_S", 10 * PATIENCE_S)
    monkeypatch.setattr("opencode_tui.acp.session.SHOWN_LIMIT_S", 10 * PATIENCE_S)


@pytest.fixture
def quick_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name and say waits after 50 ms."""
    monkeypatch.setattr("opencode_tui.engine.waits.NAMED_AFTER_S", 0.05)
    monkeypatch.setattr("opencode_tui.text.wait.SAID_AFTER_S", 0.05)


@pytest.fixture
def editor(connection: Editor) -> Editor:
    """Return the client without what it was sent for other tests."""
    connection.preferred = ""
    connection.former.update(session_id for session_id, _ in connection.updates)
    connection.updates.clear()
    connection.asked.clear()
    return connection


async def new_session(editor: Editor, folder: Path) -> str:
    return (await editor.conn.new_session(cwd=str(folder), mcp_servers=[])).session_id


def tool(name: str, **given: Any) -> str:
    return f"<<tool {name} {json.dumps(given)}>>"


@pytest.mark.slow
async def test_a_new_session_has_modes_and_models_and_then_its_commands(editor: Editor, project: Repo):
    answer = await editor.conn.new_session(cwd=str(project.path), mcp_servers=[])
    assert editor.updates == []
    assert answer.modes is not None and answer.modes.current_mode_id == "build"
    assert {one.id: one.current_value for one in answer.config_options or ()} == {"mode": "build", "model": MODEL}
    commands = (await editor.until("available_commands_update")).available_commands
    assert {"init", "greet", "compact"} <= {one.name for one in commands}


async def test_a_turn_is_streamed_before_its_answer(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    answer = await editor.prompt(session, "alpha beta <<reason thinking>>")
    assert answer.stop_reason == "end_turn" and answer.usage is not None and answer.usage.output_tokens > 0
    assert (editor.text(), editor.text("agent_thought_chunk")) == ("Echo: alpha beta", "thinking")
    assert editor.of("user_message_chunk") == []
    usage = editor.of("usage_update")[-1]
    assert usage.size == 200_000 and 0 < usage.used < usage.size and usage.cost.amount > 0


class V2Editor:
    """A client of version 2, which allows everything once."""

    def __init__(self) -> None:
        self.updates: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, title: str, options: list[v2.schema.PermissionOption], **_: Any
    ) -> v2.schema.RequestPermissionResponse:
        [chosen] = [one.option_id for one in options if one.kind == "allow_once"]
        outcome = v2.schema.SelectedPermissionOutcomeVariant(option_id=chosen)
        return v2.schema.RequestPermissionResponse(outcome=outcome)

    def ends(self) -> list[str | None]:
        """Return why turns ended."""
        return [one.stop_reason for one in self.updates if isinstance(one, v2.schema.IdleSessionStateUpdate)]

    async def until_idle(self) -> None:
        while not self.ends():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def connected_v2(
    folder: Path, variables: dict[str, str]
) -> AsyncGenerator[tuple[V2Editor, v2.ClientSideConnection, str]]:
    """Yield a client of version 2 with its connection and a new session."""
    editor = V2Editor()
    async with piped(folder, variables) as (writer, reader):
        conn = v2.ClientSideConnection(editor, writer, reader)
        await conn.initialize(v2.PROTOCOL_VERSION, v2.schema.Implementation(name="a test", version="1"))
        yield editor, conn, (await conn.new_session(str(folder))).session_id
    await conn.close()


@pytest.mark.slow
async def test_updates_report_a_turn_to_a_client_of_version_2(project: Repo, variables: dict[str, str]):
    async with connected_v2(project.path, variables) as (editor, conn, session):
        ask = v2.schema.TextContentBlock(text=tool("bash", command="echo ask me", description="asks"))
        request = (await conn.prompt(session, [ask])).message_id
        await editor.until_idle()
    [echo] = [one for one in editor.updates if isinstance(one, v2.schema.UserMessageUpdate)]
    assert (echo.message_id, echo.content) == (request, [ask])
    states = [one for one in editor.updates if one.session_update == "state_update"]
    assert [one.state for one in states] == ["running", "requires_action", "running", "idle"]
    assert states[-1].stop_reason == "end_turn" and states[-1].usage.output_tokens > 0
    calls = [one for one in editor.updates if isinstance(one, v2.schema.SessionToolCallUpdate)]
    assert (calls[0].name, calls[-1].status) == ("bash", "completed")


async def test_a_turn_of_another_client_is_reported_to_a_client_of_version_2(project: Repo, variables: dict[str, str]):
    async with connected_v2(project.path, variables) as (editor, _, session):
        async with open_shared(variables, project.path, serve=serve_terminals) as screen:
            two = PromptInput(model=parse_model_ref(MODEL), agent="build", parts=[TextInput(text="two")])
            await screen.prompts.prompt(session, two)
        await editor.until_idle()
    states = [one for one in editor.updates if one.session_update == "state_update"]
    assert [(one.state, getattr(one, "stop_reason", None)) for one in states] == [
        ("running", None),
        ("idle", "end_turn"),
    ]
    texts = {one.session_update: one.content.text for one in editor.updates if one.session_update.endswith("_chunk")}
    assert texts["user_message_chunk"] == "two" and "agent_message_chunk" in texts


@pytest.mark.parametrize(
    ("words", "reason", "said"),
    [("<<error 401 not this key>>", "_error", "not this key"), ("x <<finish length>>", "max_tokens", "x")],
)
async def test_the_end_of_a_turn_of_another_client_has_its_reason(
    project: Repo, variables: dict[str, str], words: str, reason: str, said: str
):
    async with connected_v2(project.path, variables) as (editor, _, session):
        async with open_shared(variables, project.path, serve=serve_terminals) as screen:
            prompt = PromptInput(model=parse_model_ref(MODEL), agent="build", parts=[TextInput(text=words)])
            with suppress(OpencodeError):
                await screen.prompts.prompt(session, prompt)
        await editor.until_idle()
    assert editor.ends() == [reason]
    assert said in "".join(one.content.text for one in editor.updates if one.session_update == "agent_message_chunk")


async def test_a_turn_of_another_client_that_is_interrupted_ends_so(project: Repo, variables: dict[str, str]):
    async with connected_v2(project.path, variables) as (editor, _, session):
        async with open_shared(variables, project.path, serve=serve_terminals) as screen:
            slow = PromptInput(
                model=parse_model_ref(MODEL), agent="build", parts=[TextInput(text="<<slow 200>><<words 100>>")]
            )
            turn = asyncio.create_task(screen.prompts.prompt(session, slow))
            while not any(one.session_update == "agent_message_chunk" for one in editor.updates):
                await asyncio.sleep(0.01)
            await screen.prompts.abort(session)
            await asyncio.wait({turn})
            turn.exception()
        await editor.until_idle()
    assert editor.ends() == ["cancelled"]


@pytest.mark.slow
async def test_a_call_is_announced_then_runs_then_has_its_output(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    await editor.prompt(session, tool("bash", command="printf out; printf err >&2; exit 3", description="prints"))
    [start] = editor.of("tool_call")
    assert (start.title, start.kind, start.status) == ("bash", "execute", "pending")
    updates = editor.of("tool_call_update")
    assert {one.tool_call_id for one in updates} == {start.tool_call_id}
    assert [updates[0].status, updates[-1].status] == ["in_progress", "completed"]
    assert updates[-1].title == "bash: printf out; printf err >&2; exit 3"
    assert updates[-1].raw_output["metadata"]["exit"] == 3 and "out" in updates[-1].content[0].content.text


async def test_an_edit_has_its_place_and_a_diff(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    path = str(project.path / "a.py")
    edit = tool("edit", filePath="a.py", oldString="x = 1", newString="x = 2")
    await editor.prompt(session, f"{tool('read', filePath='a.py')} {edit}")
    done = editor.of("tool_call_update")[-1]
    assert (done.status, done.kind) == ("completed", "edit")
    assert [(one.path, one.line) for one in done.locations] == [(path, 1)]
    [diff] = [one for one in done.content if one.type == "diff"]
    assert (diff.path, diff.old_text, diff.new_text) == (path, "x = 1\n", "x = 2\n")


@pytest.mark.fast_cases("kinds1-failed-1")
@pytest.mark.parametrize(
    ("kinds", "status", "asked"),
    [(["allow_once"], "completed", 2), (["reject_once"], "failed", 1), (["allow_always"], "completed", 1)],
)
async def test_a_permission_request_is_answered_by_the_client(
    editor: Editor, project: Repo, kinds: list[str], status: str, asked: int
):
    session = await new_session(editor, project.path)
    editor.kinds = kinds
    program = "printf" if kinds == ["allow_always"] else "basename"  # the grant is for the program
    ask = tool("bash", command=f"{program} ask", description="asks")
    answer = await editor.prompt(session, f"{ask} {tool('read', filePath='a.py')} {ask}")
    assert (answer.stop_reason, len(editor.asked)) == ("end_turn", asked)
    call, options = editor.asked[0]
    assert [one.kind for one in options] == ["allow_once", "allow_always", "reject_once"]
    assert (call.tool_call_id, call.kind) == (editor.of("tool_call")[0].tool_call_id, "execute")
    assert f"{program} ask" in str(call.content)
    ends = [one.status for one in editor.of("tool_call_update") if one.tool_call_id == call.tool_call_id]
    assert ends[-1] == status


@pytest.mark.slow
async def test_after_three_equal_answers_an_option_ends_the_suggestion(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    editor.kinds, editor.preferred = ["allow_once"], "decline"
    asks = " ".join(tool("bash", command=f"dirname a{at}/b", description="asks") for at in range(5))
    await editor.prompt(session, asks)
    names = [[one.option_id for one in options] for _, options in editor.asked]
    assert [("decline" in one) for one in names] == [False, False, False, True, False]
    assert names[3] == ["once", "decline", "always", "reject"]
    assert "You have allowed this 3 times" in str(editor.asked[3][0].content)
    assert "You have allowed this" not in str(editor.asked[4][0].content)
    assert {one.status for one in editor.of("tool_call_update")} >= {"completed"}


async def test_a_canceled_turn_and_the_prompt_behind_it_end_as_canceled(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    first = asyncio.create_task(editor.prompt(session, "<<slow 100>> <<words 100>>"))
    await editor.until_text("word2")
    second = asyncio.create_task(editor.prompt(session, "second"))
    await asyncio.sleep(0)
    await editor.conn.cancel(session_id=session)
    assert [(await one).stop_reason for one in (first, second)] == ["cancelled", "cancelled"]
    assert (await editor.prompt(session, "third")).stop_reason == "end_turn"
    assert "Echo: third" in editor.text() and "word99" not in editor.text() and "second" not in editor.text()


@pytest.mark.slow
async def test_an_open_session_that_is_loaded_again_keeps_its_turn(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    turn = asyncio.create_task(editor.prompt(session, "<<slow 100>> <<words 100>>"))
    await editor.until_text("word2")
    editor.updates.clear()
    await editor.conn.load_session(cwd=str(project.path), session_id=session, mcp_servers=[])
    begin = next(at for at, (_, one) in enumerate(editor.updates) if one.session_update == "user_message_chunk")
    del editor.updates[:begin]  # what was under way before the history
    words = editor.text().split()
    assert "word2" in words and len(words) == len(set(words))
    assert "<<words 100>>" in editor.text("user_message_chunk")
    await editor.conn.resume_session(cwd=str(project.path), session_id=session, mcp_servers=[])
    await editor.conn.cancel(session_id=session)
    assert (await turn).stop_reason == "cancelled"


async def test_two_prompts_are_answered_one_after_the_other(editor: Editor, project: Repo, model: ModelServer):
    session = await new_session(editor, project.path)
    await asyncio.gather(editor.prompt(session, "one"), editor.prompt(session, "two"))
    assert editor.text() == "Echo: oneEcho: two"
    assert editor.of("user_message_chunk") == []


async def test_wrong_requests_are_errors_that_name_the_remedy(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    requests = [
        (editor.conn.set_session_mode(session_id=session, mode_id="none"), "modes are build, plan"),
        (editor.conn.set_config_option(session_id=session, config_id="model", value="a/b"), "opencode-tui models"),
        (editor.prompt("ses_unknown", "hello"), "use session/new or session/load"),
        (editor.conn.new_session(cwd="relative", mcp_servers=[]), "give the absolute path"),
        (editor.conn.load_session(cwd=str(project.path), session_id="ses_0" + "0" * 25, mcp_servers=[]), "ses_0"),
        (editor.conn.authenticate(method_id="other"), "opencode-tui-login"),
    ]
    for request, words in requests:
        with pytest.raises(RequestError, match=words):
            await request


@pytest.mark.slow
async def test_a_session_goes_on_in_the_screen_and_back_with_unchanged_records(
    editor: Editor, project: Repo, variables: dict[str, str]
):
    session = await new_session(editor, project.path)
    await editor.prompt(session, f"one {tool('read', filePath='a.py')}")
    async with open_shared(variables, project.path, serve=serve_terminals) as screen:
        assert not screen.ends_runs
        await screen.prompts.prompt(
            session, PromptInput(model=parse_model_ref(MODEL), agent="build", parts=[TextInput(text="two")])
        )
    await editor.until_text("Echo: two")
    assert editor.text("user_message_chunk") == "two"
    await editor.conn.close_session(session_id=session)
    files = {path: path.read_bytes() for path in find_paths(variables).storage.rglob("*.json") if session in str(path)}
    editor.updates.clear()
    loaded = await editor.conn.load_session(cwd=str(project.path), session_id=session, mcp_servers=[])
    assert loaded.modes is not None and loaded.modes.current_mode_id == "build"
    kinds = [one.session_update for _, one in editor.updates]
    assert kinds.index("user_message_chunk") < kinds.index("tool_call") < kinds.index("usage_update")
    assert editor.text("user_message_chunk").endswith("two") and "Echo: two" in editor.text()
    assert [one.status for one in editor.of("tool_call_update")] == ["in_progress", "completed"]
    assert len(files) > 4 and files == {path: path.read_bytes() for path in files}
    assert (await editor.prompt(session, "three")).stop_reason == "end_turn"
    assert "Echo: three" in editor.text()


async def test_a_session_across_the_wrap_of_ids_is_loaded_without_what_is_undone(
    editor: Editor, project: Repo, variables: dict[str, str]
):
    [record] = find_paths(variables).storage.rglob(f"{await new_session(editor, project.path)}.json")
    info = json.loads(record.read_text())
    ids = ["msg_fffffffff000", "msg_fffffffff001", "msg_000000001000", "msg_000000001001"]
    turns: list[MessageWithParts] = []
    for number in range(2):
        time = MessageTime(created=number, completed=number)
        turns.append(user(f"turn {number}", id=ids[2 * number], time=time))
        turns.append(assistant(f"answer {number}", parent=turns[-1], id=ids[2 * number + 1], time=time))
    rows = ((ids[2], "turn 0"), (ids[0], ""), ("msg_of_files_only", "turn 0turn 1"))
    for number, (undone, expected) in enumerate(rows):
        name = f"ses_across{number}"
        stored = SessionInfo.model_validate({**info, "id": name, "revert": {"messageID": undone}})
        write_records(find_paths(variables), stored, turns)
        editor.updates.clear()
        await editor.conn.load_session(cwd=str(project.path), session_id=name, mcp_servers=[])
        assert editor.text("user_message_chunk") == expected


async def test_a_session_of_a_time_beyond_the_calendar_is_listed(
    editor: Editor, project: Repo, variables: dict[str, str]
):
    [record] = find_paths(variables).storage.rglob(f"{await new_session(editor, project.path)}.json")
    info = json.loads(record.read_text())
    far = {**info, "id": "ses_far", "time": {"created": 2**62, "updated": 2**62}}
    record.with_name("ses_far.json").write_text(json.dumps(far))
    listed = (await editor.conn.list_sessions(cwd=str(project.path))).sessions
    assert [one.updated_at for one in listed if one.session_id == "ses_far"] == [None]
    record.with_name("ses_far.json").unlink()


@pytest.mark.slow
async def test_sessions_are_listed_forked_and_resumed_without_their_history(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    await editor.prompt(session, "remember")
    fork = await editor.conn.fork_session(session_id=session, cwd=str(project.path))
    listed = (await editor.conn.list_sessions(cwd=str(project.path))).sessions
    assert {one.session_id for one in listed[:2]} == {session, fork.session_id}
    assert {one.cwd for one in listed} == {str(project.path)}
    editor.updates.clear()
    await editor.conn.resume_session(session_id=session, cwd=str(project.path))
    await editor.prompt(fork.session_id, "go on")
    assert editor.text(session_id=session) == "" and editor.text(session_id=fork.session_id) == "Echo: go on"


@pytest.mark.slow
async def test_an_approved_plan_is_built_in_the_other_mode(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    await editor.conn.set_session_mode(session_id=session, mode_id="plan")
    editor.kinds = ["allow_once"]
    await editor.prompt(session, f"plan it {tool('plan_exit')}")
    call, options = editor.asked[-1]
    assert call.kind == "switch_mode" and [one.kind for one in options] == ["allow_once", "reject_once"]
    assert [one.current_mode_id for one in editor.of("current_mode_update")] == ["plan", "build"]
    assert "Echo:" in editor.text() or "Done:" in editor.text()


@pytest.mark.slow
async def test_a_background_command_asks_without_a_turn(editor: Editor, project: Repo):
    tiers: tuple[Tier, ...] = ("bubblewrap", "landlock")
    if not any(probe(one, os.environ).works for one in tiers):
        pytest.skip("commands cannot be confined on this machine")
    session = await new_session(editor, project.path)
    editor.kinds = ["reject_once"]
    go, file = project.path / "go", project.path / ".envrc"
    project.write("late.sh", "until test -e go; do sleep 0.02; done; echo x > .envrc\n")
    command = "bash late.sh"
    await editor.prompt(session, tool("bash", command=command, description="waits", background=True))
    assert editor.asked == []
    go.touch()
    async with asyncio.timeout(PATIENCE_S):
        while not editor.asked or file.exists():
            await asyncio.sleep(0.02)
    assert ".envrc" in str(editor.asked[0][0].content)


@pytest.mark.slow
async def test_a_question_of_the_agent_is_a_choice_of_its_labels(editor: Editor, project: Repo, model: ModelServer):
    session = await new_session(editor, project.path)
    editor.kinds = ["allow_once"]
    asked = {"question": "Which one?", "header": "Pick", "options": [{"label": "A"}, {"label": "B"}]}
    await editor.prompt(session, tool("question", questions=[asked]))
    call, options = editor.asked[-1]
    assert call.title == "Pick: Which one?" and [one.name for one in options] == ["A", "B", "Dismiss"]
    assert '"Which one?"="A"' in editor.of("tool_call_update")[-1].raw_output["output"]


@pytest.mark.slow
async def test_a_denied_loop_of_calls_is_a_refusal(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    editor.kinds = ["reject_once"]
    answer = await editor.prompt(session, tool("glob", pattern="*.py") * 4)
    assert (answer.stop_reason, len(editor.asked)) == ("refusal", 1)


@pytest.mark.slow
async def test_an_answer_that_is_none_is_a_message_with_a_remedy(editor: Editor, project: Repo, model: ModelServer):
    for text, finish, reason, said in (
        ("", "content_filter", "refusal", "the model refused to answer"),
        ("half", "content_filter", "refusal", "the model refused to answer"),
        ("", None, "end_turn", "the model ended without an answer"),
    ):
        session = await new_session(editor, project.path)
        model.script(Answer(text=text, finish=finish))
        answer = await editor.prompt(session, "go")
        assert answer.stop_reason == reason
        assert f"{said}; fix: " in editor.text(session_id=session)


@pytest.mark.slow
async def test_lines_about_the_model_are_messages(tmp_path: Path, variables: dict[str, str], model: ModelServer):
    settings = json.loads(variables["OPENCODE_CONFIG_CONTENT"])
    models = {**settings["provider"], "openai": {"options": {"apiKey": "fake-key-for-tests"}}}
    models["fake"] = {
        **models["fake"],
        "models": {**models["fake"].get("models", {}), "text-only": {"attachment": False}},
    }
    changed = json.dumps({**settings, "provider": models, "model": "openai/gpt-5.1-codex"})
    project = make_project(tmp_path / "project")
    async with connected(project.path, {**variables, "OPENCODE_CONFIG_CONTENT": changed}) as editor:
        session, other = await new_session(editor, project.path), await new_session(editor, project.path)
        async with asyncio.timeout(PATIENCE_S):
            await editor.until_text(
                "openai/gpt-5.1-codex was retired on 2026-07-23; openai/gpt-5.6 is the default instead"
            )
        await editor.conn.set_config_option(session_id=session, config_id="model", value="fake/text-only")
        image = ImageContentBlock(type="image", mime_type="image/png", data="A" * 100)
        assert (await editor.prompt(session, "look", image)).stop_reason == "end_turn"
        line = "left out: fake/text-only is not known to accept images and documents"
        assert editor.text(session_id=session).count(line) == 1 and line not in editor.text(session_id=other)


@pytest.mark.slow
async def test_a_call_of_a_subagent_is_announced_before_it_asks(editor: Editor, project: Repo, model: ModelServer):
    session = await new_session(editor, project.path)
    editor.kinds = ["allow_once"]
    task = {"description": "look", "prompt": "look around", "subagent_type": "general"}
    ask = Call("bash", {"command": "echo ask within", "description": "asks"}, id="inner")
    model.script(Answer(calls=(Call("task", task),)), Answer(calls=(ask,)), Answer(text="looked"), Answer(text="done"))
    assert (await editor.prompt(session, "go")).stop_reason == "end_turn"
    [(call, _)] = editor.asked
    shown = [one for one in editor.of("tool_call", session) if one.tool_call_id == call.tool_call_id]
    assert [one.title for one in shown] == ["subagent: bash: echo ask within"]
    states = [one.status for one in editor.of("tool_call_update") if one.tool_call_id == call.tool_call_id]
    assert states[-1] == "completed" and editor.text() == "done"


@pytest.mark.slow
async def test_the_session_of_a_background_subagent_is_named_by_its_call_and_shown_when_the_editor_loads_it(
    editor: Editor, project: Repo, model: ModelServer
):
    session = await new_session(editor, project.path)
    task = {"description": "look", "prompt": "look around", "subagent_type": "general", "background": True}
    model.script(Answer(calls=(Call("task", task),)))
    turn = asyncio.create_task(editor.prompt(session, "begun <<slow 1>>"))
    child = ""
    while not child:
        await asyncio.sleep(0.01)
        metas = [one.field_meta for one in editor.of("tool_call_update", session) if one.field_meta]
        child = metas[-1]["subagent_session_info"]["session_id"] if metas else ""
    assert (await turn).stop_reason == "end_turn"
    await editor.conn.load_session(cwd=str(project.path), session_id=child, mcp_servers=[])
    while "look around" not in editor.text(session_id=child):
        await asyncio.sleep(0.01)
    assert editor.text("user_message_chunk", child) == "look around"


class Losing:
    """A client of the engine that loses the events of requests; before each an event comes that cannot be sent."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @contextmanager
    def events(self) -> Generator[AsyncIterable[Envelope]]:
        with self._client.events() as events:
            yield self._kept(events)

    async def _kept(self, events: AsyncIterable[Envelope]) -> AsyncGenerator[Envelope]:
        async for envelope in events:
            event = envelope.event
            if isinstance(event, PermissionAsked | QuestionAsked):
                yield Envelope("", QuestionAsked(id="q", session_id=event.session_id, questions=[{"unknown": 1}]))
                yield Envelope("", BusLagged())
            else:
                yield envelope


@pytest.mark.slow
async def test_requests_are_asked_after_lost_events(tmp_path: Path, variables: dict[str, str], model: ModelServer):
    @asynccontextmanager
    async def opening(folder: Path) -> AsyncGenerator[Any]:
        async with open_shared(variables, folder, serve=serve_terminals) as client:
            yield Losing(client)

    project = make_project(tmp_path / "project")
    async with connected(project.path, variables, opening) as editor:
        session = await new_session(editor, project.path)
        editor.kinds = ["allow_once"]
        task = {"description": "look", "prompt": "look around", "subagent_type": "general"}
        ask = Call("bash", {"command": "echo ask within", "description": "asks"}, id="inner")
        asked = {"question": "Which one?", "header": "Pick", "options": [{"label": "A"}, {"label": "B"}]}
        model.script(
            Answer(calls=(Call("task", task),)),
            Answer(calls=(ask,)),
            Answer(text="looked"),
            Answer(calls=(Call("question", {"questions": [asked]}),)),
            Answer(text="done"),
        )
        async with asyncio.timeout(PATIENCE_S):
            assert (await editor.prompt(session, "go")).stop_reason == "end_turn"
        titles = [call.title for call, _ in editor.asked]
        assert titles == ["bash: echo ask within", "Pick: Which one?"] and editor.text() == "done"


async def test_todos_are_a_plan(editor: Editor, project: Repo):
    session = await new_session(editor, project.path)
    todos = [
        {"id": "1", "content": "first", "status": "in_progress", "priority": "high"},
        {"id": "2", "content": "second", "status": "cancelled", "priority": "low"},
    ]
    await editor.prompt(session, tool("todowrite", todos=todos))
    [plan] = editor.of("plan")
    assert [(one.content, one.status, one.priority) for one in plan.entries] == [
        ("first", "in_progress", "high"),
        ("second", "completed", "low"),
    ]


@pytest.mark.slow
async def test_commands_images_and_links_reach_the_model(editor: Editor, project: Repo, model: ModelServer):
    session = await new_session(editor, project.path)
    assert (await editor.prompt(session, "/greet all of you")).stop_reason == "end_turn"
    assert editor.text() == "Echo: Greetings to all of you"
    link = ResourceContentBlock(type="resource_link", uri=(project.path / "linked.txt").as_uri(), name="it")
    await editor.prompt(session, "see", link, ImageContentBlock(type="image", mime_type="image/png", data=PIXEL))
    sent = json.dumps(model.requests[-1].body["messages"][-1])
    assert "NEEDLE" in sent and f"data:image/png;base64,{PIXEL}" in sent


@pytest.mark.slow
async def test_what_is_not_in_effect_is_said_once(tmp_path: Path, variables: dict[str, str]):
    project = make_project(tmp_path / "project")
    (project.path / "opencode.json").write_text('{"mcp": {"local": {"type": "local", "command": ["x"]}}}')
    async with connected(project.path, variables) as editor:
        await new_session(editor, project.path)
        await editor.until_text("opencode-tui trust")
        assert "opencode.json" in editor.text()
        session = await new_session(editor, project.path)
        await editor.prompt(session, "hello")
        assert editor.text(session_id=session) == "Echo: hello"


@pytest.mark.slow
async def test_mcp_servers_of_the_client_are_used_while_its_session_is_open(editor: Editor, project: Repo):
    command = str(Path(mcp_server.__file__))
    given = McpServerStdio(name="tickets", command=sys.executable, args=[command], env=[])
    broken = McpServerStdio(name="broken", command="/nowhere/at-all", args=[], env=[])
    answer = await editor.conn.new_session(cwd=str(project.path), mcp_servers=[given, broken])
    await editor.prompt(answer.session_id, tool("tickets_echo", text="from the server"))
    assert "from the server" in editor.of("tool_call_update", answer.session_id)[-1].raw_output["output"]
    assert "- broken: " in editor.text(session_id=answer.session_id) and "- tickets" not in editor.text()
    again = await editor.conn.new_session(cwd=str(project.path), mcp_servers=[broken])
    await editor.conn.close_session(session_id=answer.session_id)
    await editor.prompt(again.session_id, tool("tickets_echo", text="again"))
    assert editor.of("tool_call_update", again.session_id)[-1].status == "failed"
    assert "- broken: " in editor.text(session_id=again.session_id)


@pytest.mark.slow
async def test_an_mcp_server_that_starts_ends_with_its_session(
    editor: Editor, project: Repo, variables: dict[str, str]
):
    given = McpServerStdio(name="late", command=sys.executable, args=[str(Path(mcp_server.__file__))], env=[])
    session = (await editor.conn.new_session(cwd=str(project.path), mcp_servers=[given])).session_id
    await editor.conn.close_session(session_id=session)
    async with open_shared(variables, project.path, serve=serve_terminals) as screen, asyncio.timeout(PATIENCE_S):
        while ("late", "disabled") not in [(one.name, one.state) for one in await screen.mcp.servers()]:
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_turn_is_interrupted_when_the_client_goes(tmp_path: Path, variables: dict[str, str]):
    project = make_project(tmp_path / "project")
    # The answer does not wait for events of the turn: a closed session gets none.
    async with asyncio.timeout(PATIENCE_S), connected(project.path, variables) as editor:
        session = await new_session(editor, project.path)
        turn = asyncio.create_task(editor.prompt(session, "<<slow 100>> <<words 100>>"))
        await editor.until_text("word2")
    assert (await turn).stop_reason == "cancelled"
    async with open_shared(variables, project.path, serve=serve_terminals) as screen:
        messages = await screen.messages.list(session)
    assert messages[-1].info.role == "assistant" and isinstance(messages[-1].info.error, StoredAbortedError)


@pytest.mark.slow
async def test_the_end_of_a_client_does_not_wait_for_an_engine_that_does_not_answer(
    tmp_path: Path, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    project, go_on = make_project(tmp_path / "project"), threading.Event()
    monkeypatch.setattr("opencode_tui.acp.folder.END_S", 0.1)
    monkeypatch.setattr("opencode_tui.client.thread.CLOSE_LIMIT_S", 0.1)
    monkeypatch.setattr(SessionPrompt, "cancel", lambda *_: go_on.wait(PATIENCE_S))  # in the loop of the engine
    try:
        async with asyncio.timeout(PATIENCE_S / 2), connected(project.path, variables) as editor:
            session = await new_session(editor, project.path)
            turn = asyncio.create_task(editor.prompt(session, "<<slow 100>> <<words 100>>"))
            await editor.until_text("word2")
        assert not go_on.is_set()
    finally:
        go_on.set()
    monkeypatch.undo()
    assert isinstance((await asyncio.gather(turn, return_exceptions=True))[0], ConnectionError)
    async with open_shared(variables, project.path, serve=serve_terminals) as screen:  # that engine has ended since
        messages = await screen.messages.list(session)
    assert messages[-1].info.role == "assistant" and messages[-1].info.error is not None


async def test_a_wait_that_lasts_is_said_once_as_a_thought(
    editor: Editor, project: Repo, model: ModelServer, quick_waits: None
):
    session, go_on = await new_session(editor, project.path), threading.Event()
    model.script(Answer(text="late", holds=(("late", go_on),)))
    turn = asyncio.create_task(editor.prompt(session, "wait"))
    while "Waiting for the first byte of fake, at most 5 m.\n" not in editor.text("agent_thought_chunk"):
        await asyncio.sleep(0.01)
    go_on.set()
    await turn
    # a slow disk is waited for as well
    assert editor.text("agent_thought_chunk").count("Waiting for the first byte") == 1
