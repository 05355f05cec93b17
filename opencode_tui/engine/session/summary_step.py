"""The message that a compaction writes: by a model without tools, or from a summary that was prepared."""

from collections.abc import AsyncIterator
from decimal import Decimal

from opencode_tui.engine.provider.cost import to_cost, to_tokens
from opencode_tui.engine.provider.stream import Llm
from opencode_tui.engine.session.part_machine import PartMachine
from opencode_tui.engine.session.processor import StepProcessor
from opencode_tui.engine.session.quiet_call import Said
from opencode_tui.engine.session.summary_request import SummaryRequest
from opencode_tui.schema.error import ContextOverflowError, ProviderError
from opencode_tui.schema.message import FINISH_CONTINUES, Tokens
from opencode_tui.schema.part import PartTime, StepFinishPart, TextPart


class SummaryStep(StepProcessor):
    """Works one summary message."""

    async def write(self, llm: Llm, requests: AsyncIterator[SummaryRequest]) -> None:
        """Let the model write it, by the first of the requests that gives a usable summary.

        Raises ProviderError when a call fails for good, or when none of them gave one.
        """
        await self._begin()
        spent = Decimal(0)
        failure = ProviderError("no summary was asked for", provider_id=self.message.provider_id)
        async for request in requests:
            try:
                machine, _ = await self._answer(llm, request.request)
            except ContextOverflowError as error:
                failure = error
                continue
            finish = machine.finish
            if finish is None:
                raise ProviderError("the summary had no end", provider_id=self.message.provider_id)
            spent += to_cost(finish.usage, request.request.model)
            fault = request.fault_of(self._text(machine), finish.reason)
            if fault is None:
                await self._drop_calls(machine)
                return await self._end(finish.reason, to_tokens(finish.usage), spent)
            failure = ProviderError(fault, provider_id=self.message.provider_id)
            await self._drop(machine)
        raise failure

    async def take(self, said: Said) -> None:
        """Store a summary that was written before."""
        await self._begin()
        now = self._services.clock()
        text = TextPart(**self._ids(), text=said.text.strip(), time=PartTime(start=now, end=now))
        await self._services.store.update_part(text)
        await self._end(said.reason, said.tokens, said.cost)

    async def _begin(self) -> None:
        await self._services.store.update_message(self.message)
        await self._start_step()

    async def _end(self, reason: str, tokens: Tokens, cost: Decimal) -> None:
        reason = "stop" if reason in FINISH_CONTINUES else reason
        finish = StepFinishPart(**self._ids(), reason=reason, cost=float(cost), tokens=tokens)
        await self._services.store.update_part(finish)
        self.message = self.message.changed(finish=reason, cost=float(cost), tokens=tokens)
        await self._complete()

    def _text(self, machine: PartMachine) -> str:
        parts = self._services.store.parts(self.message.session_id, self.message.id)
        return "".join(part.text for part in parts if isinstance(part, TextPart) and part.id in machine.part_ids)

    async def _drop_calls(self, machine: PartMachine) -> None:
        """Delete calls that the model made although it was offered no tools."""
        for part in machine.unfinished_tools():
            await self._services.store.remove_part(part.session_id, part.message_id, part.id)
