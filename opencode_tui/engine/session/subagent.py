"""Subagents: each runs in a child session, under its parent's rules as well as its own.

A child's decision is the most restrictive of its own and its parents', at every depth
(docs/internals/permissions.md#order-of-rules).
Interrupting the parent interrupts the child first. A child may have a worktree of its own (`agent_worktree.py`).
Source: docs/internals/loop.md#subagents.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.bus import Bus
from opencode_tui.cancellation import consume_error, run_to_completion
from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.leaving import Leaving
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.session.agent_tree import AgentTree, AgentTrees
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.sessions import Sessions
from opencode_tui.engine.tool.tool import (
    SubagentBranch,
    SubagentResult,
    SubagentStart,
    SubagentTask,
    ToolContext,
    ToolResult,
)
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import NotFoundError, OpencodeError, ToolError
from opencode_tui.schema.event.event import PartUpdated
from opencode_tui.schema.ids import is_identifier
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import Rule, Ruleset
from opencode_tui.schema.session.agent_branch import AgentBranch, agent_branch, with_branch
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AgentPart, SubtaskPart, TextPart, ToolPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.stored_error import describe_stored
from opencode_tui.schema.session.tool_state import WORK, ToolStateCompleted, ToolStateError

if TYPE_CHECKING:
    from opencode_tui.engine.session.agent_worktree import AgentWorktree, AgentWorktrees

NOT_FOR_CHILDREN = ("todowrite", "todoread", "task")
"""Tools that subagents do not have: the todo list belongs to the caller, and subagents start no others."""


class Prompter(Protocol):
    """The operations of the prompt loop that a child session needs."""

    async def prompt(self, session_id: str, request: PromptInput, *, policy: Policy | None = None) -> MessageWithParts:
        """Send a request and wait for its answer."""
        ...

    def cancel(self, session_id: str) -> bool:
        """Interrupt a session's run."""
        ...


NO_REPORT = "(the agent ended without a report)"


_SHOWN_DIFF = 8_000
"""Characters of a diff that the model reads with the report; git shows the rest."""

EndCommands = Callable[[], Awaitable[None]]
"""Ends what an agent left running in its worktree; returns when nothing of it runs any more."""

Isolate = Callable[[SessionInfo], "AbstractAsyncContextManager[tuple[Prompter, AgentWorktree, EndCommands]]"]
"""Makes a worktree for a child session, and what runs its turns there; on leaving both are gone. Raises OpencodeError."""


class _Job(Struct, frozen=True):
    """An agent to run: its child session, the request for it, and the agents that the same prompt started."""

    assignment: SubagentTask
    child: SessionInfo
    model: ModelRef
    request: PromptInput
    tree: AgentTree


class SessionSubagents(Struct, frozen=True):
    """Starts subagents for one run; `request` is the user's message, `policy` also answers the children's requests.

    Subagents do not get `primary_tools`.
    """

    prompter: Prompter
    request: MessageWithParts
    policy: Policy
    store: SessionStore
    sessions: Sessions
    agents: AgentRegistry
    bus: Bus
    trees: AgentTrees
    adopt: Callable[[str, str, ToolContext, "asyncio.Task[ToolResult]"], Awaitable[str]]
    """Lets the agent of a session continue in the background under these words, and returns its ID there. Raises ToolError."""
    isolate: Isolate
    worktrees: "Lazy[AgentWorktrees]"
    leaving: Leaving
    """Decides what of an agent's changes the model that started it may read."""
    primary_tools: Sequence[str] = ()

    def available(self, caller: str) -> Sequence[tuple[str, str]]:
        """Return the agents that the caller may start by its rules."""
        agent = self.agents.get(caller)
        rules = agent.permission if agent else []
        return [(one.name, one.description or "") for one in self.agents.subagents(rules)]

    def is_invited(self, agent: str) -> bool:
        """Return whether the request mentions the agent."""
        return any(
            (isinstance(part, AgentPart) and part.name == agent)
            or (isinstance(part, SubtaskPart) and part.agent == agent)
            for part in self.request.parts
        )

    async def run(self, assignment: SubagentTask, context: ToolContext) -> SubagentResult:
        """Run an agent in a child session of the caller's session."""
        job = await self._job(assignment, context)
        context.progress(assignment.description, {"sessionId": job.child.id, "model": str(job.model)})
        return await self._finish(job, context, is_awaited=True)

    async def start(self, assignment: SubagentTask, context: ToolContext) -> SubagentStart:
        """Start an agent in a child session, which continues after the call."""
        job = await self._job(assignment, context)
        after = await self._last_message(job.child.id)

        async def report() -> ToolResult:
            done = await self._finish(job, context, is_awaited=False)
            return ToolResult(title=assignment.description, output=(done.text.strip() or NO_REPORT) + done.changes)

        work = asyncio.create_task(report(), name=f"agent {job.child.id}")
        work.add_done_callback(consume_error)
        try:
            words = f"{assignment.agent}: {assignment.description}"
            adopted = await self.adopt(job.child.id, words, context, work)
        except BaseException:
            work.cancel()
            raise
        return SubagentStart(job.child.id, str(job.model), adopted, _work_between(after))

    async def _job(self, assignment: SubagentTask, context: ToolContext) -> "_Job":
        """Return the child session and the request of an agent. Raises ToolError, also when a limit is reached."""
        agent = self.agents.get(assignment.agent)
        if agent is None:
            raise ToolError(f"there is no agent {assignment.agent!r}")
        tree = self.trees.begin(await self.store.root_of(context.session_id), self.request.info.id)
        tree.admit(await self._depth(context.session_id) + 1)
        child = await self._child(assignment, agent, context)
        model = self._model_of_subtask(assignment) or agent.model or await self._model_of_caller(context)
        request = PromptInput(
            agent=agent.name,
            model=model,
            parts=[TextInput(text=assignment.prompt)],
            tools=dict.fromkeys(self.primary_tools, False) or None,
        )
        return _Job(assignment, child, model, request, tree)

    async def _depth(self, session_id: str) -> int:
        """Return how many sessions are above a session."""
        depth, info = 0, await self.store.get(session_id)
        seen = {info.id}
        while info.parent_id is not None and info.parent_id not in seen:
            try:
                info = await self.store.get(info.parent_id)
            except NotFoundError:
                break
            seen.add(info.id)
            depth += 1
        return depth

    async def _finish(self, job: "_Job", context: ToolContext, *, is_awaited: bool) -> SubagentResult:
        """Run an agent to its end, once fewer than the most work."""
        tools: dict[str, str] = {}
        changes = ""
        async with job.tree.working(job.child.id, context.session_id, is_awaited=is_awaited):
            after = await self._last_message(job.child.id)
            context.progress(job.assignment.description, _work_between(after))
            if agent_branch(job.child) is None:
                answer = await self._work(job, context, tools, self.prompter)
            else:
                answer, changes = await self._work_isolated(job, context, tools)
        info = answer.info
        work = _work_between(after, info.id)
        context.progress(job.assignment.description, work)
        if isinstance(info, AssistantMessage) and info.failure is not None:
            reason = describe_stored(info.failure, info.provider_id, info.model_id)
            raise ToolError(f"agent {job.assignment.agent} (task_id {job.child.id}) failed: {reason}{changes}")
        return SubagentResult(job.child.id, str(job.model), _last_text(answer), tuple(tools.values()), changes, work)

    async def _last_message(self, child_id: str) -> str:
        """Return the id of the last message of an agent's session, empty without any."""
        known = await self.store.tail(child_id, 1)
        return known[-1].info.id if known else ""

    async def hand_over(self, agent: str, text: str) -> None:
        """Store a request for another agent; the run answers it after the present step."""
        request = PromptInput(agent=agent, parts=[TextInput(text=text, synthetic=True)], no_reply=True)
        await self.prompter.prompt(self.request.info.session_id, request, policy=self.policy)

    async def _work_isolated(
        self, job: "_Job", context: ToolContext, tools: dict[str, str]
    ) -> tuple[MessageWithParts, str]:
        """Run an agent in a worktree of its own; return its answer, and what it changed there."""
        child = await self.store.get(
            job.child.id
        )  # another task of it may have ended while this one waited for a place
        try:
            async with self.isolate(child) as (prompter, made, end_commands):
                about = TextInput(text=_describe_worktree(made), synthetic=True)
                request = job.request.changed(parts=[*job.request.parts, about])
                try:
                    answer = await self._work(replace(job, request=request), context, tools, prompter)
                finally:
                    changes = await run_to_completion(self._collect(child, job.assignment, made, end_commands))
                return answer, changes
        except OpencodeError as error:
            if isinstance(error, ToolError):
                raise
            raise ToolError(f"agent {job.assignment.agent} cannot work in a worktree: {error}") from error

    async def _collect(
        self, child: SessionInfo, assignment: SubagentTask, made: "AgentWorktree", end_commands: EndCommands
    ) -> str:
        """Make a branch of what an agent changed in its worktree, also of one that was stopped; return text about it.

        Its commands end before: one could exchange folders with links while they are read.
        """
        await end_commands()
        branch, diff = await made.collect(child, assignment.description)
        await self.store.update(child.id, lambda info: with_branch(info, branch), touch=False)
        return _describe_changes(child.id, branch, await asyncio.to_thread(self.leaving.patch, diff))

    async def changes(self, task_id: str, context: ToolContext) -> SubagentBranch:
        """Return what an agent changed in its worktree. Raises ToolError."""
        branch = agent_branch(await self._earlier(task_id, context))
        if branch is None:
            raise ToolError(f"the task {task_id} had no worktree of its own; its changes are in the files already")
        if not branch.commit:
            raise ToolError(f"the task {task_id} changed nothing")
        if branch.is_applied:
            raise ToolError(f"the changes of the task {task_id} are applied already")
        try:
            return SubagentBranch(branch.branch, await self.worktrees.get().files(branch))
        except OpencodeError as error:
            raise ToolError(f"the changes of the task {task_id} cannot be read: {error}") from error

    async def applied(self, task_id: str) -> None:
        """Record that the session has the changes of an agent."""

        def change(info: SessionInfo) -> SessionInfo:
            branch = agent_branch(info)
            return info if branch is None else with_branch(info, branch.changed(is_applied=True))

        await self.store.update(task_id, change, touch=False)

    async def _work(
        self, job: "_Job", context: ToolContext, tools: dict[str, str], prompter: Prompter
    ) -> MessageWithParts:
        assignment, child = job.assignment, job.child
        follower = asyncio.create_task(self._follow(child, assignment, context, tools))
        work = asyncio.create_task(prompter.prompt(child.id, job.request, policy=self.policy))
        work.add_done_callback(consume_error)
        try:
            await asyncio.wait({work}, timeout=job.tree.seconds_left)
            if not work.done():
                prompter.cancel(child.id)
                await asyncio.wait({work})
                raise ToolError(
                    f"agent {assignment.agent} (task_id {child.id}) was stopped: {job.tree.describe_time()}"
                )
            return work.result()
        except asyncio.CancelledError:
            prompter.cancel(child.id)
            await asyncio.wait({work})
            raise
        except OpencodeError as error:
            raise ToolError(f"agent {assignment.agent} (task_id {child.id}) failed: {error}") from error
        finally:
            follower.cancel()
            await asyncio.wait({follower})

    async def _follow(
        self, child: SessionInfo, assignment: SubagentTask, context: ToolContext, ended: dict[str, str]
    ) -> None:
        """Report the tools that the child has run as the call's progress, and collect them in `ended` by call."""
        with self.bus.subscribe(child.directory) as events:
            async for envelope in events:
                event = envelope.event
                if not isinstance(event, PartUpdated) or event.part.session_id != child.id:
                    continue
                part = event.part
                if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted | ToolStateError):
                    ended[part.call_id] = part.tool
                    context.progress(assignment.description, {"tools": list(ended.values())})

    async def _child(self, assignment: SubagentTask, agent: AgentInfo, context: ToolContext) -> SessionInfo:
        if assignment.task_id:
            return await self._earlier(assignment.task_id, context)
        child = CreateSession(
            parent_id=context.session_id,
            title=f"{assignment.description} (@{agent.name} subagent)",
            permission=_child_rules(agent, self.sessions.project if assignment.is_isolated else None),
        )
        made = self.sessions.new(child)
        return await self.store.create(with_branch(made, AgentBranch(base="")) if assignment.is_isolated else made)

    async def _earlier(self, task_id: str, context: ToolContext) -> SessionInfo:
        if is_identifier(task_id, "ses"):
            try:
                child = await self.store.get(task_id)
            except NotFoundError:
                child = None
            if child is not None and child.parent_id == context.session_id:
                return child
        raise ToolError(f"there is no earlier task {task_id!r} of this session; omit task_id to start a new one")

    def _model_of_subtask(self, assignment: SubagentTask) -> ModelRef | None:
        """Return the model that the request names for this subtask."""
        for part in self.request.parts:
            if isinstance(part, SubtaskPart) and (part.agent, part.prompt) == (assignment.agent, assignment.prompt):
                return part.model
        return None

    async def _model_of_caller(self, context: ToolContext) -> ModelRef:
        for message in await self.store.recent(context.session_id):
            info = message.info
            if info.id == context.message_id and isinstance(info, AssistantMessage):
                return ModelRef(provider_id=info.provider_id, model_id=info.model_id)
        raise ToolError("the calling message no longer exists")


async def parent_layers(session: SessionInfo, *, store: SessionStore, agents: AgentRegistry) -> list[Ruleset]:
    """Return the current rulesets of all ancestors, nearest first; a deleted parent adds nothing."""
    layers: list[Ruleset] = []
    seen = {session.id}
    parent_id = session.parent_id
    while parent_id is not None and parent_id not in seen:
        seen.add(parent_id)
        try:
            parent = await store.get(parent_id)
        except NotFoundError:
            break
        agent = await _agent_at_work(parent, store=store, agents=agents)
        layers.append([*(agent.permission if agent else []), *(parent.permission or [])])
        parent_id = parent.parent_id
    return layers


async def _agent_at_work(session: SessionInfo, *, store: SessionStore, agents: AgentRegistry) -> AgentInfo | None:
    for message in reversed(await store.recent(session.id)):
        if isinstance(message.info, UserMessage):
            return agents.get(message.info.agent)
    return None


def _child_rules(agent: AgentInfo, checkout: Project | None) -> list[Rule]:
    """Return the child session's rules; an agent with own rules for `task` may start agents by these.

    One with a worktree of its own names nothing in the session's `checkout`, neither in a tool nor in a command.
    """
    starts_others = any(rule.permission == "task" for rule in agent.permission)
    names = [name for name in NOT_FOR_CHILDREN if name != "task" or not starts_others]
    found = [Rule(permission=name, pattern="*", action="deny") for name in names]
    if checkout is not None:
        found.append(Rule(permission="external_directory", pattern=f"{checkout.worktree}/*", action="deny"))
    return found


def _describe_worktree(made: "AgentWorktree") -> str:
    return (
        f"<worktree>\nYou work in {made.project.directory}, a copy of the checkout with its files as they are now. Use relative "
        "paths or paths below this folder: the checkout itself cannot be changed. What you change here is collected when you "
        "end, also without a commit; files that git ignores are not.\n</worktree>"
    )


def _describe_changes(task_id: str, branch: AgentBranch, diff: str) -> str:
    if not branch.commit:
        return "\n\nIt changed no files in its worktree."
    noun = "file" if branch.files == 1 else "files"
    shown = diff[:_SHOWN_DIFF]
    cut = f"\n… (git diff {branch.base[:12]} {branch.commit[:12]})" if len(diff) > _SHOWN_DIFF else ""
    return (
        f"\n\nIt changed {branch.files} {noun} in its worktree: the branch {branch.branch}. Your files are as they were; "
        f"task with task_id {task_id} and apply applies the changes to them.\n<diff>\n{shown}{cut}\n</diff>"
    )


def _work_between(after: str, last: str | None = None) -> dict[str, dict[str, str]]:
    """Return the metadata of a call: its work is what follows a message, up to the last one where that is known."""
    return {WORK: {"after": after} if last is None else {"after": after, "last": last}}


def _last_text(answer: MessageWithParts) -> str:
    texts = [part.text for part in answer.parts if isinstance(part, TextPart) and not part.synthetic]
    return texts[-1] if texts else ""
