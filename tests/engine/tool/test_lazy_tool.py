import json
import subprocess
import sys

from opencode_tui.engine.tool.lazy_tool import SPECS
from tests.support.source.tool_specs import derive


def test_what_the_model_is_told_of_a_tool_is_what_the_tool_says():
    stored = json.loads(SPECS.read_text(encoding="utf-8"))
    assert stored == derive(), "run: python -m tests.support.source.tool_specs"
    assert list(stored) == list(derive())


def test_no_tool_is_loaded_before_it_is_called():
    program = """import sys
import opencode_tui.engine.engine
print([name for name in ("bash", "read", "edit", "grep", "webfetch") if f"opencode_tui.engine.tool.{name}" in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
