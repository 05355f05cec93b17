"""Run a command line of the user in the session, so that the model sees it with the next request. No model is called.

The user gave the command, so it needs no approval. Source: docs/internals/loop.md#shell-commands-of-the-user.
"""

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from opencode_tui.engine.permission.policy import AskPerson, AutoApprove
from opencode_tui.engine.provider.llm import ToolCall
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.user_message import Target, UserMessages
from opencode_tui.engine.session.runs import Run, SessionRuns, SessionStatuses
from opencode_tui.engine.session.step.processor import NewMessages, StepProcessor
from opencode_tui.engine.session.step.tool_calls import CallScope
from opencode_tui.schema.api.request import PromptInput, ShellInput, TextInput
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStatePending

REQUEST_TEXT = "The user ran this command line; its output follows."
EVERYTHING = Rule.trusted(permission="*", pattern="*", action="allow")


class SessionShell(Struct, frozen=True):
    """Runs the user's command lines in the sessions of one folder."""

    store: SessionStore
    statuses: SessionStatuses
    new_step: Callable[[AssistantMessage], StepProcessor]
    messages: NewMessages
    runs: SessionRuns
    users: UserMessages

    async def run(
        self, session_id: str, given: ShellInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Run it and return the message with the command's call; `stored` is called with the id of the request before it.

        Raises BusyError while the session is running, RunAborted when it was interrupted, else as `UserMessages.address`.
        """
        prompt = PromptInput(
            message_id=given.message_id,
            agent=given.agent,
            model=given.model,
            variant=given.variant,
            parts=[TextInput(text=REQUEST_TEXT, synthetic=True)],
        )
        await self.store.refresh(session_id)
        target = await self.users.address(session_id, prompt)
        await self.runs.registry.ensure_idle(session_id)

        async def body(run: Run) -> MessageWithParts:
            run.after_run = partial(self.runs.summarize, session_id)
            request, parts = await self.users.new(session_id, prompt, target)
            request = await self.store.writer(session_id).add_request(request, parts, given=given.message_id)
            if stored is not None:
                stored(request.id)
            await self.store.update(session_id, lambda info: info)
            self.statuses.busy(session_id)
            return await self._carry_out(run, given.command, request, target)

        return await self.runs.start(session_id, body, policy=AutoApprove(AskPerson())).answer()

    async def _carry_out(self, run: Run, command: str, request: UserMessage, target: Target) -> MessageWithParts:
        step = self.new_step(self.messages.answer(request, target.model, target.agent.name))
        run.finalize = step.finalize
        scope = CallScope(agent=target.agent, layers=[[EVERYTHING]], policy=run.policy, by_user=True)
        await step.run_calls([self._call(step, command)], scope)
        return with_parts(step.message, self.store.parts(request.session_id, step.message.id))

    def _call(self, step: StepProcessor, command: str) -> tuple[ToolPart, ToolCall]:
        ids = self.messages.ids(step.message)
        call_id = ids["id"].replace("prt_", "call_")
        part = ToolPart(**ids, call_id=call_id, tool="bash", state=ToolStatePending())
        return part, ToolCall(part.call_id, part.tool, {"command": command, "description": ""})
