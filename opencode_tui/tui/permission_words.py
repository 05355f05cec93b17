"""Pure: how a permission question is put into words, in every face."""

from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.permission import PermissionRequest, Rule
from opencode_tui.schema.project import Places

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


def short_source(source: str, places: Places | None) -> str:
    """Return a file as the folder's people call it: relative in the worktree, `~` for the home; a variable as it is. Raw."""
    if places is None or not source.startswith("/"):
        return source
    for folder, name in ((places.worktree, ""), (places.home, "~/")):
        inner = folder.rstrip("/") + "/"
        if folder and source.startswith(inner):
            return name + source.removeprefix(inner)
    return source


def rule_words(rule: Rule, permission: str, source: str | None, places: Places | None) -> str:
    """Return a rule with the place where it stands: `pip install * in opencode.json`, `edit: ask, built in`. Raw."""
    if rule.pattern == "*":
        name = f"{rule.permission}: {rule.action}"
    else:
        name = rule.pattern if rule.permission == permission else f"{rule.permission} {rule.pattern}"
    return f"{name} in {short_source(source, places)}" if source else f"{name}, built in"
