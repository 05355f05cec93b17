"""Pure: how a permission question is put into words, in every face."""

from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.permission import PermissionRequest

_TITLES = {
    "bash": "Run this command?",
    "edit": "Edit this file?",
    "read": "Read this file?",
    "external_directory": "Use this folder outside the project?",
    "webfetch": "Fetch this page?",
    "doom_loop": "It keeps making the same calls. Go on?",
    "task": "Start this agent?",
    "skill": "Load this skill?",
}
_ONCE = {"bash": "run once", "edit": "edit once", "read": "read once", "webfetch": "fetch once"}


def title_of(request: PermissionRequest) -> str:
    """Return the question; raw, because a plugin names its own permissions."""
    return _TITLES.get(request.permission, f"Allow {request.permission}?")


def once_of(request: PermissionRequest) -> str:
    """Return what the key for once does."""
    return _ONCE.get(request.permission, "allow once")


def subject_of(request: PermissionRequest, call: ToolPart | None) -> str:
    """Return what the act is about: the whole command, the folders, the paths; raw."""
    if request.permission == "bash" and call is not None:
        command = call.state.input.get("command")
        if isinstance(command, str):
            return command
    if request.permission == "external_directory":
        return "\n".join(pattern.removesuffix("/*") or "/" for pattern in request.patterns)
    return "\n".join(request.patterns)
