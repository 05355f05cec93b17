"""The built-in model `demo/tour`: offline, scripted, with real tools; how a newcomer sees everything without a key.

`intent` reads plain English as goals, with `programs` for what it can write; `scripts` says which tool comes next for a goal; `llm`
replays the scripts with the answers of the `turn` so far and streams the next act. All but `llm` is pure.
"""

from opencode_tui.engine.provider.demo.llm import DEMO_MODEL, DemoLlm

__all__ = ["DEMO_MODEL", "DemoLlm"]
