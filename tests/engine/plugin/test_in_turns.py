"""Each hook through a real turn: a plugin file in the person's folder, the scripted model behind the engine."""

import asyncio
from pathlib import Path

import pytest

from opencode_tui.engine.permission.policy import AutoApprove, RefuseQuestions
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.error import RunAborted
from opencode_tui.storage.paths import find_paths
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened

pytestmark = pytest.mark.slow


BASH = Answer(calls=(Call("bash", {"command": "echo $GREETING; echo one"}),))


@pytest.fixture
def plugin(environ):
    """Write a plugin of the person's: the hooks of a dictionary display, with further code before it."""

    def write(hooks: str, code: str = "", name: str = "mine") -> Path:
        path = find_paths(environ).config / "plugins" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{code}\ndef plugin(context):\n    return {{{hooks}}}\n")
        return path

    return write


async def test_a_request_is_changed_before_it_is_stored(environ, tmp_path, plugin):
    plugin(
        "'chat.message': change", "def change(given, output):\n    output['parts'][0]['text'] += '!' + given['agent']\n"
    )
    async with opened(environ, tmp_path, Answer(text="ok")) as world:
        session = await world.prompt("hi")
        (part,) = (await world.messages(session))[0].parts
        assert (part.text, world.sent()) == ("hi!build", "hi!build")


async def test_parameters_and_headers_of_the_call_are_changed(environ, tmp_path, plugin):
    code = (
        "def params(given, output):\n    output['temperature'] = 0.25\n    output['topP'] = 0.5\n"
        "async def headers(given, output):\n    output['headers']['x-mine'] = given['model']['modelID']\n"
    )
    plugin("'chat.params': params, 'chat.headers': headers", code)
    async with opened(environ, tmp_path, Answer(text="ok")) as world:
        await world.prompt("hi")
        (request,) = world.server.requests
        assert (request.body["temperature"], request.body["top_p"]) == (0.25, 0.5)
        assert request.headers["x-mine"] == "fake-model"


async def test_system_prompt_history_and_tools_are_changed_for_the_call_alone(environ, tmp_path, plugin):
    code = (
        "def system(given, output):\n    output['system'] += ['MORE', 'AND MORE']\n"
        "def history(given, output):\n    output['messages'][0]['parts'][0]['text'] = 'changed'\n"
        "def tool(given, output):\n    output['description'] = 'D ' + given['toolID']\n"
    )
    plugin(
        "'experimental.chat.system.transform': system, 'experimental.chat.messages.transform': history, 'tool.definition': tool",
        code,
    )
    async with opened(environ, tmp_path, Answer(text="ok")) as world:
        session = await world.prompt("hi")
        assert world.system().endswith("MORE\nAND MORE")
        assert (world.sent(), (await world.messages(session))[0].parts[0].text) == ("changed", "hi")
        tools = {one["function"]["name"]: one["function"]["description"] for one in world.server.bodies[0]["tools"]}
        assert tools["bash"] == "D bash"


async def test_calls_their_results_and_their_environment_are_changed(environ, tmp_path, plugin):
    code = (
        "def before(given, output):\n    output['args']['command'] += '; echo two'\n"
        "def after(given, output):\n    output['output'] += 'from ' + given['tool']\n"
        "def env(given, output):\n    output['env']['GREETING'] = 'hello'\n"
    )
    plugin("'tool.execute.before': before, 'tool.execute.after': after, 'shell.env': env", code)
    async with opened(environ, tmp_path, BASH, Answer(text="ok")) as world:
        (call,) = await world.calls(await world.prompt("go"))
        assert call.state.output == "hello\none\ntwo\nfrom bash"
        assert call.state.input["command"].endswith("; echo two")


async def test_a_call_that_is_repeated_is_asked_for_although_a_hook_changes_it(environ, tmp_path, plugin):
    plugin(
        "'tool.execute.before': before",
        "def before(given, output):\n    output['args']['command'] = 'true; ' + output['args']['command']\n",
    )
    policy = AutoApprove(RefuseQuestions(), outside=True)
    async with opened(environ, tmp_path, *[BASH] * 3, Answer(text="ok"), policy=policy) as world:
        calls = await world.calls(await world.prompt("go"))
        assert [call.state.status for call in calls] == ["completed", "completed", "error"]
        assert "repeating the same calls of 'bash' needs approval" in calls[2].state.error


@pytest.mark.parametrize(("status", "state"), [("allow", "completed"), ("deny", "error"), ("ask", "error")])
async def test_a_request_can_be_decided_before_the_user_is_asked(environ, tmp_path, plugin, status, state):
    plugin("'permission.ask': say", f"def say(given, output):\n    output['status'] = '{status}'\n")
    settings = {"permission": {"bash": "ask"}}
    async with opened(environ, tmp_path, BASH, Answer(text="ok"), settings=settings, policy=RefuseQuestions()) as world:
        (call,) = await world.calls(await world.prompt("go"))
        assert call.state.status == state
        assert ("A plugin denies bash" in getattr(call.state, "error", "")) == (status == "deny")


async def test_a_plugin_cannot_loosen_what_a_rule_denies(environ, tmp_path, plugin):
    plugin("'permission.ask': say", "def say(given, output):\n    output['status'] = 'allow'\n")
    async with opened(
        environ, tmp_path, BASH, Answer(text="ok"), settings={"permission": {"bash": {"echo*": "deny"}}}
    ) as world:
        (call,) = await world.calls(await world.prompt("go"))
        assert "A permission rule denies bash" in call.state.error


async def test_a_command_and_a_whole_text_are_changed(environ, tmp_path, plugin):
    code = (
        "def command(given, output):\n    output['parts'][0]['text'] += given['arguments'].upper()\n"
        "def text(given, output):\n    output['text'] = output['text'].replace('secret', '***')\n"
    )
    plugin("'command.execute.before': command, 'experimental.text.complete': text", code)
    settings = {"command": {"say": {"template": "Say $1 "}}}
    async with opened(environ, tmp_path, Answer(text="a secret word"), settings=settings) as world:
        session = await world.command("say", "x")
        assert (world.sent(), await world.answer(session)) == ("Say xX", "a *** word")


async def test_events_have_the_format_of_clients(environ, tmp_path, plugin):
    seen = tmp_path / "seen"
    plugin(
        "'event': note",
        f"def note(given, output):\n    open({str(seen)!r}, 'a').write(given['event']['type'] + '\\n')\n",
    )
    async with opened(environ, tmp_path, Answer(text="ok")) as world:
        await world.prompt("hi")
    kinds = seen.read_text().splitlines()
    assert kinds[:2] == ["session.created", "session.updated"]
    assert set(kinds[kinds.index("session.idle") + 1 :]) <= {"session.updated", "session.diff", "message.updated"}
    assert "message.part.updated" in kinds


async def test_settings_are_changed_before_anything_is_made_of_them(environ, tmp_path, plugin):
    plugin(
        "'config': change",
        "def change(given, output):\n    output.setdefault('command', {})['new'] = {'template': 'New.'}\n",
    )
    async with opened(environ, tmp_path) as world:
        assert "new" in [command.name for command in await world.client.catalog.commands()]


async def test_settings_of_the_wrong_kind_are_dropped_and_named(environ, tmp_path, plugin):
    plugin("'config': change", "def change(given, output):\n    output['command'] = 3\n")
    async with opened(environ, tmp_path) as world:
        (warning,) = (await world.client.settings.notices()).warnings
        assert "hook config failed and has no effect" in warning
        assert len(await world.client.catalog.commands()) == 2


@pytest.mark.parametrize(
    ("hook", "change"),
    [
        ("chat.message", "output['parts'] = 3"),
        ("chat.params", "output['temperature'] = 'hot'"),
        ("chat.headers", "output['headers'] = [1]"),
        ("experimental.chat.system.transform", "output['system'] = [1]"),
        ("experimental.chat.messages.transform", "output['messages'] = 'x'"),
        ("tool.definition", "output['description'] = None"),
        ("tool.execute.before", "output['args'] = 1"),
        ("tool.execute.after", "output['output'] = 1"),
        ("shell.env", "output['env'] = {'A': 1}"),
        ("experimental.text.complete", "output['text'] = None"),
        ("event", "raise RuntimeError('no')"),
    ],
)
async def test_an_answer_that_does_not_fit_is_named_and_the_turn_goes_on(environ, tmp_path, plugin, hook, change):
    path = plugin(f"'{hook}': bad", f"def bad(given, output):\n    {change}\n")
    async with opened(environ, tmp_path, BASH, Answer(text="fine")) as world:
        session = await world.prompt("go")
        warnings = (await world.client.settings.notices()).warnings
        assert await world.answer(session) == "fine"
        assert [call.state.status for call in await world.calls(session)] == ["completed"]
        assert [line.startswith(f"plugin {path}: hook {hook} failed") for line in warnings] == [True]


async def test_a_plugins_tool_is_listed_checked_approved_and_run(environ, tmp_path, plugin):
    code = (
        "async def add(arguments, context):\n    return {'output': str(arguments['a'] + arguments['b']), 'title': context.agent}\n"
        "ARGS = {'a': {'type': 'integer'}, 'b': {'type': 'integer', 'default': 5}}\n"
        "ADD = {'description': 'Adds.', 'args': ARGS, 'execute': add}\n"
    )
    plugin("'tool': {'add': ADD}", code)
    calls = Answer(calls=(Call("add", {"a": 2}), Call("add", {"a": "x"}), Call("add", {})))
    async with opened(environ, tmp_path, calls, Answer(text="ok")) as world:
        good, wrong, missing = await world.calls(await world.prompt("go"))
        assert (good.state.output, good.state.title) == ("7", "build")
        assert ("a is no integer" in wrong.state.error, "a is missing" in missing.state.error) == (True, True)
        offered = {one["function"]["name"]: one["function"] for one in world.server.bodies[0]["tools"]}
        assert offered["add"]["parameters"]["required"] == ["a"]


async def test_a_plugins_tool_obeys_the_rules_under_its_own_name(environ, tmp_path, plugin):
    plugin("'tools': {'add': {'execute': lambda a, c: 'done'}}")
    settings = {"permission": {"add": "ask"}}
    async with opened(
        environ,
        tmp_path,
        Answer(calls=(Call("add", {}),)),
        Answer(text="ok"),
        settings=settings,
        policy=RefuseQuestions(),
    ) as world:
        (call,) = await world.calls(await world.prompt("go"))
        assert call.state.error.startswith("add '*' needs approval")


async def test_a_tool_that_raises_is_an_error_of_its_call_alone(environ, tmp_path, plugin):
    plugin("'tools': {'bad': {'execute': bad}}", "def bad(arguments, context):\n    raise ValueError('boom')\n")
    async with opened(environ, tmp_path, Answer(calls=(Call("bad", {}),)), Answer(text="ok")) as world:
        session = await world.prompt("go")
        (call,) = await world.calls(session)
        assert (call.state.error, await world.answer(session)) == ("bad failed: ValueError: boom", "ok")


async def test_an_abort_wins_against_a_tool_that_takes_no_notice(environ, tmp_path, plugin):
    code = """
import asyncio
async def stubborn(arguments, context):
    open(arguments['mark'], 'w').close()
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
"""
    plugin("'tools': {'stubborn': {'execute': stubborn, 'args': {'mark': {'type': 'string'}}}}", code)
    mark = tmp_path / "begun"
    async with opened(environ, tmp_path, Answer(calls=(Call("stubborn", {"mark": str(mark)}),))) as world:
        session = await world.new_session()
        turn = asyncio.create_task(world.prompt("go", session=session))
        while not mark.exists():
            await asyncio.sleep(0.01)
        await world.client.prompts.abort(session.id)
        with pytest.raises(RunAborted):
            await turn
        assert (await world.calls(session))[0].state.error == "Tool execution aborted"


async def test_the_arguments_of_a_pydantic_model_arrive_as_one(environ, tmp_path, plugin):
    code = (
        "from pydantic import BaseModel\nclass Point(BaseModel):\n    x: int\n"
        "def show(point, context):\n    return f'{type(point).__name__} {point.x}'\n"
    )
    plugin("'tools': {'show': {'execute': show, 'args': Point}}", code)
    async with opened(environ, tmp_path, Answer(calls=(Call("show", {"x": 3}),)), Answer(text="ok")) as world:
        (call,) = await world.calls(await world.prompt("go"))
        assert call.state.output == "Point 3"


async def test_the_request_for_a_summary_is_added_to_and_replaced(environ, tmp_path, plugin):
    code = "def compacting(given, output):\n    output['context'] += ['MIND ' + given['sessionID'][:4], 'AND THIS']\n"
    plugin("'experimental.session.compacting': compacting", code)
    async with opened(environ, tmp_path) as world:
        await world.client.context.compact((await world.prompt("hi")).id, CompactSession())
        assert world.sent().endswith("\n\nMIND ses_\n\nAND THIS") and "summarize the conversation" in world.sent()
    plugin(
        "'experimental.session.compacting': compacting",
        "def compacting(given, output):\n    output['prompt'] = 'Only this.'\n",
    )
    async with opened(environ, tmp_path, Answer(text="one"), Answer(text="sum")) as world:
        await world.client.context.compact((await world.prompt("hi")).id, CompactSession())
        assert world.sent() == "Only this."
