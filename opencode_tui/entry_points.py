"""The entry points of the extras, the only way from the rest of the program to `opencode_tui/extras/`, and of what confines git.

An extra is a part that few sessions use. It may import every layer; nothing imports it. The host of an entry point names it,
loads it when it is used, and owns the type: the extra annotates the value with that type, so that the type checker compares both.
What confines our own git belongs to the sandbox, a higher layer than git itself; no caller of git can leave it out.
"""

from importlib import import_module

# Name of the entry point: the module of the extra and the value in it.
TABLE: dict[str, tuple[str, str]] = {
    "batch.cluster": ("opencode_tui.extras.dask.cluster", "open_cluster"),
    "batch.worker": ("opencode_tui.extras.dask.command", "worker"),
    "drawings.diagram": ("opencode_tui.extras.drawings.mermaid", "diagram_lines"),
    "drawings.formulas": ("opencode_tui.extras.drawings.math_text", "with_formulas"),
    "importing.available": ("opencode_tui.extras.importing.places", "can_import"),
    "importing": ("opencode_tui.extras.importing.service", "make_imports"),
    "importing.left_behind": ("opencode_tui.extras.importing.left_behind", "find_left_behind"),
    "opencode2": ("opencode_tui.extras.opencode2.app", "build"),
    "opencode2.access": ("opencode_tui.extras.opencode2.discovery", "open_access"),
    "otel": ("opencode_tui.extras.otel.exporter", "make_telemetry"),
    "pty_routes": ("opencode_tui.extras.pty.routes", "router"),
    "share_serve": ("opencode_tui.extras.share_server.command", "share_serve"),
    "terminals": ("opencode_tui.extras.pty.terminals", "make_terminals"),
    "themes": ("opencode_tui.extras.themes.schemes", "schemes"),
    "vim": ("opencode_tui.extras.vim", "make_vim"),
}

# What a lower layer needs of a higher one, in the same way.
HIGHER: dict[str, tuple[str, str]] = {"own_git": ("opencode_tui.engine.sandbox.own_git", "OWN_GIT")}


def load(name: str) -> object:
    """Return the value of an entry point. The first call imports the extra, which blocks; raises KeyError for an unknown name."""
    module, value = HIGHER.get(name) or TABLE[name]
    loaded: object = getattr(import_module(module), value)
    return loaded
