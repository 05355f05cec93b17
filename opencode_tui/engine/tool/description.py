"""The text that tells a model what a tool does: `<name>.md` beside the code."""

from importlib.resources import files


def read_description(name: str) -> str:
    """Return a tool's description; blocks for one small file."""
    return files("opencode_tui.engine.tool").joinpath(f"{name}.md").read_text("utf-8").strip()
