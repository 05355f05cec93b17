import json
import subprocess
import sys

from opencode_tui.engine.tool.registry import SPECS
from tests.support.source.tool_specs import derive


def test_the_stored_specs_are_those_of_the_tools():
    stored = json.loads(SPECS.read_text(encoding="utf-8"))
    assert stored == derive(), "run: python -m tests.support.source.tool_specs"
    assert list(stored) == list(derive())


def test_no_tool_is_loaded_before_it_is_called():
    program = """import sys
import opencode_tui.engine.engine
names = ("bash", "read", "edit", "grep", "webfetch")
print([name for name in names if f"opencode_tui.engine.tool.builtin.{name}" in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
