"""The page about plugins names what there is, and its example runs."""

import re
from pathlib import Path

from opencode_tui.engine.plugin.definition import PluginContext
from opencode_tui.engine.plugin.discovery import PluginSource
from opencode_tui.engine.plugin.hooks import HOOK_NAMES
from opencode_tui.engine.plugin.loader import load_plugins

PAGE = (Path(__file__).parents[3] / "opencode_tui" / "engine" / "plugin" / "plugins.md").read_text("utf-8")


def test_the_page_lists_every_hook_in_the_order_of_the_definition():
    assert tuple(re.findall(r"^\| `([a-z.]+)` \|", PAGE, re.MULTILINE)) == HOOK_NAMES


async def test_the_example_of_the_page_is_a_plugin_that_works(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "example.py"
    path.write_text(example)
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    plugins = await load_plugins([PluginSource("plugin", "example", path)], PluginContext(tmp_path, tmp_path, "global"))
    assert plugins.problems == []
    changed = await plugins.hooks.run("experimental.chat.system.transform", {}, {"system": ["first"]})
    assert changed == {"system": ["first", "Answer in one sentence."]}
    assert await plugins.hooks.run("shell.env", {}, {"env": {}}) == {"env": {"EDITOR": "true"}}
    asked = {"patterns": ["cat secret.txt"]}
    assert await plugins.hooks.run("permission.ask", asked, {"status": "ask"}) == {"status": "deny"}
    (tool,) = plugins.tools
    assert (tool.name, tool.description) == ("count_lines", "Count the lines of a file of the project.")
    assert tool.execute({"path": "a.txt"}, None) == {"title": "a.txt", "output": "2"}
