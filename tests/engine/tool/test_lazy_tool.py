import subprocess
import sys

import pytest

from opencode_tui.engine.tool.registry import read_specs
from opencode_tui.engine.tool.tool import TOOL_FILES
from opencode_tui.schema.tools import TOOLS
from tests.support.source.tool_specs import derive, render


def test_the_stored_specs_are_those_of_the_tools():
    derived = derive()
    assert len(derived) > 15 and list(read_specs()) == [row.name for row in TOOLS if row.name in derived]
    for name, (description, parameters) in derived.items():
        text = (TOOL_FILES / f"{name}.md").read_text(encoding="utf-8")
        assert text == render(description, parameters), "run: python -m tests.support.source.tool_specs"
        spec = read_specs()[name]
        assert (spec.description, spec.parameters) == (description, parameters)
        assert list(spec.parameters.get("properties", {})) == list(parameters.get("properties", {})), name


@pytest.mark.slow
def test_no_tool_is_loaded_before_it_is_called():
    program = """import sys
import opencode_tui.engine.engine
names = ("bash", "read", "edit", "grep", "webfetch")
print([name for name in names if f"opencode_tui.engine.tool.builtin.{name}" in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
