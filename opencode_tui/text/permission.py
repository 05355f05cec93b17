"""A permission question in words: what is asked, why, and what the keys do. All texts are raw: a face makes them safe."""

from collections.abc import Sequence
from pathlib import Path

from opencode_tui.schema.api.project import Places
from opencode_tui.schema.permission import PermissionRequest, Rule, Verdict
from opencode_tui.schema.session.part import ToolPart

_TITLES = {
    "bash": "Run this command?",
    "edit": "Edit this file?",
    "read": "Read this file?",
    "external_directory": "Access a file outside the project?",
    "webfetch": "Fetch this page?",
    "doom_loop": "The agent is repeating itself. Continue?",
    "task": "Start this agent?",
    "skill": "Load this skill?",
}
_ACTIONS = {
    "bash": "run this",
    "edit": "edit",
    "read": "read",
    "webfetch": "fetch pages",
    "task": "start agents",
    "skill": "load skills",
}
"""What an agent does under a permission, as in `needs approval to …`."""

_NOUNS = {
    "bash": "this command",
    "edit": "edits",
    "read": "reading this file",
    "webfetch": "fetching pages",
    "task": "starting agents",
    "skill": "loading skills",
}
"""The same as in `your settings require approval for …`."""

_REPEATED = 3
"""Equal calls after which the engine asks."""

_OPAQUE = "This can run arbitrary code, so it needs your approval."
_ONCE = {"bash": "run once", "edit": "edit once", "read": "read once", "webfetch": "fetch once"}


def title_of(request: PermissionRequest) -> str:
    """Return the question; a plugin names its own permissions."""
    return _TITLES.get(request.permission, f"Allow {request.permission}?")


def once_of(request: PermissionRequest) -> str:
    """Return what the key for once does."""
    return _ONCE.get(request.permission, "allow once")


def subject_of(request: PermissionRequest, call: ToolPart | None) -> str:
    """Return what the call is about: the whole command, the folders, the paths."""
    if request.permission == "bash" and call is not None:
        command = call.state.input.get("command")
        if isinstance(command, str):
            return command
    if request.permission == "external_directory":
        return "\n".join(pattern.removesuffix("/*") or "/" for pattern in request.patterns)
    return "\n".join(request.patterns)


def short_source(source: str, places: Places | None) -> str:
    """Return a file relative to the worktree, or as `~/…` in the home folder; a variable unchanged."""
    if places is None or not source.startswith("/"):
        return source
    for folder, name in ((places.worktree, ""), (places.home, "~/")):
        inner = folder.rstrip("/") + "/"
        if folder and source.startswith(inner):
            return name + source.removeprefix(inner)
    return source


def always_of(request: PermissionRequest) -> str:
    """Return what the key for always does: `always allow "rm *"`, `always allow all edits`."""
    if list(request.always) == ["*"]:
        return f"always allow {'all edits' if request.permission == 'edit' else f'{request.permission} without asking'}"
    return "always allow " + ", ".join(f'"{pattern}"' for pattern in request.always)


REJECT = "reject and tell the agent why"
"""The effect of the key for no."""


def reasons_of(
    request: PermissionRequest,
    verdicts: Sequence[Verdict],
    directory: Path,
    *,
    agent: str = "",
    places: Places | None = None,
) -> list[str]:
    """Return why it is asked, in sentences; `directory` is the folder of the session, `agent` the one that asks."""
    match request.permission:
        case "external_directory":
            return [f"{subject_of(request, None)} is not in {_short_folder(directory, places)}.".replace("\n", ", ")]
        case "doom_loop":
            return [f"It has made the same tool call {_REPEATED} times."]
        case _:
            pass
    asking = [one for one in verdicts if one.action == "ask"]
    sentences = [_OPAQUE] if request.metadata.get("opaque") and not any(one.note for one in asking) else []
    if request.metadata.get("network"):
        sentences.append("Accesses the network.")
    if asking and len(verdicts) > 1:
        need = "needs" if len(asking) == 1 else "need"
        sentences.append(f"{len(asking)} of {len(verdicts)} commands {need} approval.")
    elif asking:
        sentences.append(_sentence(asking[0], agent, places))
    if request.permission == "bash":
        sentences.append(f"Working directory: {_short_folder(directory, places)}")
    return sentences


def reason_of(verdict: Verdict, places: Places | None) -> str:
    """Return why the rules decide so, in a few words, with the file of the rule."""
    if verdict.grant is not None:
        return f'you always allow "{verdict.grant.pattern}"'
    if verdict.note:
        return verdict.note
    if verdict.rule is None:
        return "no matching rule"
    return rule_words(verdict.rule, verdict.permission, verdict.source, places)


def rule_words(rule: Rule, permission: str, source: str | None, places: Places | None) -> str:
    """Return a rule with its file: `pip install *, opencode.json`, `edit: ask, opencode.json`, `default rule *`."""
    if not source:
        return f"default rule {rule.pattern}"
    if rule.pattern == "*":
        name = f"{rule.permission}: {rule.action}"
    else:
        name = rule.pattern if rule.permission == permission else f"{rule.permission} {rule.pattern}"
    return f"{name}, {short_source(source, places)}"


def _sentence(verdict: Verdict, agent: str, places: Places | None) -> str:
    if verdict.note:
        return f"This {verdict.note}, so it needs your approval."
    rule, permission = verdict.rule, verdict.permission
    if rule is None:
        return "No matching rule, so it needs approval."
    if verdict.source:
        noun = _NOUNS.get(permission, f"{permission} calls")
        return f"Your settings require approval for {noun} ({rule_words(rule, permission, verdict.source, places)})."
    action = _ACTIONS.get(permission, f"use {permission}")
    files = f" {'files' if rule.pattern == '*' else f'{rule.pattern} files'}" if permission in ("edit", "read") else ""
    who = f"The {agent} agent needs" if agent else "The agent needs"
    return f"{who} approval to {action}{files} (default rule)."


def _short_folder(directory: Path, places: Places | None) -> str:
    home = places.home.rstrip("/") if places is not None else ""
    folder = str(directory)
    return f"~{folder[len(home) :]}" if home and (folder == home or folder.startswith(f"{home}/")) else folder
