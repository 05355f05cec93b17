"""What a process gives back when it goes on without its screen."""

import subprocess
import sys

import pytest

MEDDLING = """
import sys, types
import opencode_tui.tui.options, rich.text
from opencode_tui.cli.detached import free_screen

class Name(str):
    \"\"\"A name that makes another module whenever it is looked at: what another thread imports at any moment.\"\"\"

    def startswith(self, *words):
        made = f"made{len(sys.modules)}"
        sys.modules[made] = types.ModuleType(made)
        return False

sys.modules[Name("meddling")] = types.ModuleType("meddling")
free_screen()
left = [one for one in list(sys.modules) if one.startswith(("rich.", "opencode_tui.tui."))]
made = [one for one in list(sys.modules) if str(one).startswith("made")]
print(left, bool(made))
"""


@pytest.mark.slow
def test_the_code_of_the_screen_is_given_back_although_another_thread_imports_meanwhile() -> None:
    ran = subprocess.run([sys.executable, "-c", MEDDLING], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[] True\n", "")
