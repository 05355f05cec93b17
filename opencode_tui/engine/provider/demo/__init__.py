"""The built-in model `demo/tour`: offline, scripted, with real tools; how a newcomer sees everything without a key.

`intent` reads plain English as goals, with `programs` for what it can write; `scripts` says which tool comes next for a goal; `llm`
replays the scripts with the answers of the `turn` so far and streams the next act. All but `llm` is pure.
"""

from opencode_tui.schema.model import Limit, Model

DEMO_MODEL = Model(
    provider_id="demo",
    model_id="tour",
    name="Demo (offline, scripted)",
    adapter="demo",
    api_id="tour",
    limit=Limit(context=32_000, output=4_000),
    reasoning=True,
    temperature=False,
)
"""The model entry: free, small, always there."""
