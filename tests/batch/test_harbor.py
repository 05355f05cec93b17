"""The agent for Harbor: `harbor run` itself loads it and runs a task of our own with the scripted model, without docker.

It needs a Python 3.12 with the package `harbor`, which HARBOR_PYTHON names: `python3.12 -m venv H && H/bin/pip install harbor`,
then `HARBOR_PYTHON=H/bin/python python -m pytest tests/batch/test_harbor.py`.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui import __version__
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.world.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
AGENT = ROOT / "packaging" / "share" / "opencode-tui" / "harbor"
PYTHON = os.environ.get("HARBOR_PYTHON", "")
TASK = {
    "task.toml": 'version = "1.0"\n[agent]\ntimeout_sec = 300.0\n[verifier]\ntimeout_sec = 60.0\n',
    "instruction.md": "Write hello into hello.txt.\n",
    "environment/Dockerfile": "FROM scratch\n",
    "tests/test.sh": '#!/bin/bash\n[ "$(cat /app/hello.txt)" = hello ]\necho $((1 - $?)) > /logs/verifier/reward.txt\n',
}


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON, reason="HARBOR_PYTHON names no Python with the package harbor")
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="the task runs in bubblewrap, which is not installed")
def test_harbor_runs_a_task_with_the_agent(tmp_path: Path) -> None:
    for name, text in TASK.items():
        path = tmp_path / "task" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "opencode-tui").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m opencode_tui "$@"\n')
    (tools / "opencode-tui").chmod(0o755)
    readable = {str(ROOT), str(tools), sys.prefix, sys.base_prefix}
    with ModelServer() as server:
        server.script(
            Answer(calls=(Call("bash", {"command": "echo hello > hello.txt", "description": "Writes"}),)),
            Answer(text="Done."),
        )
        settings = tmp_path / "settings.json"
        settings.write_text(json.dumps({"provider": server.config()}))
        done = subprocess.run(
            [
                PYTHON, "-c", "from harbor.cli.main import app; app()", "run", "--yes",
                "--path", str(tmp_path / "task"), "--jobs-dir", str(tmp_path / "jobs"),
                "--agent", "opencode_tui_agent:OpencodeTui", "--model", "fake/fake-model", "--ak", f"settings={settings}",
                "--env", "bwrap_environment:BwrapEnvironment", "--ek", f"read={':'.join(sorted(readable))}",
            ],
            cwd=tmp_path,
            env={
                "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(tmp_path), "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "PYTHONPATH": f"{AGENT}:{ROOT / 'tests' / 'support' / 'harbor'}",
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [result] = (json.loads(path.read_text()) for path in (tmp_path / "jobs").glob("*/task__*/result.json"))
    assert result["exception_info"] is None, result["exception_info"]
    assert result["verifier_result"]["rewards"] == {"reward": 1.0}, done.stdout
    assert (result["agent_info"]["name"], result["agent_info"]["version"]) == ("opencode-tui", __version__)
    assert result["agent_result"]["n_input_tokens"] > 0
    assert result["agent_result"]["n_output_tokens"] > 0
    assert result["agent_result"]["cost_usd"] > 0


def test_the_agent_has_what_harbor_calls() -> None:
    """The methods that `harbor.agents.base.BaseAgent` of 0.26 declares abstract; Harbor itself is asked in the other test."""
    tree = ast.parse((AGENT / "opencode_tui_agent.py").read_text("utf-8"))
    [made] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = {node.name for node in made.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert [ast.unparse(base) for base in made.bases] == ["BaseAgent"]
    assert {"name", "version", "setup", "run"} <= methods
