"""opencode-tui as an agent of Harbor (https://harborframework.com), for Terminal-Bench, SWE-bench and other tasks of it.

Harbor loads this file, not opencode-tui: it needs Python 3.12 and the package `harbor`.

    PYTHONPATH=FOLDER harbor run --agent opencode_tui_agent:OpencodeTui --model PROVIDER/MODEL --dataset terminal-bench@2.0

In the task's container it installs opencode-tui with uv, unless it is there, and runs one prompt. The container is the sandbox: our
own is off in it, and nothing is asked. Options (`--ak NAME=VALUE`): `package` is what uv installs, a requirement or a wheel on this
machine; `settings` is a file with settings of opencode-tui.
"""

import json
import os
import shlex
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

PACKAGE = "opencode-tui"
KEYS = (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
    "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "GROQ_API_KEY", "XAI_API_KEY",
)  # fmt: skip
"""Variables of this machine that the container gets, besides those of `--ae`."""

SETTINGS: dict[str, Any] = {
    "permission": {"*": "allow"},
    "experimental": {"sandbox": {"mode": "off"}},
    "share": "disabled",
}
LOG = "opencode-tui.jsonl"

_INSTALL = """
set -e
export PATH="$HOME/.local/bin:$PATH"
command -v opencode-tui >/dev/null && exit 0
if ! command -v uv >/dev/null; then
  if ! command -v curl >/dev/null; then
    if command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -qq -y curl ca-certificates
    elif command -v apk >/dev/null; then apk add --no-cache curl ca-certificates bash
    elif command -v dnf >/dev/null; then dnf install -q -y curl
    fi
  fi
  curl -LsSf https://astral.sh/uv/install.sh | sh
fi
uv tool install --python 3.12 {package}
"""


class OpencodeTui(BaseAgent):
    """Runs `opencode-tui run` in the container of a task."""

    def __init__(
        self, logs_dir: Path, *args: Any, package: str = PACKAGE, settings: str | None = None, **kwargs: Any
    ) -> None:
        """`package` and `settings` are described above; the rest is Harbor's."""
        super().__init__(logs_dir, *args, **kwargs)
        self._package = package
        self._is_file = Path(package).is_file()
        own = json.loads(Path(settings).read_text("utf-8")) if settings else {}
        self._settings = json.dumps({**SETTINGS, **own})
        self._version: str | None = None

    @staticmethod
    def name() -> str:
        """Return the name in Harbor's results."""
        return "opencode-tui"

    def version(self) -> str | None:
        """Return the installed version, None before `setup`."""
        return self._version

    async def setup(self, environment: BaseEnvironment) -> None:
        """Install opencode-tui in the container. Raises RuntimeError."""
        package = self._package
        if self._is_file:
            package = f"/tmp/{Path(self._package).name}"
            await environment.upload_file(self._package, package)
        await self._run(environment, _INSTALL.format(package=shlex.quote(package)))
        self._version = (await self._run(environment, "opencode-tui --version")).split()[-1]

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Run one prompt, and report its tokens and cost. Raises RuntimeError when it failed."""
        model = f" --model {shlex.quote(self.model_name)}" if self.model_name else ""
        command = f"opencode-tui run --auto=outside --format json{model} -- {shlex.quote(instruction)}"
        output = ""
        try:
            output = await self._run(environment, command)
        finally:
            self.logs_dir.mkdir(parents=True, exist_ok=True)
            (self.logs_dir / LOG).write_text(output, "utf-8")
            _report(output, context)

    async def _run(self, environment: BaseEnvironment, command: str) -> str:
        keys = {name: os.environ[name] for name in KEYS if os.environ.get(name)}
        variables = {**keys, **self._extra_env, "OPENCODE_CONFIG_CONTENT": self._settings}
        done = await environment.exec(f'export PATH="$HOME/.local/bin:$PATH"; {command}', env=variables)
        if done.return_code != 0:
            raise RuntimeError(
                f"opencode-tui ended with {done.return_code}: {(done.stderr or done.stdout or '')[-2000:]}"
            )
        return done.stdout or ""


def _report(output: str, context: AgentContext) -> None:
    """Add up the usage of all requests."""
    given = written = cached = 0
    cost = 0.0
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        part = event.get("part") if isinstance(event, dict) else None
        if not isinstance(part, dict) or part.get("type") != "step-finish":
            continue
        tokens = part["tokens"]
        cached += tokens["cache"]["read"]
        given += tokens["input"] + tokens["cache"]["read"] + tokens["cache"]["write"]
        written += tokens["output"]
        cost += part["cost"]
    context.n_input_tokens, context.n_output_tokens, context.n_cache_tokens, context.cost_usd = (
        given,
        written,
        cached,
        cost,
    )
