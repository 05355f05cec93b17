"""The built-in model `demo/tour`: offline, scripted, with real tools; how a newcomer sees everything without a key.

`intent` and `rules` read plain English into goals; a goal's script (`look_scripts`, `edit_scripts`, `work_scripts`) says which tool
comes next; `plan` finds the next act of a turn by replaying the answers so far; `llm` streams it. All but `llm` is pure.
"""

from opencode_tui.engine.provider.demo.llm import DEMO_MODEL, DemoLlm

__all__ = ["DEMO_MODEL", "DemoLlm"]
