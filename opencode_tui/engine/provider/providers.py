"""The `Llm` adapters of the models: one per provider and adapter, created on first use, closed together."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.llm import Llm, ignore_usage
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.engine.provider.spending import Spending
from opencode_tui.schema.error import ModelNotFoundError, ProviderError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.model import Adapter, Model
from opencode_tui.schema.provider_formats import COMPATIBLE

if TYPE_CHECKING:
    from opencode_tui.engine.provider.litellm_worker import LitellmWorker


def _ignore(_line: str) -> None:
    """Say nothing."""


class Providers:
    """Creates adapters; `log` is the file for the output of litellm's child process."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        log: Path | None = None,
        clock: Clock = system_clock,
        spending: Spending | None = None,
        plan: Callable[[Endpoint], Llm] | None = None,
        say: Callable[[str], None] = _ignore,
    ) -> None:
        """The cost of all calls is recorded in `spending`. `plan` makes the adapter of a ChatGPT plan.

        `say` shows the user a line about the address of a provider.
        """
        self._plan = plan
        self._say = say
        self._without_responses: set[str] = set()
        """The addresses that have no Responses."""
        self._catalog = catalog
        self._on_usage = ignore_usage if spending is None else spending.record
        self._log = log
        self._clock = clock
        self._open: dict[tuple[str, Adapter], tuple[Endpoint | None, Llm]] = {}
        self._replaced: list[Llm] = []
        """Adapters with an earlier key; a response may still use them."""
        self._worker: LitellmWorker | None = None

    def llm(self, model: Model) -> Llm:
        """Return the adapter for this model, with the key as it is now. Raises AuthError when a required key is missing."""
        place = (model.provider_id, model.adapter)
        endpoint = None if model.adapter == "demo" else self._catalog.endpoint(model.provider_id)
        known = self._open.get(place)
        if known is not None and known[0] == endpoint:
            return known[1]
        if known is not None:
            self._replaced.append(known[1])
        llm = self._make(model.adapter, endpoint)
        self._open[place] = endpoint, llm
        return llm

    async def try_provider(self, provider_id: str) -> str:
        """Return what keeps a provider from being used (key, name, proxy, certificate, region), empty if nothing does.

        Sends its cheapest request, only when the user asks for it.
        """
        from opencode_tui.engine.provider.trial import try_asking, try_listing  # only when asked for

        try:
            chosen = self._catalog.trial_model(provider_id)
            if chosen.adapter in ("litellm", "demo"):
                return await try_asking(self.llm(chosen), chosen)
            endpoint = self._catalog.endpoint(provider_id)
            if chosen.adapter == "chatgpt":
                from opencode_tui.engine.provider.chatgpt.llm import ChatGptLlm  # its token counts for an hour

                plan = self._make(chosen.adapter, endpoint)
                endpoint = await plan.fresh_endpoint() if isinstance(plan, ChatGptLlm) else endpoint
            return await try_listing(endpoint, chosen)
        except (ModelNotFoundError, ProviderError) as error:
            return str(error)

    async def close(self) -> None:
        """Close all connections and end the child process; safe to call twice."""
        opened = [*self._replaced, *(llm for _, llm in self._open.values())]
        self._open, self._replaced = {}, []
        for llm in opened:
            await llm.close()
        if self._worker is not None:
            await self._worker.close()

    def _make(self, adapter: Adapter, endpoint: Endpoint | None) -> Llm:
        # Each adapter is imported on first use: most commands need none.
        if endpoint is None:
            from opencode_tui.engine.provider.demo.llm import DemoLlm

            return DemoLlm()
        if adapter == "litellm":
            from opencode_tui.engine.provider.litellm_worker import LitellmLlm, LitellmWorker

            self._worker = self._worker or LitellmWorker(log=self._log)
            return LitellmLlm(endpoint, self._worker, clock=self._clock, on_usage=self._on_usage)
        if adapter == "chatgpt" and self._plan is not None:
            return self._plan(endpoint)
        from opencode_tui.engine.provider.formats import find_format
        from opencode_tui.engine.provider.http import DirectLlm

        def direct(adapter: Adapter) -> DirectLlm:
            return DirectLlm(endpoint, find_format(adapter), clock=self._clock, on_usage=self._on_usage)

        if adapter == "responses" and endpoint.may_lack_responses:
            from opencode_tui.engine.provider.responses_or_chat import Addresses, ResponsesOrChat

            addresses = Addresses(self._without_responses, self._say)
            return ResponsesOrChat(endpoint.base_url, direct(adapter), direct(COMPATIBLE), addresses)
        return direct(adapter)
