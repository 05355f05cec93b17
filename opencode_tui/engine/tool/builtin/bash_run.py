"""The run of a command that may run: in the sandbox or on the host, again on the host after a refusal, protected files undone.

Source: docs/internals/sandbox.md#where-commands-run.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.permission.command_decision import CommandPlan
from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.sandbox.refusal import Refusal, find_refusal
from opencode_tui.engine.tool.process.process import Command, Ended
from opencode_tui.engine.tool.process.running_command import CommandOutput
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.programs import safe_environ
from opencode_tui.schema.api.limit import ReachedLimit
from opencode_tui.schema.error import OpencodeError, PermissionRefused, RejectedError, ToolError, with_feedback
from opencode_tui.schema.session.sandbox import KEY, ProtectedChange, RefusedAccess, SandboxFacts
from opencode_tui.schema.system_error import describe

if TYPE_CHECKING:
    from opencode_tui.engine.sandbox.changes import Change
    from opencode_tui.engine.sandbox.sandbox import Confined, Sandbox
    from opencode_tui.engine.snapshot.scan.lost_files import LostPath
    from opencode_tui.engine.tool.process.background import BackgroundJob

logger = logging.getLogger(__name__)

_NOT_FOUND = 127
"""The shell's exit code for a program that it does not find."""
_WITHOUT_PROJECT = "PATH had no folder of the project, because this ran outside the sandbox."

MAX_TIMEOUT_MS = 600_000


class Ran(Struct, frozen=True):
    """How a command ended, its output, where it ran (for the screen), and lines for the model."""

    ended: Ended
    output: CommandOutput
    sandbox: SandboxFacts
    messages: Sequence[str] = ()

    def lines(self, timeout_ms: int) -> list[str]:
        """Return lines for the model in addition to the output: how the command ended, then the messages."""
        ended = self.ended
        messages: list[str] = []
        if ended.limit is not None:
            messages.append(_limit_message(ended.limit))
        elif ended.reason == "timeout":
            messages.append(
                f"Stopped after its timeout of {timeout_ms} ms; give a longer one if it needs it (at most {MAX_TIMEOUT_MS}), "
                "or run a server or watcher with background."
            )
        elif ended.exit_code:
            messages.append(f"Exit code {ended.exit_code}.")
        if ended.leftovers:
            named = [name for name in ended.leftovers if name]  # some end before their name can be read
            listed = ", ".join(named[:5]) + (", …" if len(ended.leftovers) > 5 else "")
            messages.append(f"Stopped what was still running when the command ended ({len(ended.leftovers)}): {listed}")
        return [*messages, *self.messages]


def _limit_message(limit: ReachedLimit) -> str:
    words = limit.words[0].upper() + limit.words[1:]
    if limit.kind == "disk":
        return f"{words}; remove what is not needed, or write less."
    setting = "processes" if limit.kind in ("threads", "sessions") else limit.kind
    return f"{words}; let it use less. Only the user can raise the limit (the setting experimental.sandbox.{setting})."


class CommandRun(Struct, frozen=True):
    """Runs one command as its plan says; one in the background is not run again after a refusal.

    `follow` runs the command to its end while its output shows. `lost` is what it is about to discard, which is kept before.
    """

    command: Command
    plan: CommandPlan
    sandbox: "Sandbox | None"
    make_output: Callable[[], CommandOutput]
    follow: Callable[[Command, CommandOutput], Awaitable[Ended]]
    context: ToolContext
    job: "BackgroundJob | None" = None
    lost: "Sequence[LostPath]" = ()

    async def run(self) -> Ran:
        """Run the command and return the result of its last run. Raises ToolError when it cannot be started."""
        confined = await self._confine() if self.plan.runs == "sandbox" else None
        if confined is None or self.sandbox is None:
            return await self._run_on_host(SandboxFacts(runs="host", tier=self.plan.tier))
        return await self._run_confined(confined, self.sandbox, confined.messages)

    async def in_background(self, job: "BackgroundJob", context: ToolContext) -> Sequence[str]:
        """Run the command as a job in the background, in the context for that, and return lines for the model."""
        run = replace(self, make_output=lambda: job.output, follow=job.follow, context=context, job=job)
        return (await run.run()).lines(self.command.timeout_ms)

    async def _confine(self) -> "Confined | None":
        if self.sandbox is None:
            return None
        command = self.command
        try:
            return await self.sandbox.confine(
                [command.shell, "-c", "--", command.text],
                session_id=self.context.session_id,
                folder=command.folder,
                environ=command.environ,
                read_only=self.plan.read_only,
            )
        except OSError as error:
            raise ToolError(f"the sandbox could not be prepared: {describe(error)}") from error

    async def _run_on_host(self, facts: SandboxFacts, messages: Sequence[str] = ()) -> Ran:
        """Run on the host. Where a sandbox works, a line of known programs finds none that a command may have written."""
        command, output = self.command, self.make_output()
        if self.plan.is_known and self.plan.tier != "none":
            environ = await asyncio.to_thread(safe_environ, command.environ, command.folder)
            command = replace(command, environ=environ)
        with self._alone():
            async with self.context.commands(self.lost):
                ended = await self.follow(command, output)
        if ended.exit_code == _NOT_FOUND and command is not self.command:
            messages = [*messages, _WITHOUT_PROJECT]
        return Ran(ended, output, facts, messages)

    def _alone(self) -> AbstractContextManager[None]:
        """Return the context in which no confined command may exchange the files that this one names outside.

        Raises ToolError where one has started since this was decided. In the background it would keep others from starting.
        """
        if self.sandbox is None or not self.plan.names_files or self.job is not None:
            return nullcontext()
        if self.sandbox.is_shared and not self.plan.is_shared:
            raise ToolError(
                "another command has started that could exchange the files which this one names; run it again"
            )
        return self.sandbox.outside()

    async def _run_confined(self, confined: "Confined", sandbox: "Sandbox", messages: Sequence[str] = ()) -> Ran:
        output = self.make_output()
        facts = SandboxFacts(runs="sandbox", tier=confined.tier)
        try:
            async with sandbox.shared(), self.context.commands(self.lost):
                ended = await self.follow(replace(self.command, launch=confined.launch), output)
            changes = await sandbox.changes(confined)
            messages = [*messages, *await asyncio.to_thread(sandbox.new_messages)]
            if files := {_relative(change, self.context): change for change in changes}:
                protected = [ProtectedChange(path=path, change=change.kind) for path, change in files.items()]
                facts = facts.changed(protected=protected)
                undone, lines = await self._undo_unless_approved(files, confined.tier, sandbox)
                facts, messages = facts.changed(undone=undone), [*messages, *lines]
        except BaseException:  # whatever failed, no one has approved these
            await run_to_completion(self._undo_changes(confined, sandbox, facts))
            raise
        refusal = await asyncio.to_thread(_find_refusal, confined, ended, output)
        if refusal is None:
            return Ran(ended, output, facts, messages)
        refused = RefusedAccess(what=refusal.what, path=refusal.path, host=refusal.host)
        facts = facts.changed(refused=refused)
        if self.job is not None:
            return Ran(ended, output, facts, [*messages, f"Blocked by the sandbox, probably: {refusal.what}"])
        host = await self._allowable_host(refusal, sandbox)
        outside = None if self.plan.outside is None else self.plan.outside(sandbox.is_shared)
        is_inside, reason = False, "" if outside is not None else "This agent may not leave it."
        try:
            if outside is not None:
                is_inside = await self._ask_to_leave(outside, refusal, confined.tier, host)
        except RejectedError as error:
            reason = with_feedback("The user chose not to run it outside", error.feedback)
        except PermissionRefused as error:
            reason = f"{error}."
            facts = facts.changed(refused=refused.changed(reason=reason))
        if outside is None or reason:
            return Ran(ended, output, facts, [*messages, f"Blocked by the sandbox, probably: {refusal.what} {reason}"])
        is_inside = is_inside or bool(host and await sandbox.allows(host))
        if is_inside and (again := await self._confine()) is not None:
            said = [*messages, *again.messages, f"Ran again after the user allowed {host}."]
            return await self._run_confined(again, sandbox, said)
        left = replace(self, plan=outside)
        return await left._run_on_host(facts.changed(runs="host"), [*messages, "Ran again outside the sandbox."])

    async def _allowable_host(self, refusal: Refusal, sandbox: "Sandbox") -> str:
        """Return the refused host if the sandbox could let the command reach it, else nothing."""
        if refusal.host is None or await sandbox.no_hosts() or await sandbox.allows(refusal.host):
            return ""
        return refusal.host

    async def _ask_to_leave(self, outside: CommandPlan, refusal: Refusal, tier: str, host: str) -> bool:
        """Ask to run the command again on the host, or to allow a host; return whether only the host was allowed.

        Raises PermissionRefused when it may not run again, or could not be asked.
        """
        facts = self._facts("refused", tier, [refusal.what, *outside.reasons]).changed(
            path=refusal.path, host=refusal.host, allows=host or None
        )
        return await self.context.ask.query(replace(outside.query, metadata={KEY: facts.to_dict()}, is_optional=True))

    async def _undo_unless_approved(
        self, files: Mapping[str, "Change"], tier: str, sandbox: "Sandbox"
    ) -> tuple[list[str] | None, list[str]]:
        """Ask to keep the protected files that the command wrote.

        Return those whose changes were undone, None after an approval, and lines for the model.
        """
        reasons = [_protected_reason(path, change) for path, change in files.items()]
        facts = self._facts("protected", tier, reasons).changed(files=list(files))
        question = Query(
            session_id="",
            permission="edit",
            patterns=list(files),
            must_ask=list(files),
            metadata={KEY: facts.to_dict()},
            is_optional=True,
        )
        try:
            await self.context.ask.query(question)
        except PermissionRefused:
            failed = await self._undo_refused(sandbox, [change.path for change in files.values()])
            undone = [path for path, change in files.items() if change.path not in failed]
            kept = [f"{path} ({failed[change.path]})" for path, change in files.items() if change.path in failed]
            left = f" Could not undo: {', '.join(kept)}." if kept else ""
            mixed = [path for path in undone if files[path].is_mixed]
            left += f" What they held is kept beside, as NAME.not-approved: {', '.join(mixed)}." if mixed else ""
            text = f"Undid changes of protected files that were not approved: {', '.join(undone) or 'none'}.{left}"
            return undone, [text]
        return None, []

    async def _undo_refused(self, sandbox: "Sandbox", paths: Sequence[Path]) -> dict[Path, str]:
        """Take changes back that were refused, also where that cannot be recorded for undo. Returns what failed."""
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self.context.commands())
            except (OpencodeError, OSError) as error:
                logger.warning("undo will not know that refused changes were taken back: %s", error)
            return await sandbox.remove(paths)

    async def _undo_changes(self, confined: "Confined", sandbox: "Sandbox", facts: SandboxFacts) -> None:
        """Undo the changes of protected files that no one could decide on; what they replace is kept."""
        changes = await sandbox.changes(confined)
        if not changes:
            return
        failed = await sandbox.remove([change.path for change in changes], keeps_copies=True)
        undone = [_relative(change, self.context) for change in changes if change.path not in failed]
        logger.warning(
            "changes of protected files were undone, because %r ended before they were approved; a new content is kept as "
            "NAME.not-approved: %s",
            self.command.text,
            ", ".join(undone) or "none",
        )
        self.context.progress(None, {KEY: facts.changed(undone=undone).to_dict()})
        if self.job is not None:
            self.job.report_undone(undone)

    def _facts(self, kind: str, tier: str, reasons: list[str]) -> SandboxFacts:
        return SandboxFacts(kind=kind, runs="host", tier=tier, reasons=reasons, folder=str(self.command.folder))


def _protected_reason(path: str, change: "Change") -> str:
    if change.is_mixed:
        return f"{path} was replaced from outside while the command ran, which could change it then."
    return f"The command {change.kind} {path}{f', {change.what}' if change.what else ''}."


def _find_refusal(confined: "Confined", ended: Ended, output: CommandOutput) -> Refusal | None:
    excerpt = output.excerpt(is_final=True)
    text = f"{excerpt.head}\n{excerpt.tail}"
    refused = confined.access.refused if confined.access is not None else ()
    return find_refusal(confined.tier, ended.exit_code, text, confined.policy, refused_hosts=refused)


def _relative(change: "Change", context: ToolContext) -> str:
    return os.path.relpath(change.path, os.path.realpath(context.worktree))
