"""Hooks that are shell commands: the setting `hooks`, in Claude Code's format.

A command gets the event as JSON on its standard input and runs as the user, outside the sandbox, in the folder. Exit code 2, or
JSON on its standard output that says so, blocks a tool call or a prompt, or asks the user about a call; any other failure is
reported and has no effect.
"""

import asyncio
import codecs
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
from opencode_tui.engine.project.programs import LateError, OutputLimitError, Program, Ran, run_program
from opencode_tui.programs import safe_environ
from opencode_tui.schema.api.catalog import Notification
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.json_text import decode_foreign
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.setting_defaults import HOOK_S, STATUS_COMMAND_S
from opencode_tui.schema.tools import row_of

SPARE_S = 5.0
"""Seconds after its time limit in which a command and what it started are ended."""

BLOCKS = 2
"""The exit code that blocks. Source: https://docs.claude.com/en/docs/claude-code/hooks."""

MAX_TEXT = 100_000
"""Characters of a command's text that are used."""

_ALSO = {"apply_patch": ("Edit", "Write"), "multiedit": ("Edit",)}
"""Names of Claude Code by which matchers also mean tools that it does not have, as in Codex (`HookToolName::apply_patch`, 0.6)."""

_NAMES = re.compile(r"[\w|, -]+", re.ASCII)
"""A matcher that lists names; any other is a regular expression."""

logger = logging.getLogger(__name__)


class HookError(Exception):
    """A command failed; the text is its reason."""


class _Outcome(Struct, frozen=True):
    """What a command said: why it blocks, why the user must be asked, text for the model, and another input of the call."""

    block: str = ""
    ask: str = ""
    context: str = ""
    input: JsonObject | None = None


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
        runs_commands=lambda name, given: any(made.chosen(event, *_names_of(given)) for event in table[name][0]),
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

    def chosen(self, trigger: HookTrigger, *names: str) -> list[CommandHook]:
        """Return the commands for an event, of a tool by all its names; without a name of all groups."""
        return [one for group in self._triggers.get(trigger, ()) if _matches(group, names) for one in group.hooks]

    async def before_tool(self, given: JsonObject, output: JsonObject) -> None:
        """Block a call, change its input, or let the user be asked about it. Raises HookBlocked."""
        facts = {"tool_name": _tool_name(given), "tool_input": with_snake_names(output["args"])}
        said = await self._run("PreToolUse", given["sessionID"], facts, names=_names_of(given))
        if said.ask:
            output["ask"] = said.ask
        if said.input is not None:
            output["args"] = _with_own_names(said.input, output["args"], is_ours=bool(row_of(given["tool"]).claude))

    async def after_tool(self, given: JsonObject, output: JsonObject) -> None:
        """Append what the commands say to the output that the model reads."""
        facts = {
            "tool_name": _tool_name(given),
            "tool_input": with_snake_names(given["args"]),
            "tool_response": {"title": output["title"], "output": output["output"], "metadata": output["metadata"]},
        }
        try:
            context = (await self._run("PostToolUse", given["sessionID"], facts, names=_names_of(given))).context
        except HookBlocked as blocked:  # the call has run: its reason is feedback
            context = str(blocked)
        if context:
            output["output"] = f"{output['output']}\n\n<system-reminder>\n{context}\n</system-reminder>"

    async def on_prompt(self, given: JsonObject, output: JsonObject) -> None:
        """Block a prompt, or add a text for the model to it. Raises HookBlocked."""
        text = "\n".join(one["text"] for one in output["parts"] if one["type"] == "text" and not one.get("synthetic"))
        said = await self._run("UserPromptSubmit", given["sessionID"], {"prompt": text}, is_context=True)
        if context := said.context:
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
        said = await self._run("PreCompact", given["sessionID"], {"trigger": "auto"}, is_context=True)
        output["context"] += [said.context] if said.context else []

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
        self,
        trigger: HookTrigger,
        session_id: Any,
        facts: JsonObject,
        *,
        names: Sequence[str] = (),
        is_context: bool = False,
    ) -> _Outcome:
        """Run the matching commands and return what they said together. Raises HookBlocked, HookError."""
        chosen = self.chosen(trigger, *names)
        if not chosen:
            return _Outcome()
        given = {"session_id": session_id, "cwd": str(self._folder), "hook_event_name": trigger, **facts}
        data = json.dumps(given, ensure_ascii=False).encode("utf-8", "surrogateescape")
        results = await asyncio.gather(*(self._start(one, data, is_context) for one in chosen), return_exceptions=True)
        said = [one for one in results if isinstance(one, _Outcome)]
        if blocked := [one.block for one in said if one.block]:
            raise HookBlocked("\n".join(blocked))
        ask = "\n".join(one.ask for one in said if one.ask)
        for error in results:
            if isinstance(error, BaseException) and not ask:  # the question of another command counts
                raise error
        changed = [one.input for one in said if one.input is not None]
        context = "\n".join(one.context for one in said if one.context)
        return _Outcome(ask=ask, context=context, input=changed[-1] if changed else None)

    async def _start(self, hook: CommandHook, data: bytes, is_context: bool) -> _Outcome:
        limit = hook.timeout or HOOK_S
        environ = {**self._environ, **(hook.environment or {})}
        ran = await _run_bytes(hook.command, data, folder=self._folder, environ=environ, limit_s=limit)
        return _outcome(hook, ran, is_context=is_context)


async def _run_shell(
    command: str, data: bytes, *, folder: Path, environ: Mapping[str, str], limit_s: float
) -> tuple[int, str, str]:
    """Return the exit code and both outputs of a command. Raises HookError after `limit_s` seconds, when it is killed."""
    ran = await _run_bytes(command, data, folder=folder, environ=environ, limit_s=limit_s)
    return ran.code, _text(ran.output), _text(ran.errors)


async def _run_bytes(command: str, data: bytes, *, folder: Path, environ: Mapping[str, str], limit_s: float) -> Ran:
    """Return how a command ended. Raises HookError after `limit_s` seconds, when it is killed.

    One that has blocked counts at once, also if what it has started holds its outputs open until then.
    """
    try:
        given = safe_environ(environ, folder)
        return await run_program(Program(("/bin/sh", "-c", command), folder, given), data, limit_s=limit_s)
    except LateError as late:
        if late.ran.code == BLOCKS:
            return late.ran
        raise HookError(f"`{command}` took longer than {limit_s:g} s") from None
    except OutputLimitError as error:
        raise HookError(f"`{command}`: {error}") from None


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


def _outcome(hook: CommandHook, ran: Ran, *, is_context: bool) -> _Outcome:
    """Return what a command said by its exit code and its whole output. Raises HookError."""
    err = _text(ran.errors)
    if ran.code == BLOCKS:
        return _Outcome(block=err or _text(ran.output) or f"`{hook.command}` blocked this")
    if ran.code != 0:
        raise HookError(f"`{hook.command}` failed with exit code {ran.code}{f': {err[:200]}' if err else ''}")
    data = ran.output.removeprefix(codecs.BOM_UTF8).strip()
    try:
        answer: Any = decode_foreign(data) if data.startswith(b"{") else None
    except ValueError as error:
        if not is_context:
            raise HookError(f"`{hook.command}` wrote JSON that cannot be read: {error}") from None
        answer = None
    if not isinstance(answer, dict):
        return _Outcome(context=_text(ran.output) if is_context else "")
    said = cast("JsonObject", answer)
    own: Any = said.get("hookSpecificOutput")
    specific = cast("JsonObject", own) if isinstance(own, dict) else {}
    reason = str(specific.get("permissionDecisionReason") or said.get("reason") or said.get("stopReason") or "")
    decision = specific.get("permissionDecision")
    if said.get("decision") == "block" or decision == "deny" or said.get("continue") is False:
        return _Outcome(block=reason[:MAX_TEXT] or f"`{hook.command}` blocked this")
    asks, changed = decision == "ask", specific.get("updatedInput")
    return _Outcome(
        ask=(reason[:MAX_TEXT] or f"`{hook.command}` wants your approval") if asks else "",
        context=str(specific.get("additionalContext") or "")[:MAX_TEXT],
        input=cast("JsonObject", changed) if isinstance(changed, dict) else None,
    )


def _matches(group: HookGroup, names: Sequence[str]) -> bool:
    """Return whether a group is for a tool of one of these names.

    Its matcher lists names, or it is a regular expression that is searched for in a name.
    """
    matcher = group.matcher
    if not names or matcher in (None, "", "*"):
        return True
    if _NAMES.fullmatch(matcher):
        return not {one.strip() for one in re.split("[|,]", matcher)}.isdisjoint(names)
    return any(re.search(matcher, name) for name in names)


def _tool_name(given: JsonObject) -> str:
    """Return the name by which Claude Code knows the tool of a call; one that it does not have keeps its own."""
    return given.get("claudeName") or row_of(given["tool"]).claude or given["tool"]


def with_snake_names(arguments: JsonObject) -> JsonObject:
    """Return the input of a call, with Claude Code's names (`file_path`) next to ours (`filePath`)."""
    return {**{_snake(name): value for name, value in arguments.items()}, **arguments}


def _with_own_names(changed: JsonObject, before: JsonObject, *, is_ours: bool) -> JsonObject:
    """Return the input that a command puts in the place of another, by our names.

    It got both names of each value, so of two values that it returns the changed one counts. What it leaves out is left out.
    `is_ours`: a name that was not there may be one of Claude Code.
    """
    found: JsonObject = {}
    for name, value in before.items():
        if given := [changed[one] for one in (name, _snake(name)) if one in changed]:
            found[name] = next((one for one in given if one != value), value)
    known = {*before, *map(_snake, before)}
    for name, value in changed.items():
        if name not in known:
            found[re.sub(r"_([a-z])", lambda match: match[1].upper(), name) if is_ours else name] = value
    return found


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _names_of(given: JsonObject) -> tuple[str, ...]:
    """Return all names by which a matcher may mean the tool of a call."""
    return (given["tool"], _tool_name(given), *_ALSO.get(given["tool"], ()))


def _text(data: bytes) -> str:
    return data[: 4 * MAX_TEXT].decode("utf-8", "replace").strip()[:MAX_TEXT]
