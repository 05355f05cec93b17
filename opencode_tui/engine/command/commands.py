"""The slash commands of a folder: the built-in ones, those of the settings (Markdown files included), and skills.

A command of the settings replaces a built-in one; a skill never replaces a command. Source: docs/internals/loop.md#slash-commands.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.sources.layer import PLUGIN_SOURCE
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.sandbox.limits import NO_LIMITS, Limits
from opencode_tui.engine.skill.skills import Skill, Skills
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.api.folder import CommandSummary
from opencode_tui.schema.error import ConfigError, ToolError

if TYPE_CHECKING:
    from opencode_tui.engine.permission.command_decision import CommandPlan
    from opencode_tui.engine.sandbox.environment import Secrets
    from opencode_tui.engine.sandbox.sandbox import Sandbox
    from opencode_tui.engine.tool.process.process import Command as ShellCommand
    from opencode_tui.engine.tool.process.process import Ended
    from opencode_tui.engine.tool.process.running_command import CommandOutput
    from opencode_tui.schema.api.mcp import McpPrompt

_PLACEHOLDER = re.compile(r"\$(?:(\d+)|ARGUMENTS)")
_SNIPPET = re.compile(r"!`([^`\n]+)`")
_WORD = re.compile(r"""\[(?:Image|File)\s+\d+\]|(?:"[^"]*"|'[^']*'|[^\s"'])+|["']""")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")


class Prose(Struct, frozen=True):
    """A text piece of a filled template."""

    text: str


class Snippet(Struct, frozen=True):
    """A shell command that is replaced by its output."""

    command: str


Piece = Prose | Snippet


def fill(template: str, arguments: str, *, has_snippets: bool = True) -> list[Piece]:
    """Return the template with the arguments inserted, split at its shell snippets, in order.

    Without `has_snippets`, snippets are text.
    """
    numbers = [int(match[1]) for match in _PLACEHOLDER.finditer(template) if match[1]]
    words, highest = split_words(arguments), max(numbers, default=0)

    def value(match: "re.Match[str]") -> str:
        if match[1] is None:
            return arguments
        number = int(match[1])
        chosen = words[number - 1 :] if number == highest else words[number - 1 : number]
        return " ".join(chosen) if number else ""

    pieces: list[Piece] = []
    end = 0
    for match in _SNIPPET.finditer(template) if has_snippets else ():
        pieces += [
            Prose(_PLACEHOLDER.sub(value, template[end : match.start()])),
            Snippet(_PLACEHOLDER.sub(value, match[1])),
        ]
        end = match.end()
    pieces.append(Prose(_PLACEHOLDER.sub(value, template[end:])))
    if _PLACEHOLDER.search(template) is None and arguments.strip():
        pieces.append(Prose(f"\n\n{arguments}"))
    return [piece for piece in pieces if not isinstance(piece, Prose) or piece.text]


def split_words(arguments: str) -> list[str]:
    """Return the words of the arguments; quotes group words and are removed, `[Image 1]` is one word."""
    return [_QUOTED.sub(lambda match: match[1] or match[2] or "", word) for word in _WORD.findall(arguments)]


def hints(template: str) -> list[str]:
    """Return the placeholders of a template: the numbered ones in order, then `$ARGUMENTS`."""
    numbers = sorted({int(match[1]) for match in _PLACEHOLDER.finditer(template) if match[1]})
    return [*(f"${number}" for number in numbers), *(["$ARGUMENTS"] if "$ARGUMENTS" in template else [])]


SNIPPET_TIMEOUT_MS = 60_000
_SNIPPET_WAIT_S = 3_600.0


class SnippetShell(Struct, frozen=True):
    """Runs the shell snippets of a template in a folder, as the bash tool does but with a short timeout.

    The output goes into the prompt, errors included; an exit code other than 0 is not an error. `reserve_output` returns the
    file for a long output; `secrets` are the keys that commands do not get; `shell` is the bash that the
    user prefers. Source: docs/internals/loop.md#slash-commands.
    """

    environ: Mapping[str, str]
    home: Path
    folder: Path
    reserve_output: Callable[[], Path]
    secrets: "Lazy[Secrets]"
    sandbox: "Lazy[Sandbox]"
    timeout_ms: int = SNIPPET_TIMEOUT_MS
    shell: str | None = None
    limits: Limits = NO_LIMITS

    async def run(self, command: str, plan: "CommandPlan", context: ToolContext) -> str:
        """Return the output of a command that runs as planned, both ends of a long one, or a line why it could not start.

        `context` asks the user whether it may leave the sandbox.
        """
        # imported only for a command that has snippets
        from opencode_tui.engine.tool.builtin.bash_run import CommandRun
        from opencode_tui.engine.tool.process.process import Command, find_shell
        from opencode_tui.engine.tool.process.running_command import CommandOutput

        secrets = self.secrets.get()
        environ = secrets.without_keys(self.environ)
        shell = find_shell(environ, self.folder, self.shell)
        run = CommandRun(
            Command(command, self.folder, environ, self.timeout_ms, shell, limits=self.limits),
            plan,
            sandbox=self.sandbox.get() if plan.tier != "none" else None,
            make_output=lambda: CommandOutput(self.reserve_output, redactor=secrets.stream()),
            follow=_wait,
            context=context,
        )
        try:
            ran = await run.run()
        except (OSError, ToolError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            return f"(could not start `{command}` in {self.folder}: {reason})"
        text = ran.output.excerpt(is_final=True).for_model(may_delegate=False)
        notes = [f"({message})" for message in ran.messages]
        if ran.ended.limit is not None:
            notes.append(f"(`{command}` was {ran.ended.limit.words})")
        if ran.ended.reason == "timeout":
            notes.append(f"(`{command}` was stopped after {self.timeout_ms / 1000:g} s)")
        return "\n".join((text.rstrip(), *notes)) if notes else text


async def _wait(command: "ShellCommand", output: "CommandOutput") -> "Ended":
    """Run a command to its end."""
    from opencode_tui.engine.tool.process.running_command import RunningCommand

    async with RunningCommand(command, output) as running:
        while (ended := await running.wait(_SNIPPET_WAIT_S)) is None:
            pass
    return ended


INIT = "init"
"""The command that writes the project's AGENTS.md."""

_BUILT_IN: Mapping[str, tuple[str, bool | None]] = {
    INIT: ("Create or update AGENTS.md", None),
    "review": ("Review uncommitted changes, a commit, a branch or a PR", True),
}
"""The description and `subtask` of each built-in command by name."""

_KEY = "command."
"""The prefix of a command's dotted settings key."""


class Command(Struct, frozen=True):
    """A command. `is_own`: the user wrote it or it is built in, so its shell snippets need no approval.

    `prompt` is the prompt of an MCP server that it stands for; its text comes from the server.
    """

    summary: CommandSummary
    is_own: bool
    skill: Skill | None = None
    prompt: "McpPrompt | None" = None

    def template(self) -> str:
        """Return the prompt with its placeholders; a skill is read from its file. Raises ToolError. Blocks for a skill."""
        return self.summary.template if self.skill is None else self.skill.read()


class Commands:
    """All commands of a folder's instance; `ignored` maps commands without effect to the reason."""

    def __init__(self, commands: Mapping[str, Command], ignored: Mapping[str, str]) -> None:
        self._own = dict(commands)
        self._ignored = dict(ignored)
        self._find_prompts: Callable[[], Sequence[McpPrompt]] = lambda: ()

    def follow(self, find_prompts: Callable[[], Sequence["McpPrompt"]]) -> None:
        """Have the prompts of MCP servers as commands too, as far as they are known."""
        self._find_prompts = find_prompts

    @property
    def _commands(self) -> Mapping[str, Command]:
        prompts = {f"{one.server}:{one.name}".replace(" ", "_"): one for one in self._find_prompts()}
        return {**{name: _of_prompt(name, one) for name, one in prompts.items()}, **self._own}

    def all(self) -> list[CommandSummary]:
        """Return the commands sorted by name."""
        commands = self._commands
        return [commands[name].summary for name in sorted(commands)]

    def get(self, name: str) -> Command:
        """Return the command of this name, a leading slash ignored. Raises ConfigError."""
        name = name.removeprefix("/")
        commands = self._commands
        command = commands.get(name)
        if command is None and name in self._ignored:
            raise ConfigError(self._ignored[name])
        if command is None:
            raise ConfigError(f"Unknown command {name!r}. Commands: {', '.join(sorted(commands))}")
        return command


def collect_commands(config: LoadedConfig, skills: Skills) -> Commands:
    """Return the commands of a folder with these settings and skills."""
    found = {name: _built_in(name) for name in _BUILT_IN}
    entries: Mapping[str, Mapping[str, Any]] = config.effective.get("command") or {}
    for name, entry in entries.items():
        found[name] = Command(_summary(name, entry), is_own=_is_own(name, config))
    for skill in skills.all():
        found.setdefault(skill.name, _of_skill(skill))
    ignored = {notice.key.removeprefix(_KEY): str(notice) for notice in config.ignored if notice.key.startswith(_KEY)}
    return Commands(found, ignored)


def _built_in(name: str) -> Command:
    description, subtask = _BUILT_IN[name]
    template = (Path(__file__).parent / "templates" / f"{name}.md").read_text("utf-8").strip()
    summary = _summary(name, {"description": description, "subtask": subtask, "template": template})
    return Command(summary.changed(built_in=True), is_own=True)


def _summary(name: str, entry: Mapping[str, Any]) -> CommandSummary:
    template = str(entry.get("template") or "")
    return CommandSummary.trusted(
        name=name,
        description=entry.get("description"),
        agent=entry.get("agent"),
        model=entry.get("model"),
        template=template,
        subtask=entry.get("subtask"),
        hints=hints(template),
    )


def _of_skill(skill: Skill) -> Command:
    summary = CommandSummary(name=skill.name, description=skill.description, source="skill", template="")
    return Command(summary, is_own=False, skill=skill)


def _of_prompt(name: str, prompt: "McpPrompt") -> Command:
    placeholders = [f"${number}" for number, _ in enumerate(prompt.arguments, start=1)]
    described = _describe_prompt(prompt)
    summary = CommandSummary(name=name, description=described, source="mcp", template="", hints=placeholders)
    return Command(summary, is_own=False, prompt=prompt)


def _describe_prompt(prompt: "McpPrompt") -> str:
    """Return what a prompt is for, with the names of its arguments."""
    names = " ".join(f"<{one.name}>" if one.required else f"[{one.name}]" for one in prompt.arguments)
    return " ".join(filter(None, [prompt.description, names]))


def prompt_arguments(prompt: "McpPrompt", arguments: str) -> dict[str, str]:
    """Return the arguments of a prompt by name: a word for each in order, the last one gets the rest. Raises ConfigError."""
    words, names = split_words(arguments), [one.name for one in prompt.arguments]
    if names and len(words) > len(names):
        words[len(names) - 1 :] = [" ".join(words[len(names) - 1 :])]
    given = dict(zip(names, words, strict=False))
    missing = [one.name for one in prompt.arguments if one.required and one.name not in given]
    if missing:
        raise ConfigError(f"the prompt {prompt.name} of the MCP server {prompt.server} needs {' and '.join(missing)}")
    return given


def _is_own(name: str, config: LoadedConfig) -> bool:
    """Return whether the command's template is not from a file of the repository, and not of an installed plugin."""
    source = config.sources.get(f"command.{name}.template", "")
    return not source.startswith((f"{config.worktree}/", PLUGIN_SOURCE))
