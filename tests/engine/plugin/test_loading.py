import sys
from pathlib import Path

import pytest

from opencode_tui.config.flags import read_flags
from opencode_tui.engine.plugin.definition import PluginContext
from opencode_tui.engine.plugin.discovery import PluginSource, find_plugins
from opencode_tui.engine.plugin.loader import load_plugins
from tests.support.world.settings import SettingsWorld

PLUGIN = "def plugin(context):\n    return {'tool.execute.before': lambda given, output: output['args'].update(x=1)}\n"
TOOL = "def execute(arguments, context):\n    'Adds one.'\n    return arguments['n'] + 1\nargs = {'n': {'type': 'integer'}}\n"


@pytest.fixture
def world(tmp_path: Path, environ: dict[str, str]) -> SettingsWorld:
    return SettingsWorld(tmp_path, environ)


def find(world: SettingsWorld, **environ: str) -> list[PluginSource]:
    flags = read_flags({**world.environ, **environ})
    return find_plugins(world.load(**environ), paths=world.paths, flags=flags, directory=world.project)


def write(tmp_path: Path, text: str, name: str = "mine.py") -> PluginSource:
    path = tmp_path / "plugins" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return PluginSource("plugin", path.stem, path)


async def load(tmp_path: Path, *sources: PluginSource, **limits: float):
    return await load_plugins(sources, PluginContext(tmp_path, tmp_path, "global"), **limits)


def test_the_setting_comes_before_the_folders(world):
    own = world.write(world.paths.config / "plugins" / "b.py", PLUGIN)
    world.person({"plugin": ["./near/a.py", "some_module"]})
    assert find(world) == [
        PluginSource("plugin", "some_module"),
        PluginSource("plugin", "a", world.paths.config / "near" / "a.py"),
        PluginSource("plugin", "b", own),
    ]


def test_a_path_counts_from_the_file_that_says_it_and_from_nowhere_else(world):
    world.person({"plugin": ["./evil.py"]})
    world.write(world.project / "evil.py", "raise SystemExit")
    (found,) = find(world)
    assert found.path == world.paths.config / "evil.py"


def test_what_a_repository_names_or_holds_waits_for_trust(world):
    world.repository({"plugin": ["./theirs.py", "their_module"]})
    world.write(world.project / "theirs.py", PLUGIN)
    world.write(world.project / ".opencode" / "plugin" / "held.py", PLUGIN)
    world.write(world.project / ".opencode" / "tools" / "add.py", TOOL)
    assert find(world) == []
    world.trust()
    assert [(one.kind, one.name) for one in find(world)] == [
        ("plugin", "their_module"),
        ("plugin", "theirs"),
        ("plugin", "held"),
        ("tool", "add"),
    ]


def test_a_repository_cannot_have_its_own_path_loaded_by_repeating_the_persons(world):
    world.person({"plugin": ["./same.py"]})
    world.repository({"plugin": ["./same.py"]})
    assert [one.path for one in find(world)] == [world.paths.config / "same.py"]


def test_of_two_plugins_with_one_name_the_later_stays(world):
    world.write(world.paths.config / "plugins" / "a.py", PLUGIN)
    later = world.write(world.paths.home / ".opencode" / "plugins" / "a.py", PLUGIN)
    assert [one.path for one in find(world)] == [later]


def test_addresses_of_files_and_variables_of_the_environment_work(world, tmp_path):
    path = write(tmp_path, PLUGIN).path
    assert path is not None
    content = f'{{"plugin": ["{path.as_uri()}", "./here.py"]}}'
    found = find(world, OPENCODE_CONFIG_CONTENT=content)
    assert [one.path for one in found] == [path, world.project / "here.py"]


async def test_a_plugin_gives_hooks_and_tools(tmp_path):
    adding = "{'tools': {'add': {'execute': lambda a, c: 1, 'description': 'Adds'}}}"
    text = f"{PLUGIN.replace('return {', 'return {**MORE, ')}\nMORE = {adding}\n"
    plugins = await load(tmp_path, write(tmp_path, text))
    assert plugins.problems == []
    assert await plugins.hooks.run("tool.execute.before", {}, {"args": {}}) == {"args": {"x": 1}}
    assert [(tool.name, tool.description, tool.schema) for tool in plugins.tools] == [
        ("add", "Adds", {"type": "object", "properties": {}})
    ]


async def test_a_plugin_may_be_a_coroutine_and_receives_its_folder(tmp_path):
    text = "async def plugin(context):\n    return {'event': print} if context.directory == context.worktree else {}\n"
    assert (await load(tmp_path, write(tmp_path, text))).hooks.has("event")


async def test_neighbours_can_be_imported_and_no_bytecode_is_left(tmp_path):
    source = write(tmp_path, "from . import helper\ndef plugin(context):\n    return helper.HOOKS\n")
    write(tmp_path, "HOOKS = {'event': print}\n", "helper.py")
    plugins = await load(tmp_path, source)
    assert (plugins.hooks.has("event"), plugins.problems) == (True, [])
    assert sorted(path.name for path in (tmp_path / "plugins").iterdir()) == ["helper.py", "mine.py"]


async def test_a_changed_file_is_run_anew(tmp_path):
    source = write(tmp_path, PLUGIN)
    await load(tmp_path, source)
    write(tmp_path, "def plugin(context):\n    return {'event': print}\n")
    assert (await load(tmp_path, source)).hooks.has("event")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise ValueError('boom')", "is not loaded: ValueError: boom"),
        ("import nowhere_to_be_found", "is not loaded: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("def plugin(:", "is not loaded: SyntaxError: "),
        ("x = 1", "is not loaded: no function plugin(context)"),
        ("raise SystemExit(3)", "is not loaded: RuntimeError: SystemExit(3)"),
        ("def plugin(context): return 1", "is not loaded: plugin() returned int"),
        ("def plugin(context): return {'evnt': print}", ": 'evnt' is not a hook; did you mean 'event'?"),
        ("def plugin(context): return {'event': 1}", ": hook 'event' is skipped: it is int, not a function"),
        ("def plugin(context): return {'tool': {'x': 1}}", ": tool 'x' is skipped: expected a mapping"),
    ],
)
async def test_a_failure_is_named_and_the_next_plugin_works(tmp_path, text, problem):
    bad = write(tmp_path, text, "bad.py")
    plugins = await load(tmp_path, bad, write(tmp_path, PLUGIN))
    (told,) = plugins.warnings
    assert told.startswith(f"plugin {bad.path}{'' if problem.startswith(':') else ' '}{problem}")
    assert plugins.hooks.has("tool.execute.before")


async def test_a_plugin_that_never_comes_back_costs_its_time_limit(tmp_path):
    bad = write(tmp_path, "import time\ntime.sleep(30)\n", "slow.py")
    plugins = await load(tmp_path, bad, load_limit_s=0.05)
    assert plugins.problems == [f"plugin {bad.path} is not loaded: it took longer than 0.05 s"]


async def test_an_installed_module_is_loaded_but_never_one_of_the_folder_worked_in(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    (site / "installed_plugin_x.py").write_text(PLUGIN)
    (tmp_path / "local_plugin_x.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(site), *sys.path])
    good, bad = PluginSource("plugin", "installed_plugin_x"), PluginSource("plugin", "local_plugin_x")
    plugins = await load(tmp_path, good, bad)
    assert plugins.hooks.has("tool.execute.before")
    assert plugins.problems == [
        "plugin local_plugin_x is not loaded: no installed Python module has this name; "
        "install it, or give a path (./name.py)"
    ]


async def test_an_npm_package_is_rejected(tmp_path):
    plugins = await load(tmp_path, PluginSource("plugin", "opencode-thing@1.2.0"))
    assert plugins.problems[0].endswith("not a path (./name.py) and not the name of a Python module")


async def test_a_tool_file_that_needs_what_is_not_there_costs_itself_alone(tmp_path):
    bad = write(tmp_path, "import left_pad_x\n", "bad.py").path
    good = write(tmp_path, TOOL, "good.py").path
    plugins = await load(tmp_path, PluginSource("tool", "bad", bad), PluginSource("tool", "good", good))
    assert [tool.name for tool in plugins.tools] == ["good"]
    assert plugins.problems == [f"tool {bad} is not loaded: ModuleNotFoundError: No module named 'left_pad_x'"]


async def test_a_tool_file_gives_tools_by_its_name(tmp_path):
    path = write(tmp_path, f"{TOOL}\nother = {{'execute': lambda a, c: 'o', 'args': {{}}}}\n", "math.py").path
    plugins = await load(tmp_path, PluginSource("tool", "math", path))
    assert [(tool.name, tool.description) for tool in plugins.tools] == [("math", "Adds one."), ("math_other", "")]
    assert plugins.tools[0].schema == {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
