"""The built-in model `demo/tour`: offline and scripted, with real tools; it shows the product without a key.

`intent` parses plain English into goals; `scripts` selects the next tool for a goal; `llm`
replays the scripts with the responses of the `turn` so far and streams the next call. All modules except `llm` are pure.
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
