"""Everything of the screen that is not needed for its first frame."""

import importlib

MODULES = (
    "opencode_tui.tui.control",
    "opencode_tui.tui.pump",
    "opencode_tui.tui.acts.acts",
    "opencode_tui.tui.dialogs.overlay",
    "opencode_tui.tui.screens.panel_host",
    "opencode_tui.tui.sidebar.sidebar",
    "opencode_tui.tui.conversation.view",
    "opencode_tui.tui.screens.settling",
    "opencode_tui.tui.start",
    "opencode_tui.tui.surroundings",
    "opencode_tui.tui.welcome",
)


def load() -> None:
    """Import it; blocks, so it belongs into a thread behind the first frame."""
    for name in MODULES:
        importlib.import_module(name)


def warm() -> None:
    """Prepare what the first answer needs: the markdown parser, the colours of code. Blocks as `load` does."""
    from opencode_tui.tui.conversation import warm as conversation  # not before the door is open

    conversation.warm()
