"""What the sessions of a project used."""

from opencode_tui.schema.record import Record


class ModelUsage(Record):
    """Steps with one model, tokens and USD; `cached` was read from the provider's cache."""

    steps: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0


class ProjectUsage(Record):
    """Usage by model, calls by tool. `cost` includes `hidden`, the USD of calls without a message: titles, unused summaries."""

    sessions: int
    messages: int
    cost: float
    hidden: float
    models: dict[str, ModelUsage]
    tools: dict[str, int]
