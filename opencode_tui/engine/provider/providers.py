"""The `Llm` adapters of the models: one per provider and adapter, created on first use, closed together."""

from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.llm import Llm
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.model import Adapter, Model

if TYPE_CHECKING:
    from opencode_tui.engine.provider.litellm_worker import LitellmWorker


class Providers:
    """Creates adapters; `log` is the file for the output of litellm's child process."""

    def __init__(self, *, catalog: Catalog, log: Path | None = None, clock: Clock = system_clock) -> None:
        self._catalog = catalog
        self._log = log
        self._clock = clock
        self._open: dict[tuple[str, Adapter], Llm] = {}
        self._worker: LitellmWorker | None = None

    def llm(self, model: Model) -> Llm:
        """Return the adapter for this model. Raises AuthError when its provider needs a key and has none."""
        place = (model.provider_id, model.adapter)
        if place not in self._open:
            self._open[place] = self._make(model)
        return self._open[place]

    async def close(self) -> None:
        """Close all connections and end the child process; safe to call twice."""
        opened, self._open = list(self._open.values()), {}
        for llm in opened:
            await llm.close()
        if self._worker is not None:
            await self._worker.close()

    def _make(self, model: Model) -> Llm:
        # Each adapter is imported on first use: most commands need none.
        match model.adapter:
            case "demo":
                from opencode_tui.engine.provider.demo.llm import DemoLlm

                return DemoLlm()
            case "litellm":
                from opencode_tui.engine.provider.litellm_worker import LitellmLlm, LitellmWorker

                self._worker = self._worker or LitellmWorker(log=self._log)
                return LitellmLlm(self._catalog.endpoint(model.provider_id), self._worker, clock=self._clock)
            case "openai" | "anthropic":
                from opencode_tui.engine.provider.http import ANTHROPIC, OPENAI, DirectLlm

                dialect = ANTHROPIC if model.adapter == "anthropic" else OPENAI
                return DirectLlm(self._catalog.endpoint(model.provider_id), dialect, clock=self._clock)
