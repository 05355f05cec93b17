"""The entry points of the extras: the only way from the rest of the program to `opencode_tui/extras/`.

An extra is a part that few sessions use. It may import every layer; nothing imports it. The host of an entry point names it,
loads it when it is used, and owns the type: the extra annotates the value with that type, so that the type checker compares both.
"""

from importlib import import_module

# Name of the entry point: the module of the extra and the value in it.
TABLE: dict[str, tuple[str, str]] = {
    "batch.cluster": ("opencode_tui.extras.dask.cluster", "open_cluster"),
    "batch.worker": ("opencode_tui.extras.dask.command", "worker"),
    "importing.claude": ("opencode_tui.extras.importing.claude", "open_store"),
    "importing.codex": ("opencode_tui.extras.importing.codex", "open_store"),
    "otel": ("opencode_tui.extras.otel.exporter", "make_telemetry"),
    "pty_routes": ("opencode_tui.extras.pty.routes", "router"),
    "pty_routes_opencode2": ("opencode_tui.extras.pty.opencode2_routes", "router"),
    "share_serve": ("opencode_tui.extras.share_server.command", "share_serve"),
    "terminals": ("opencode_tui.extras.pty.terminals", "make_terminals"),
    "themes": ("opencode_tui.extras.themes.schemes", "schemes"),
    "vim": ("opencode_tui.extras.vim", "make_vim"),
}


def load(name: str) -> object:
    """Return the value of an entry point. The first call imports the extra, which blocks; raises KeyError for an unknown name."""
    module, value = TABLE[name]
    loaded: object = getattr(import_module(module), value)
    return loaded
