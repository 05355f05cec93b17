"""The built-in model `demo/tour`: offline and scripted, with real tools; it shows the product without a key.

`tour` has the prompts that it knows, each with its script; `llm` streams the next step. What it says to any other is `help.md`.
"""

from opencode_tui.schema.model import Limit, Model

DEMO_MODEL = Model.trusted(
    provider_id="demo",
    model_id="tour",
    name="Demo (offline, scripted)",
    adapter="demo",
    api_id="tour",
    limit=Limit.trusted(context=32_000, output=4_000),
    reasoning=True,
    temperature=False,
)
"""The catalog entry of the demo model."""
