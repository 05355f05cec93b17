"""Manual compaction: a run that summarizes a session now, or a preview of it."""

from collections.abc import Sequence

from msgspec import Struct

from opencode_tui.engine.permission.policy import AskPerson, Policy
from opencode_tui.engine.provider.llm import LlmRequest
from opencode_tui.engine.session.compaction.compaction import CompactionTask, SessionCompaction
from opencode_tui.engine.session.compaction.state import new_messages
from opencode_tui.engine.session.compaction.summary_request import SummaryRequests, newest_request
from opencode_tui.engine.session.loop import SessionLoop
from opencode_tui.engine.session.maintenance import SessionMaintenance
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.history import filter_compacted
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.revert.range import visible
from opencode_tui.engine.session.runs import Run, RunRegistry
from opencode_tui.engine.session.subagent import Prompter
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.schema.api.context import CompactionReport, CompactSession
from opencode_tui.schema.error import SessionError
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import AnyPart, TextPart


class ManualCompaction(Struct, frozen=True):
    """Compacts sessions on request."""

    compaction: SessionCompaction
    requests: SummaryRequests
    store: SessionStore
    runs: RunRegistry
    loop: SessionLoop
    maintenance: SessionMaintenance
    estimator: TokenEstimator

    async def compact(
        self, session_id: str, wish: CompactSession, *, prompter: Prompter, policy: Policy | None = None
    ) -> CompactionReport:
        """Summarize the session and return the result; with `auto` after the conversation has continued.

        Raises BusyError while the session is running, SessionError when there is nothing to summarize, RunAborted when it is
        interrupted, and the errors of a model call.
        """
        if wish.dry_run:
            return await self._look(session_id, wish)
        await self.runs.ensure_idle(session_id)
        reports: list[CompactionReport] = []

        async def body(run: Run) -> MessageWithParts:
            await self.maintenance.prepare(session_id)
            before = await self._look(session_id, wish)
            order = CompactionTask(session_id, is_automatic=wish.auto, model=wish.model, focus=wish.focus or "")
            summary = await self.compaction.compact(run, order)
            answer = with_parts(summary, self.store.parts(session_id, summary.id))
            reports.append(await self._report(before, summary, answer.parts))
            if wish.auto:
                answer = await self.loop.run(run, await self.store.get(session_id), prompter)
            return answer

        await self.runs.start(session_id, body, policy=policy or AskPerson()).answer()
        return reports[0]

    async def _look(self, session_id: str, wish: CompactSession) -> CompactionReport:
        """Return a preview of a compaction. Raises SessionError when there is nothing to summarize."""
        info = await self.store.get(session_id)
        messages = visible(await self.store.messages(session_id), info.revert)
        sent = filter_compacted(messages)
        if not new_messages(sent):
            raise SessionError(f"session {session_id} has nothing to summarize since its last compaction")
        user = newest_request(messages)
        model = self.requests.model(user, wish.model)
        return CompactionReport(
            session_id=session_id,
            model=model.ref,
            messages=len(sent),
            before=self._size(sent, self.requests.model(user, user.model)),
            kept=await self.compaction.kept(messages, session_id, model, None),
        )

    async def _report(
        self, before: CompactionReport, summary: AssistantMessage, parts: Sequence[AnyPart]
    ) -> CompactionReport:
        messages = await self.store.messages(before.session_id)
        user = newest_request(messages)
        return before.changed(
            after=self._size(filter_compacted(messages), self.requests.model(user, user.model)),
            summary="".join(part.text for part in parts if isinstance(part, TextPart)),
            message_id=summary.id,
            cost=summary.cost,
        )

    def _size(self, sent: Sequence[MessageWithParts], model: Model) -> int:
        entries = to_model_messages(sent, model)
        return self.estimator.estimate(LlmRequest(model=model, system=(), messages=entries))
