"""Hooks that are shell commands: the setting `hooks`, in Claude Code's format.

A command gets the event as JSON on its standard input and runs as the user, outside the sandbox, in the folder. Exit code 2, or
JSON on its standard output that says so, blocks a tool call or a prompt; any other failure is reported and has no effect.
"""

import asyncio
import json
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config.settings.settings import CommandHook, HookGroup, HookTrigger, StatusLineSettings
from opencode_tui.engine.plugin.hooks import OF_SETTINGS, Hook, HookBlocked, HookName, PluginHooks
from opencode_tui.engine.project.programs import OutputLimitError, Program, run_program
from opencode_tui.programs import safe_environ
from opencode_tui.schema.api.catalog import Notification
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.setting_defaults import HOOK_S, STATUS_COMMAND_S
from opencode_tui.schema.tools import row_of

SPARE_S = 5.0
"""Seconds after its time limit in which a command and what it started are ended."""

BLOCKS = 2
"""The exit code that blocks. Source: https://docs.claude.com/en/docs/claude-code/hooks."""

MAX_OUTPUT = 100_000
"""Bytes of a command's output that are used."""

logger = logging.getLogger(__name__)


class HookError(Exception):
    """A command failed; the text is its reason."""


class _Outcome(Struct, frozen=True):
    """What a command said: why it blocks, and text for the model; empty for nothing."""

    block: str = ""
    context: str = ""


def command_hooks(
    triggers: Mapping[HookTrigger, Sequence[HookGroup]], *, folder: Path, environ: Mapping[str, str], ids: Identifier
) -> PluginHooks:
    """Return the hooks of the settings as those of a plugin."""
    made = CommandHooks(triggers, folder=folder, environ=environ, ids=ids)
    table: Mapping[HookName, tuple[Sequence[HookTrigger], Hook]] = {
        "tool.execute.before": (("PreToolUse",), made.before_tool),
        "tool.execute.after": (("PostToolUse",), made.after_tool),
        "chat.message": (("UserPromptSubmit",), made.on_prompt),
        "experimental.session.compacting": (("PreCompact",), made.before_compaction),
        "event": (("Stop", "SessionStart", "Notification"), made.on_event),
    }
    hooks = {name: hook for name, (events, hook) in table.items() if any(triggers.get(event) for event in events)}
    longest = max((one.timeout or HOOK_S for groups in triggers.values() for g in groups for one in g.hooks), default=0)
    return PluginHooks(
        OF_SETTINGS,
        cast("Mapping[str, Hook]", hooks),
        limit_s=longest,
        spare_s=SPARE_S,
        runs_commands=lambda name, tool: any(made.chosen(event, tool) for event in table[name][0]),
    )


class CommandHooks:
    """Runs the commands of an event side by side."""

    def __init__(
        self,
        triggers: Mapping[HookTrigger, Sequence[HookGroup]],
        *,
        folder: Path,
        environ: Mapping[str, str],
        ids: Identifier,
    ) -> None:
        self._triggers = triggers
        self._folder = folder
        self._environ = {**environ, "CLAUDE_PROJECT_DIR": str(folder), "OPENCODE_PROJECT_DIR": str(folder)}
        self._ids = ids

    def chosen(self, trigger: HookTrigger, tool: str = "") -> list[CommandHook]:
        """Return the commands for an event; without a tool of all groups."""
        return [one for group in self._triggers.get(trigger, ()) if _matches(group, tool) for one in group.hooks]

    async def before_tool(self, given: JsonObject, output: JsonObject) -> None:
        """Block a call. Raises HookBlocked."""
        facts = {"tool_name": _tool_name(given["tool"]), "tool_input": with_snake_names(output["args"])}
        await self._run("PreToolUse", given["sessionID"], facts, tool=given["tool"])

    async def after_tool(self, given: JsonObject, output: JsonObject) -> None:
        """Append what the commands say to the output that the model reads."""
        facts = {
            "tool_name": _tool_name(given["tool"]),
            "tool_input": with_snake_names(given["args"]),
            "tool_response": {"title": output["title"], "output": output["output"], "metadata": output["metadata"]},
        }
        try:
            context = await self._run("PostToolUse", given["sessionID"], facts, tool=given["tool"])
        except HookBlocked as blocked:  # the call has run: its reason is feedback
            context = str(blocked)
        if context:
            output["output"] = f"{output['output']}\n\n<system-reminder>\n{context}\n</system-reminder>"

    async def on_prompt(self, given: JsonObject, output: JsonObject) -> None:
        """Block a prompt, or add a text for the model to it. Raises HookBlocked."""
        text = "\n".join(one["text"] for one in output["parts"] if one["type"] == "text" and not one.get("synthetic"))
        context = await self._run("UserPromptSubmit", given["sessionID"], {"prompt": text}, is_context=True)
        if context:
            part = {
                "id": self._ids.ascending("prt"),
                "sessionID": given["sessionID"],
                "messageID": given["messageID"],
                "type": "text",
                "text": f"<system-reminder>\n{context}\n</system-reminder>",
                "synthetic": True,
            }
            output["parts"].append(part)

    async def before_compaction(self, given: JsonObject, output: JsonObject) -> None:
        """Add a text to the request for a summary."""
        context = await self._run("PreCompact", given["sessionID"], {"trigger": "auto"}, is_context=True)
        output["context"] += [context] if context else []

    async def on_event(self, given: JsonObject, _output: JsonObject) -> None:
        """Run the commands for the end of a turn, a new session, or a question to the user."""
        event = cast("JsonObject", given["event"])
        properties = cast("JsonObject", event.get("properties") or {})
        with suppress(HookBlocked):  # nothing that could be blocked
            match event.get("type"):
                case "session.idle":
                    await self._run("Stop", properties.get("sessionID"), {"stop_hook_active": False})
                case "session.created":
                    await self._run("SessionStart", properties.get("info", {}).get("id"), {"source": "startup"})
                case "permission.asked" | "question.asked":
                    message = "The agent is waiting for your answer"
                    await self._run("Notification", properties.get("sessionID"), {"message": message})
                case _:
                    pass

    async def _run(
        self, trigger: HookTrigger, session_id: Any, facts: JsonObject, *, tool: str = "", is_context: bool = False
    ) -> str:
        """Run the matching commands and return their texts for the model. Raises HookBlocked, HookError."""
        chosen = self.chosen(trigger, tool)
        if not chosen:
            return ""
        given = {"session_id": session_id, "cwd": str(self._folder), "hook_event_name": trigger, **facts}
        data = json.dumps(given, ensure_ascii=False).encode("utf-8", "surrogateescape")
        results = await asyncio.gather(*(self._start(one, data, is_context) for one in chosen), return_exceptions=True)
        said = [one for one in results if isinstance(one, _Outcome)]
        if blocked := [one.block for one in said if one.block]:
            raise HookBlocked("\n".join(blocked))
        for error in results:
            if isinstance(error, BaseException):
                raise error
        return "\n".join(one.context for one in said if one.context)

    async def _start(self, hook: CommandHook, data: bytes, is_context: bool) -> _Outcome:
        limit = hook.timeout or HOOK_S
        environ = {**self._environ, **(hook.environment or {})}
        code, out, err = await _run_shell(hook.command, data, folder=self._folder, environ=environ, limit_s=limit)
        return _outcome(hook, code, out, err, is_context=is_context)


async def _run_shell(
    command: str, data: bytes, *, folder: Path, environ: Mapping[str, str], limit_s: float
) -> tuple[int, str, str]:
    """Return the exit code and both outputs of a command. Raises HookError after `limit_s` seconds, when it is killed."""
    try:
        given = safe_environ(environ, folder)
        ran = await run_program(Program(("/bin/sh", "-c", command), folder, given), data, limit_s=limit_s)
    except TimeoutError:
        raise HookError(f"`{command}` took longer than {limit_s:g} s") from None
    except OutputLimitError as error:
        raise HookError(f"`{command}`: {error}") from None
    return ran.code, _text(ran.output), _text(ran.errors)


async def run_status_command(
    settings: StatusLineSettings, facts: JsonObject, *, folder: Path, environ: Mapping[str, str]
) -> str:
    """Return the first line that the command of the status line prints, not made safe; empty without a command.

    It gets the facts as JSON on its standard input, and runs as the user, outside the sandbox. Raises OpencodeError.
    """
    if settings.command is None:
        return ""
    data = json.dumps({"cwd": str(folder), **facts}, ensure_ascii=False).encode("utf-8", "surrogateescape")
    limit = settings.timeout or STATUS_COMMAND_S
    try:
        code, out, err = await _run_shell(settings.command, data, folder=folder, environ=environ, limit_s=limit)
    except HookError as error:
        raise OpencodeError(f"status line: {error}") from error
    if code:
        raise OpencodeError(
            f"status line: `{settings.command}` failed with exit code {code}{f': {err[:200]}' if err else ''}"
        )
    return out.partition("\n")[0].rstrip()


NOTIFY_TIMEOUT_S = 10.0
"""Seconds that the command of `tui.notify` has."""

MESSAGE = "OPENCODE_TUI_MESSAGE"
"""The variable with the text of a notification."""


async def run_notify_command(command: str, facts: Notification, *, folder: Path, environ: Mapping[str, str]) -> None:
    """Run the command of `tui.notify` as the user, outside the sandbox. Its text is a variable and JSON, never part of the command.

    Raises OpencodeError when it fails or takes too long.
    """
    data = json.dumps({"cwd": str(folder), **facts.to_dict()}, ensure_ascii=False).encode("utf-8", "surrogateescape")
    given = {**environ, MESSAGE: facts.message.replace("\0", "")}
    try:
        code, _, err = await _run_shell(command, data, folder=folder, environ=given, limit_s=NOTIFY_TIMEOUT_S)
    except HookError as error:
        raise OpencodeError(f"tui.notify: {error}") from error
    if code:
        raise OpencodeError(f"tui.notify: `{command}` failed with exit code {code}{f': {err[:200]}' if err else ''}")


def _outcome(hook: CommandHook, code: int, out: str, err: str, *, is_context: bool) -> _Outcome:
    """Return what a command said by its exit code and its output. Raises HookError."""
    if code == BLOCKS:
        return _Outcome(block=err or out or f"`{hook.command}` blocked this")
    if code != 0:
        raise HookError(f"`{hook.command}` failed with exit code {code}{f': {err[:200]}' if err else ''}")
    try:
        answer: Any = load_json(out) if out.startswith("{") else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return _Outcome(context=out if is_context else "")
    said = cast("JsonObject", answer)
    specific = cast("JsonObject", said.get("hookSpecificOutput") or {})
    reason = str(specific.get("permissionDecisionReason") or said.get("reason") or said.get("stopReason") or "")
    is_blocked = (
        said.get("decision") == "block" or specific.get("permissionDecision") == "deny" or said.get("continue") is False
    )
    if is_blocked:
        return _Outcome(block=reason or f"`{hook.command}` blocked this")
    return _Outcome(context=str(specific.get("additionalContext") or ""))


def _matches(group: HookGroup, tool: str) -> bool:
    """Return whether a group is for a tool; its matcher is a regular expression for the whole name, or `*`."""
    if not tool or group.matcher in (None, "", "*"):
        return True
    return any(re.fullmatch(group.matcher or "", name) for name in (tool, _tool_name(tool)))


def _tool_name(tool: str) -> str:
    return row_of(tool).claude or tool


def with_snake_names(arguments: JsonObject) -> JsonObject:
    """Return the input of a call, with Claude Code's names (`file_path`) next to ours (`filePath`)."""
    other = {re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower(): value for name, value in arguments.items()}
    return {**other, **arguments}


def _text(data: bytes) -> str:
    return data[:MAX_OUTPUT].decode("utf-8", "replace").strip()
