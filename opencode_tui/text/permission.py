"""A permission question in words: what is asked, why, and what the keys do. All texts are raw: a client makes them safe."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from opencode_tui.schema.api.catalog import SandboxState
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.permission import ALLOWED_BEFORE, Approvals, PermissionRequest, Rule, Verdict
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.sandbox import KEY, LostRow, SandboxFacts, sandbox_of
from opencode_tui.schema.tools import Words, row_of
from opencode_tui.text.quantity import byte_words, plural, short_path

_NO_FACTS = SandboxFacts(kind="rule")


def sandbox_facts(request: PermissionRequest) -> SandboxFacts:
    """Return what a question says about the sandbox; one of another tool is about a rule."""
    return sandbox_of(request.metadata) or _NO_FACTS


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in cast("list[object]", value) if isinstance(one, str)) if isinstance(value, list) else ()


def is_command(request: PermissionRequest) -> bool:
    """Return whether a question is about a command, also where it asks for a path that the command uses."""
    return request.permission == "bash" or KEY in request.metadata


def has_parts(request: PermissionRequest, verdicts: Sequence[Verdict]) -> bool:
    """Return whether the rules of the single parts say more than the reasons of a question."""
    facts = sandbox_facts(request)
    explains_itself = facts.kind in ("outside", "discard") and bool(facts.reasons)
    return len(verdicts) > 1 and not explains_itself and any(one.action != "allow" for one in verdicts)


Act = Literal["once", "host", "always", "edit", "reject", "leave"]
"""The effect of a key.

"host" allows the host, "edit" changes the rule before it is stored, "leave" rejects without asking what to do instead.
"""


class Choice(Struct, frozen=True):
    """A key that answers a question, and its unsafe description."""

    key: str
    words: str
    act: Act


def choices_of(request: PermissionRequest) -> list[Choice]:
    """Return the keys that answer a question, in order."""
    facts = sandbox_facts(request)
    if facts.kind == "protected":
        return [Choice("k", "keep", "once"), Choice("r", "remove or restore", "leave")]
    choices = [Choice("y", once_of(request), "once")]
    if facts.allows:
        choices.append(Choice("h", f"allow {facts.allows} in this project", "host"))
    if request.always:
        choices += [Choice("a", always_of(request), "always"), Choice("e", "edit the rule", "edit")]
    return [*choices, Choice("n", "leave it", "leave") if facts.is_afterwards else Choice("n", REJECT, "reject")]


_TITLES = {
    "external_directory": "Access a file outside the project?",
    "doom_loop": "The agent is repeating itself. Continue?",
    "hook": "A hook wants your approval. Allow this call?",
}
"""The questions of permissions that are not of a tool."""

_SANDBOX_TITLES = {
    "outside": "Run this outside the sandbox?",
    "discard": "Run this command?",
    "refused": "Run it again outside the sandbox?",
    "protected": "Keep these protected files?",
}
_NAMED_FILES = 3
"""Protected files up to which it is said what the command did with each."""

_PADDING = 24
"""Blanks in a row that a question counts instead of showing them."""

_EMPTY = 3
"""The same for empty lines."""

_REPEATED = 3
"""Equal calls after which the engine asks."""

_OPAQUE = "This can run arbitrary code, so it needs your approval."


def approvals_words(mode: Approvals, sandbox: SandboxState | None) -> str:
    """Return what a mode of approvals does where commands are confined so."""
    if sandbox is not None and sandbox.tier == "none" and mode != "ask":
        return {
            "normal": "no sandbox: unknown commands ask",
            "auto": "no sandbox: everything runs unasked",
        }[mode]
    return {
        "ask": "asks for every edit and command",
        "normal": "asks before leaving the sandbox",
        "auto": "asks nothing, stays in the sandbox",
    }[mode]


def title_of(request: PermissionRequest) -> str:
    """Return the question; a plugin names its own permissions."""
    facts = sandbox_facts(request)
    if facts.kind == "outside" and facts.tier == "none":
        return _words_of("bash").title
    if title := _SANDBOX_TITLES.get(facts.kind or ""):
        return title
    if request.permission == "edit" and request.metadata.get("exists") is False:
        return "Create this file?"
    if request.permission == "external_directory":
        verb = _ACCESS.get(str(request.metadata.get("access")), "Access")
        return f"{verb} a {'folder' if _is_folder(request) else 'file'} outside the project?"
    return _words_of(request.permission).title


_ACCESS = {"read": "Read", "write": "Write"}


def _words_of(permission: str) -> Words:
    """Return a permission in words; those of the permission of a plugin are made of its name."""
    title = _TITLES.get(permission, f"Allow {permission}?")
    return row_of(permission).words or Words(title, f"use {permission}", f"{permission} calls")


def _is_folder(request: PermissionRequest) -> bool:
    """Return whether a question about a path outside of the project is not about one file."""
    path = request.metadata.get("filepath")
    return path is None or path == request.metadata.get("parentDir")


def once_of(request: PermissionRequest) -> str:
    """Return what the key for once does."""
    if sandbox_facts(request).kind == "refused":
        return "run again outside"
    return _words_of("bash" if is_command(request) else request.permission).once


def subject_of(request: PermissionRequest, call: ToolPart | None) -> str:
    """Return what the call is about: the whole command, the folders, the paths."""
    if files := sandbox_facts(request).files:
        return "\n".join(files)
    if is_command(request) and call is not None:
        command = call.state.input.get("command")
        if isinstance(command, str):
            return command
    if request.permission == "external_directory":
        path = request.metadata.get("filepath")
        if isinstance(path, str):  # the file itself: the pattern is of the folder that a grant would open
            return path
        return "\n".join(pattern.removesuffix("/*") or "/" for pattern in request.patterns)
    return "\n".join(request.patterns)


_BLANK = "[^\\S\n]|[\u2800\u3164\uffa0]"
_BLANKS = re.compile(f"(?:{_BLANK}){{{_PADDING},}}")
_EMPTY_LINES = re.compile(f"\n(?:(?:{_BLANK})*\n){{{_EMPTY},}}")


def without_padding(text: str) -> str:
    """Return a subject in which the number of blanks or empty lines is in place of many: they could hide what follows."""
    shorter = _EMPTY_LINES.sub(lambda found: f"\n[{found.group().count(chr(10)) - 1} empty lines]\n", text)
    return _BLANKS.sub(lambda found: f" [{len(found.group())} blanks] ", shorter)


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


def stored_words(request: PermissionRequest, edited: Sequence[str] | None, *, host: bool = False) -> tuple[str, str]:
    """Return what an answer for always has stored, and how to undo it.

    `edited` are the patterns if not those of the request; with `host` its host was stored.
    """
    stored = request if edited is None else request.changed(always=list(edited))
    if host:
        stored = request.changed(permission="network", always=[sandbox_facts(request).allows or ""])
    pattern = f' {request.permission} "{stored.always[0]}"' if len(stored.always) == 1 else ""
    return (
        f"Always allowed{always_of(stored).removeprefix('always allow')}",
        f"undo: opencode-tui permission revoke{pattern}",
    )


REJECT = "reject and tell the agent why"
"""The effect of the key for no."""


def reasons_of(
    request: PermissionRequest,
    verdicts: Sequence[Verdict],
    directory: Path,
    *,
    agent: str = "",
    places: Places | None = None,
    no_sandbox: str = "",
) -> list[str]:
    """Return why it is asked, in sentences.

    `directory` is the folder of the session, `agent` the one that asks, `no_sandbox` why no sandbox works here.
    """
    facts = sandbox_facts(request)
    if facts.is_afterwards:
        return _reasons_afterwards(facts)
    given = facts.reasons or _texts(request.metadata.get("reasons"))
    sentences = list(given) or _rule_reasons(request, verdicts, directory, agent=agent, places=places)
    sentences += lost_sentences(facts.lost or ())
    if facts.tier == "none" and (facts.kind != "rule" or request.metadata.get("opaque")):
        sentences.append(f"No sandbox: {no_sandbox or 'none works here'}.")
    if request.metadata.get("background") is True:
        sentences.append("It runs in the background, also after the turn.")
    if is_command(request):
        sentences.append(f"Working directory: {_short_folder(facts.folder or str(directory), places)}")
    return sentences


def suggestion_of(request: PermissionRequest) -> str:
    """Return a sentence that suggests the rule of a question which got `once` several times; empty for others."""
    count = request.metadata.get(ALLOWED_BEFORE)
    if not isinstance(count, int) or not request.always or sandbox_facts(request).is_afterwards:
        return ""
    if request.permission == "external_directory" and (access := request.metadata.get("access")):
        verb = "reading" if access == "read" else "writing"
        what = "everything below this folder" if _is_folder(request) else "this file"
        return f"You have allowed {verb} it {count} times: always allow {verb} {what}?"
    return f"You have allowed this {count} times: always allow it in this project?"


def without_suggestion(request: PermissionRequest) -> PermissionRequest:
    """Return the question without the suggestion of its rule."""
    metadata = {name: value for name, value in request.metadata.items() if name != ALLOWED_BEFORE}
    return request.changed(metadata=metadata)


_NAMED_LOSSES = 3
"""Paths that a sentence names, the largest ones; `lost_lines` has all of them."""


def lost_sentences(lost: Sequence[LostRow]) -> list[str]:
    """Return what a command would remove or overwrite, and what of it undo would not bring back; nothing for no files."""
    kept = [row for row in lost if row.reason is None]
    left = [row for row in lost if row.reason is not None]
    sentences = [f"Removes or overwrites {_lost_words(kept)}; undo brings it back."] if kept else []
    for reason in dict.fromkeys(row.reason for row in left):
        rows = [row for row in left if row.reason == reason]
        sentences.append(f"Undo will not bring back {_lost_words(rows)}: {reason}.")
    return sentences


def _lost_words(rows: Sequence[LostRow]) -> str:
    """Return paths in words: `data/ (12 files, 340 MB, ignored), notes.txt (1 KB, untracked) and 3 files (2 KB)`."""
    largest = [row for row in rows[:_NAMED_LOSSES] if row.path]
    named = [f"{row.path} ({_lost_facts(row)})" for row in largest]
    rest = [row for row in rows if row not in largest]
    if rest:
        files = plural(sum(row.files for row in rest), "more file" if named else "file")
        named.append(f"{files} ({byte_words(sum(row.bytes for row in rest))})")
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _lost_facts(row: LostRow) -> str:
    files = [plural(row.files, "file")] if row.path.endswith("/") else []
    return ", ".join([*files, byte_words(row.bytes), *([row.git] if row.git else [])])


def lost_lines(lost: Sequence[LostRow]) -> list[str]:
    """Return a line for each path that a command would remove or overwrite, largest first; none where a sentence has all."""
    if len(lost) <= 1:
        return []
    return [
        f"{byte_words(row.bytes):>9}  {row.path or plural(row.files, 'more file')}"
        f"{f', {row.git}' if row.git else ''}{f'; undo will not bring it back: {row.reason}' if row.reason else ''}"
        for row in lost
    ]


def _rule_reasons(
    request: PermissionRequest, verdicts: Sequence[Verdict], directory: Path, *, agent: str, places: Places | None
) -> list[str]:
    """Return which rules ask."""
    match request.permission:
        case "external_directory":
            if directory == Path("/"):
                return ["/ is not a project folder, so every path is outside. Start in a project to be asked less."]
            return [
                f"{subject_of(request, None)} is not in {_short_folder(str(directory), places)}.".replace("\n", ", ")
            ]
        case "doom_loop":
            return [f"It has made the same tool call {_REPEATED} times."]
        case "hook":
            return [f"The hook says: {request.metadata.get('reason')}"]
        case _:
            pass
    protected = request.metadata.get("protected")
    if isinstance(protected, list):
        named = cast("list[object]", protected)
        shown = ", ".join(map(str, named[:_NAMED_FILES])) + (", …" if len(named) > _NAMED_FILES else "")
        return [f"Changes {shown}, which can start programs later."]
    asking = [one for one in verdicts if one.action == "ask"]
    sentences = [_OPAQUE] if request.metadata.get("opaque") and not any(one.note for one in asking) else []
    if request.metadata.get("network"):
        sentences.append("Accesses the network.")
    if asking and len(verdicts) > 1:
        need = "needs" if len(asking) == 1 else "need"
        noun = "commands" if all(one.permission == "bash" for one in verdicts) else "parts"
        sentences.append(f"{len(asking)} of {len(verdicts)} {noun} {need} approval.")
    elif asking:
        sentences.append(_sentence(asking[0], agent, places))
    elif verdicts:  # the rules allow it
        sentences.append("Approvals are set to ask for every edit and command.")
    return sentences


def _reasons_afterwards(facts: SandboxFacts) -> list[str]:
    """Return why it is asked about a command that has run."""
    if facts.kind == "protected":
        made = facts.reasons or () if len(facts.files or ()) <= _NAMED_FILES else ["The command made or changed them."]
        return [*made, "Such files can start programs later."]
    if facts.host:
        return [f"It tried to reach {facts.host}.", *(facts.reasons or ())[1:]]  # the first says the same
    return list(facts.reasons or ()) or ["The sandbox refused something that it did."]


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
        noun = _words_of(permission).noun
        return f"Your settings require approval for {noun} ({rule_words(rule, permission, verdict.source, places)})."
    action = _words_of(permission).action
    files = f" {'files' if rule.pattern == '*' else f'{rule.pattern} files'}" if permission in ("edit", "read") else ""
    who = f"The {agent} agent needs" if agent else "The agent needs"
    return f"{who} approval to {action}{files} (default rule)."


def _short_folder(folder: str, places: Places | None) -> str:
    return short_path(folder, places.home if places is not None else "")
