import asyncio
import itertools
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.mcp.tools import (
    CALL,
    CALL_SCHEMA,
    SEARCH,
    SEARCH_SCHEMA,
    CallTool,
    SearchTool,
    check_arguments,
    rank,
)
from opencode_tui.engine.permission.decision import Query, with_approvals
from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.engine.tool.parameter_schema import describe
from opencode_tui.schema.api.mcp import McpTool
from opencode_tui.schema.api.request import FileInput, PromptInput, TextInput
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.schema.model import ModelRef
from tests.engine.mcp.conftest import COMMAND
from tests.engine.mcp.sign_in_world import browser, free_port, oauth_server
from tests.support.provider.model_script import Answer, Call
from tests.support.world.cli import CommandLine
from tests.support.world.engine import opened, while_reacting
from tests.support.world.repo import make_repo

HOOKS = """
def before(given, output):
    output["args"]["text"] = "of the hook for " + given["tool"]


def plugin(context):
    return {"tool.execute.before": before}
"""

AFTER = """
seen = []


def after(given, output):
    seen.append(given["tool"])
    output["output"] = f"{given['tool']} said: {output['output']}"
    output["title"] = "seen " + str(len(seen))


def plugin(context):
    return {"tool.execute.after": after}
"""


def servers(**variables: dict[str, str]) -> dict[str, Any]:
    return {name: {"type": "local", "command": COMMAND, "environment": own} for name, own in variables.items()}


def names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def call(tool: str, /, **arguments: Any) -> Answer:
    return Answer(calls=(Call(tool, arguments),))


@pytest.fixture
def known(environ, tmp_path):
    """Return the settings of one server, whose lists another engine has cached, with further settings."""

    async def make(environment: dict[str, str] | None = None, **settings: Any) -> dict[str, Any]:
        made = {"mcp": servers(one=environment or {}), **settings}
        async with opened(environ, tmp_path, settings=made) as world:
            await world.client.mcp.connect("one")
        return made

    return make


@pytest.mark.slow
async def test_a_known_server_costs_no_start_before_the_first_request_and_its_tools_run(environ, tmp_path, known):
    settings = await known(permission={"one_fails": "deny"})
    answers = [call("one_echo", text="hello"), call("one_echo", txt="x"), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        session = await world.prompt("go")
        first, *later = world.server.bodies
        assert "one_echo" in names(first)
        assert "one_fails" not in names(first)
        assert SEARCH not in names(first)
        done, wrong = await world.calls(session)
        assert (done.state.output, done.state.metadata["server"]) == ("hello", "one")
        assert "'text' is a required property" in wrong.state.error
        assert [json.dumps(body["tools"]) for body in later] == [json.dumps(first["tools"])] * 2


@pytest.mark.slow
async def test_a_server_that_is_not_known_yet_is_found_by_a_search(environ, tmp_path):
    found = call(SEARCH, query="repeats a text", limit=2)
    answers = [found, call(CALL, tool="one_echo", arguments={"text": "hello"}), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers, settings={"mcp": servers(one={})}) as world:
        session = await world.prompt("go")
        searched, called = await world.calls(session)
        assert searched.state.output.startswith("one_echo: Repeats a text.\n")
        assert called.state.output == "hello"
        assert [names(body)[-2:] for body in world.server.bodies] == [[SEARCH, CALL]] * 3


@pytest.mark.slow
async def test_a_rule_for_the_tool_holds_behind_the_search(environ, tmp_path):
    settings = {"mcp": servers(one={}), "permission": {"one_echo": "deny"}}
    answers = [call(SEARCH, query="echo"), call(CALL, tool="one_echo", arguments={"text": "x"}), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        searched, called = await world.calls(await world.prompt("go"))
        assert "one_echo" not in searched.state.output
        assert "denies one_echo" in called.state.error


@pytest.mark.slow
async def test_switches_and_hooks_hold_for_the_tool_behind_the_search(environ, tmp_path):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(HOOKS)
    settings = {"mcp": servers(one={}), "plugin": [f"file://{plugin}"]}
    off = call(CALL, tool="one_write", arguments={"path": str(tmp_path / "x"), "text": ""})
    answers = [
        call(SEARCH, query="write"),
        off,
        call(CALL, tool="one_echo", arguments={"text": "x"}),
        Answer(text="ok"),
    ]
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        session = await world.new_session()
        given = PromptInput(tools={"one_write": False}, parts=[TextInput(text="go")])
        await world.client.prompts.prompt(session.id, given)
        searched, refused, changed = await world.calls(session)
        assert "one_write" not in searched.state.output
        assert refused.state.error == "The tool one_write is switched off for this request."
        assert (changed.tool, changed.state.output) == (CALL, "of the hook for one_echo")
        assert changed.state.input == {"tool": "one_echo", "arguments": {"text": "of the hook for one_echo"}}


@pytest.mark.slow
async def test_a_hook_after_a_call_changes_what_the_model_reads_also_behind_the_search(environ, tmp_path, known):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(AFTER)
    settings = await known(plugin=[f"file://{plugin}"])
    behind = call(CALL, tool="one_echo", arguments={"text": "two"})
    answers = [call("one_echo", text="one"), behind, call("one_fails", text="three"), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        direct, found, failed = await world.calls(await world.prompt("go"))
        assert (direct.state.output, direct.state.title) == ("one_echo said: one", "seen 1")
        assert (found.state.output, found.state.title) == ("one_echo said: two", "seen 2")
        assert failed.state.error == "three"  # a failed call has no result to change
        for text in ("one_echo said: one", "one_echo said: two", "three"):
            assert text in json.dumps(world.server.bodies[-1]["messages"])


async def test_a_tool_asks_in_plan_and_where_every_command_asks(environ, tmp_path, known):
    settings = await known(permission={"one_roots": "allow"})
    calls = tuple(Call(f"one_{name}") for name in ("environment", "roots"))
    given = PromptInput(agent="plan", parts=[TextInput(text="go")])
    async with opened(environ, tmp_path, Answer(calls=calls), settings=settings, policy=RefuseQuestions()) as world:
        session = await world.new_session()
        await world.client.prompts.prompt(session.id, given)
        assert [one.state.status for one in await world.calls(session)] == ["error", "completed"]
    query = Query(session_id="ses_1", permission="one_echo", patterns=["*"], is_foreign=True)
    assert list(with_approvals(query, "ask").by_user) == ["*"]
    assert with_approvals(query, "normal") == query


def test_the_schema_of_a_tool_reads_no_address_and_compares_no_pattern():
    slow = {"type": "string", "pattern": "^(a+)+$"}
    schema = {"type": "object", "properties": {"pattern": slow}, "required": ["pattern"]}
    assert check_arguments(schema, {"pattern": "a" * 40 + "!"}) is None
    assert check_arguments(schema, {"pattern": 1}) == "pattern: 1 is not of type 'string'"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        assert check_arguments({"$ref": address}, {}) is None
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["fake/fake-model", "fake-anthropic/fake-model"])
async def test_many_tools_add_little_and_each_request_begins_with_the_one_before(environ, tmp_path, known, model):
    settings = await known({"TOOLS": "75"})
    answers = [call(SEARCH, query="tool_7"), call(CALL, tool="one_tool_7", arguments={"value": "x"}), Answer(text="ok")]
    sizes: list[int] = []
    for mcp in ({}, settings["mcp"]):
        async with opened(environ, tmp_path, *answers, settings={**settings, "mcp": mcp}) as world:
            await world.client.prompts.prompt((await world.new_session()).id, prompt_of(model))
            bodies = world.server.bodies
            sizes.append(len(json.dumps(bodies[0])))
    assert len(bodies) == 3
    assert 0 < sizes[1] - sizes[0] <= 3_072
    for before, after in itertools.pairwise(bodies):
        assert before["tools"] == after["tools"]
        assert before.get("system") == after.get("system")
        kept = [without_marks(one) for one in after["messages"][: len(before["messages"])]]
        assert [without_marks(one) for one in before["messages"]] == kept


def prompt_of(model: str):
    provider, _, name = model.partition("/")
    return PromptInput(model=ModelRef(provider_id=provider, model_id=name), parts=[TextInput(text="go")])


def without_marks(value: Any) -> Any:
    """Return a message without the marks that ask for caching, which move to the newest message."""
    if isinstance(value, dict):
        return {name: without_marks(inner) for name, inner in value.items() if name != "cache_control"}
    return [without_marks(one) for one in value] if isinstance(value, list) else value


@pytest.mark.slow
async def test_lists_that_change_in_a_turn_are_used_from_the_next_message_on(environ, tmp_path, known):
    flag = tmp_path / "flag"
    settings = await known({"CHANGE": str(flag)})
    flag.touch()
    slow = call("one_slow", seconds=0.6, steps=1)
    late = call(CALL, tool="one_late", arguments={})
    answers = [call("one_touch_list"), slow, Answer(text="ok"), late, Answer(text="ok")]
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        session = await world.prompt("go")
        await world.prompt("go on", session=session)
        bodies = world.server.bodies
        assert ["one_late" in json.dumps(body["messages"]) for body in bodies] == [False, False, False, True, True]
        assert {tuple(names(body)) for body in bodies} == {tuple(names(bodies[0]))}
        assert "one_late" not in names(bodies[0])
        assert (await world.calls(session))[-1].state.status == "completed"


@pytest.mark.slow
async def test_the_user_answers_a_question_of_a_server(environ, tmp_path, known):
    settings = await known()
    async with opened(environ, tmp_path, call("one_ask"), Answer(text="ok"), settings=settings) as world:

        async def reply(event: QuestionAsked) -> None:
            assert [one["options"][0]["label"] for one in event.questions] == ["Ada", "3", "Yes", "red"]
            await world.client.questions.reply(event.id, [["Grace"], ["3"], ["Yes"], ["green"]])

        session, _ = await while_reacting(world, QuestionAsked, reply, world.prompt("go"))
        answer = json.loads((await world.calls(session))[0].state.output)
        assert answer["content"] == {"name": "Grace", "size": 3, "sure": True, "color": "green"}


@pytest.mark.slow
async def test_all_kinds_of_content_reach_the_model_and_errors_are_errors(environ, tmp_path, known):
    settings = await known()
    calls = tuple(Call(f"one_{name}") for name in ("mixed", "image", "structured", "fails"))
    async with opened(environ, tmp_path, Answer(calls=calls), Answer(text="ok"), settings=settings) as world:
        mixed, image, structured, fails = await world.calls(await world.prompt("go"))
        assert mixed.state.output == "one\n\nResource test://note:\ntwo\n\nResource test://link: three"
        assert [one["mime"] for one in (*mixed.state.attachments, *image.state.attachments)] == [
            "audio/wav",
            "image/png",
        ]
        assert json.loads(structured.state.output) == {"answer": 42}
        assert fails.state.error == "it does not work"


@pytest.mark.slow
async def test_a_long_error_of_a_server_is_truncated(environ, tmp_path, known):
    settings = await known()
    answers = [call("one_fails", text="line\n" * 10_000), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        (failed,) = await world.calls(await world.prompt("go"))
        assert "lines truncated..." in failed.state.error


@pytest.mark.slow
async def test_what_a_server_writes_is_undone(environ, tmp_path: Path, known):
    repo = make_repo(tmp_path / "project")
    repo.commit("first", a="1\n")
    path = repo.path / "a"
    settings = await known()
    write = call("one_write", path=str(path), text="2\n")
    async with opened(environ, repo.path, write, Answer(text="ok"), settings=settings) as world:
        session = await world.prompt("go")
        assert path.read_text() == "2\n"
        await world.client.undo.revert(session.id)
        assert path.read_text() == "1\n"


def test_the_schemas_of_the_search_are_those_of_its_parameters():
    assert describe(SearchTool.parameters) == SEARCH_SCHEMA
    assert describe(CallTool.parameters) == CALL_SCHEMA


def test_a_parameter_with_a_default_is_left_to_the_server():
    shot = {"type": {"type": "string", "enum": ["png", "jpeg"], "default": "png"}, "target": {"type": "string"}}
    schema = {"type": "object", "properties": shot, "required": ["type", "target"], "additionalProperties": False}
    assert check_arguments(schema, {"target": "page"}) is None
    assert check_arguments(schema, {"type": "png"}) == "input: 'target' is a required property"
    assert check_arguments(schema, {"target": "page", "type": "gif"}) == "type: 'gif' is not one of ['png', 'jpeg']"
    nested = {"type": "object", "properties": {"inner": schema}, "required": ["inner"]}
    assert check_arguments(nested, {"inner": {"target": "page"}}) is None


def test_a_search_ranks_names_before_descriptions_and_arguments():
    def tool(name: str, description: str, *arguments: str) -> McpTool:
        schema = {"type": "object", "properties": {key: {} for key in arguments}}
        return McpTool(id=f"hub_{name}", name=name, server="hub", description=description, parameters=schema)

    tools = [
        tool("list", "Lists an issue", "state"),
        tool("issue_create", "Makes one"),
        tool("open", "x", "issue"),
        tool("z", "y"),
    ]
    assert [one.name for one in rank(tools, "issue")] == ["issue_create", "list", "open"]
    assert [one.name for one in rank(tools, "open")] == ["open"]


@pytest.mark.slow
async def test_a_prompt_of_a_server_is_a_command_and_a_resource_is_attached(environ, tmp_path, known):
    settings = await known()
    async with opened(environ, tmp_path, Answer(text="ok"), Answer(text="ok"), settings=settings) as world:
        (command,) = [one for one in await world.client.catalog.commands() if one.source == "mcp"]
        assert (command.name, command.hints) == ("one:write-up", ["$1", "$2"])
        await world.command("one:write-up", '"the sea" calm and slow')
        assert world.sent() == "Write about the sea in a calm and slow tone."
        with pytest.raises(ConfigError, match="needs topic"):
            await world.command("one:write-up")
        text = {"value": "@note", "start": 0, "end": 5}
        source = {"type": "resource", "text": text, "clientName": "one", "uri": "test://note"}
        given = {"type": "file", "mime": "text/plain", "url": "test://note", "source": source}
        await world.prompt("look", FileInput.model_validate(given))
        assert "the note of the server" in world.sent()


def resource(uri: str, server: str = "one") -> FileInput:
    text = {"value": f"@{uri}", "start": 0, "end": len(uri) + 1}
    source = {"type": "resource", "text": text, "clientName": server, "uri": uri}
    return FileInput.model_validate({"type": "file", "mime": "text/plain", "url": uri, "source": source})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("uri", "server", "wanted"),
    [
        ("test://note", "one", ["Read the resource test://note of the MCP server one", "the note of the server"]),
        ("test://folder", "one", ["Resource test://a:", "text of a", "Resource test://b:", "lines truncated"]),
        ("test://archive", "one", ["Resource test://archive: application/zip, ", "not text"]),
        (
            "test://missing",
            "one",
            ["Attachment test://missing could not be read: the MCP server one reports: no method"],
        ),
        ("test://note", "two", ["could not be read: there is no MCP server 'two'; servers of this folder: one"]),
    ],
)
async def test_a_resource_of_a_message_is_read_or_the_message_says_why_not(
    environ, tmp_path, known, uri, server, wanted
):
    async with opened(environ, tmp_path, Answer(text="ok"), settings=await known()) as world:
        session = await world.prompt("look", resource(uri, server))
        sent = world.sent()
        assert [one for one in wanted if one not in sent] == []
        (part,) = [one for message in await world.messages(session) for one in message.parts if one.type == "file"]
        assert (part.url, part.source.uri) == (uri, uri)


@pytest.mark.slow
async def test_a_picture_of_a_server_is_attached_as_a_picture(environ, tmp_path, known):
    async with opened(environ, tmp_path, Answer(text="ok"), settings=await known()) as world:
        session = await world.prompt("look", resource("test://picture"))
        (part,) = [one for message in await world.messages(session) for one in message.parts if one.type == "file"]
        assert (part.mime, part.url.partition(",")[0]) == ("image/png", "data:image/png;base64")


@pytest.mark.slow
async def test_a_sign_in_of_another_process_is_used_from_the_next_message_on(environ, tmp_path):
    echo = call(CALL, tool="one_echo", arguments={"text": "hello"})
    with oauth_server() as oauth:
        entry = {"type": "remote", "url": oauth.mcp, "oauth": {"callbackPort": free_port()}}
        settings = {"mcp": {"one": entry}}
        async with opened(environ, tmp_path, Answer(text="ok"), echo, Answer(text="ok"), settings=settings) as world:
            assert (await world.client.mcp.connect("one")).state == "needs_auth"
            session = await world.prompt("go")
            line = CommandLine(tmp_path, {**environ, "BROWSER": browser(tmp_path)}, settings=settings)
            done = await asyncio.to_thread(line.run, "mcp", "auth", "one")
            assert (done.code, done.stderr.splitlines()[-1]) == (0, "opencode-tui: signed in to one: 12 tools")
            await world.prompt("go on", session=session)
            offered = [set(names(body)) if "tools" in body else set[str]() for body in world.server.bodies]
            # By the search, or directly where the server's lists are known by then: the first start is tried again on its own.
            assert [not one.isdisjoint((SEARCH, "one_echo")) for one in offered] == [False, True, True]
            (called,) = await world.calls(session)
            assert called.state.output == "hello"


@pytest.mark.slow
async def test_a_call_to_a_server_without_a_sign_in_names_what_to_do(environ, tmp_path):
    answers = (call(CALL, tool="one_echo", arguments={"text": "hello"}), Answer(text="ok"))
    with oauth_server() as oauth:
        settings = {"mcp": {"one": {"type": "remote", "url": oauth.mcp}}}
        async with opened(environ, tmp_path, *answers, settings=settings) as world:
            (refused,) = await world.calls(await world.prompt("go"))
    assert "sign in with `opencode-tui mcp auth one`" in refused.state.error


@pytest.mark.slow
async def test_defaults_are_left_to_the_server_also_behind_the_search(environ, tmp_path):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 5}}}
    log = tmp_path / "log"
    many = servers(one={"TOOLS": "30", "LOG": str(log), "DEFAULTS": json.dumps({**schema, "required": ["a", "b"]})})
    answers = (call(CALL, tool="one_defaults", arguments={"a": 2}), Answer(text="ok"))
    async with opened(environ, tmp_path, *answers, settings={"mcp": many}) as world:
        (called,) = await world.calls(await world.prompt("go"))
    assert called.state.output == 'defaults: {"a": 2}'


@pytest.mark.slow
async def test_the_context_has_a_row_for_each_server_whose_tools_are_sent(environ, tmp_path, known):
    settings = await known()
    async with opened(environ, tmp_path, Answer(text="ok"), settings=settings) as world:
        session = await world.prompt("hello")
        view = await world.client.context.items(session.id)
        own, server = [item for item in view.items if item.kind == "tools"]
        assert (server.name, server.tokens > 0) == ("12 definitions of the MCP server one", True)
        assert "one_echo" in (server.why or "") and "one_echo" not in (own.why or "")
