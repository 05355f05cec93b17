"""The decision about a shell command: which permissions it needs, whether it runs in the sandbox or on the host, and why. Pure.

With a sandbox a command runs inside without a question, unless a member needs the outside (a yes runs it there), discards work at
large (a yes runs it inside), or a rule of the user decides otherwise. A line is never split: what it needs outside takes all of it
there, so each member that is not only about text then needs a rule or a grant of its own. On the host, which is also where no
sandbox works, members whose effects are unknown must be allowed by the user too. Built-in rules never allow any of this. An agent
that may not edit leaves the sandbox only to read paths. Source: docs/internals/permissions.md#commands.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from opencode_tui.engine.permission.command_forms import CommandForms, matches
from opencode_tui.engine.permission.decision import (
    Query,
    always_of,
    is_always_outside,
    is_granted,
    open_patterns,
    with_approvals,
    with_forms,
)
from opencode_tui.engine.permission.path_forms import PathForms
from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.ruleset import BuiltInRule, evaluate, evaluate_layers, grantable, is_about
from opencode_tui.schema.error import DeniedError
from opencode_tui.schema.permission import Action, Approvals, Rule, Ruleset, Runs
from opencode_tui.schema.session.sandbox import KEY, SandboxFacts

if TYPE_CHECKING:
    from opencode_tui.engine.permission.shell.findings import Loss
    from opencode_tui.engine.permission.shell.scan import Member, Reason, Scan

CommandKind = Literal["outside", "discard", "opaque", "rule"]
"""Why a command is asked about or denied: it needs the outside, it discards work, its effects are unknown, a rule says so."""

_ADDRESS = re.compile(r"\bhttps?://[^\s'\"|;&<>()]+", re.IGNORECASE)


class CommandScope(Struct, frozen=True):
    """The surroundings of a command; all folders are real paths.

    `root` is the project, `roots` are the folders that count as the project. `layers` are the rulesets of the agent and of those
    that called it. `tier` is the sandbox that works ("none" without one). `forms` are the spellings of the project's paths.
    `is_shared`: a confined command runs in the project now, which can change where a path leads after this line was read.
    `is_hidden` returns whether settings hide an absolute path.
    """

    command: str
    folder: str
    root: str
    roots: Sequence[str]
    layers: Sequence[Ruleset]
    tier: str = "none"
    forms: PathForms | None = None
    is_shared: bool = False
    is_hidden: Callable[[str], bool] | None = None


class CommandPlan(Struct, frozen=True):
    """Where a command would run and the permissions that it needs, most important first; empty without any need.

    `tier` is the sandbox that works ("none" without one). `refusal` is why the agent may not run it at all, in one line, else
    empty; `advice` is what the model can do then. `read_only`: its project must not be changed. `notes` are why single patterns
    need the user, as in "this …". `is_known`: each program of the line is one whose effects are known by its name, so no file of
    the project may stand for it. `names_files`: it uses paths of the project, which a confined command could exchange;
    `is_shared`: one ran when this was decided. `losses` are what it would remove or overwrite in the project. `outside` returns the
    plan for leaving the sandbox after all, given whether a confined command runs in the project then; None where it runs on the
    host anyway or must stay inside.
    """

    runs: Runs
    kind: CommandKind
    reasons: tuple[str, ...]
    query: Query
    tier: str = "none"
    refusal: str = ""
    advice: str = ""
    read_only: bool = False
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    is_known: bool = False
    names_files: bool = False
    is_shared: bool = False
    losses: "tuple[Loss, ...]" = ()
    outside: "Callable[[bool], CommandPlan] | None" = None

    def leaving(self) -> "CommandPlan | None":
        """Return the plan for leaving the sandbox from the start; None where that is not possible or not needed."""
        return None if self.outside is None else self.outside(self.is_shared)


class CommandDecision(Struct, frozen=True):
    """The decision; `reasons` are lines for the user, `always` the patterns that an "always" reply would grant."""

    action: Action
    runs: Runs
    kind: CommandKind
    reasons: tuple[str, ...] = ()
    always: tuple[str, ...] = ()


def plan_command(scan: "Scan", scope: CommandScope) -> CommandPlan:
    """Return where a scanned command would run, and the permissions that it needs."""
    return _plan_command(_Plan(scan, scope), scan, scope)


def _plan_command(plan: "_Plan", scan: "Scan", scope: CommandScope) -> CommandPlan:
    def outside(is_shared: bool) -> CommandPlan:
        then = replace(scope, is_shared=is_shared)
        return _plan_command(_Plan(scan, then, leaves=True), scan, then)

    return CommandPlan(
        runs=plan.runs,
        kind=plan.kind,
        reasons=plan.reasons,
        query=plan.query,
        tier=scope.tier,
        refusal=plan.refusal,
        advice=plan.advice,
        read_only=not plan.may_edit,
        notes=plan.notes,
        names_files=plan.names_files,
        is_shared=scope.is_shared,
        losses=scan.losses,
        is_known=scan.parsed
        and not (scan.opaque or scan.renamed)
        and not any(one.runs_project for one in scan.members),
        outside=outside if plan.runs == "sandbox" and plan.may_edit else None,
    )


def decide_command(
    plan: CommandPlan,
    layers: Sequence[Ruleset],
    grants: Iterable[Rule],
    *,
    approvals: Approvals = "normal",
    tier: str = "none",
    allows_outside: bool = False,
) -> CommandDecision:
    """Return the decision under rules, grants and the mode of approvals; `allows_outside`: the mode auto may leave the sandbox."""
    query = with_approvals(plan.query, approvals)
    known = list(grants)
    leaving = plan.leaving()
    runs: Runs = "host" if leaving is not None and is_always_outside(leaving.query, known) else plan.runs
    decision = CommandDecision("allow", runs, plan.kind, plan.reasons)
    if plan.refusal:
        return replace(decision, action="deny", reasons=(plan.refusal,))
    try:
        undecided = [
            (one, pattern)
            for one in (query, *query.also)
            for pattern in (open_patterns(one, layers) if one.patterns else ())
            if not is_granted(one, pattern, known)
        ]
    except DeniedError as error:
        return replace(decision, action="deny", reasons=(str(error),))
    if not undecided:
        return decision
    if approvals == "auto":
        leaves = plan.runs == "host" and tier != "none"
        return replace(decision, action="deny" if leaves and not allows_outside else "allow")
    face = undecided[0][0]
    return replace(decision, action="ask", always=tuple(always_of(face, [p for one, p in undecided if one is face])))


class _Plan:
    """The parts of a plan, computed from the scan in order.

    With `leaves` it is the plan for a command that leaves the sandbox after all: all that it needs inside was allowed before.
    """

    def __init__(self, scan: "Scan", scope: CommandScope, *, leaves: bool = False) -> None:
        self._leaves = leaves
        self._scan = scan
        self._scope = scope
        self._forms = scope.forms or PathForms(scope.root, [scope.root])
        self.may_edit = evaluate_layers("edit", "*", scope.layers).action != "deny"
        self._written = {_pattern(external.folder) for external in scan.external if "w" in external.mode}
        self._folders = self._outside_folders()
        hides = scope.tier in ("bubblewrap", "seatbelt")
        unreadable = scan.swept if hides else []  # in the sandbox
        self._leaving = [reason for reason in scan.outside if reason.kind != "path"]
        has_needs = bool(
            self._leaving or not set(scan.sensitive) <= {*unreadable} or not all(map(self._is_built_in, self._folders))
        )
        self.runs: Runs = "host" if has_needs or leaves or scope.tier == "none" else "sandbox"
        sensitive = [path for path in scan.sensitive if self.runs == "host" or path not in unreadable]
        self._paths = [os.path.normpath(os.path.join(scope.folder, path)) for path in sensitive]
        self._secrets = [path for path in self._paths if is_secret(path)]
        self._protected = [os.path.relpath(path, scope.root) for path in self._paths if not is_secret(path)]
        self._hidden = self._hidden_paths() if self.runs == "host" or not hides else []
        self._has_sandbox = scope.tier != "none"
        self._opaque = self._opaque_texts() if self.runs == "host" else []
        self.kind: CommandKind = "rule"
        if has_needs:
            self.kind = "outside"
        elif scan.discards:
            self.kind = "discard"
        elif self._opaque:
            self.kind = "opaque"
        self.reasons = self._reasons()
        unchecked = self._unchecked()
        self.refusal = unchecked or ("" if self.may_edit else self._refusal())
        self.advice = "Ask the user to do it, or continue without it." if self.refusal and not unchecked else ""
        self.notes: dict[str, str] = {}
        self.query = with_forms(self._query(), self._forms)

    def _hidden_paths(self) -> list[str]:
        """Return the paths that the command reads and that settings hide, which nothing but a question can keep from it."""
        if self._scope.is_hidden is None:
            return []
        used = [used.path for used in (*self._scan.inside, *self._scan.external) if "r" in used.mode]
        return [path for path in dict.fromkeys((*used, *self._scan.below)) if self._scope.is_hidden(path)]

    def _outside_folders(self) -> list[str]:
        """Return the patterns of the folders outside that must be allowed: with a sandbox only those that are not inside it."""
        refused = {reason.path for reason in self._scan.outside if reason.kind == "path"}
        found = [
            external.folder
            for external in self._scan.external
            if self._scope.tier == "none"
            or external.path in refused
            or self._is_limited("external_directory", _pattern(external.folder))
        ]
        folders = [folder for folder in (self._scope.folder, *found) if not self._is_project(folder)]
        return [_pattern(folder) for folder in dict.fromkeys(folders)]

    def _is_project(self, folder: str) -> bool:
        return any(folder == root or folder.startswith(f"{root.rstrip('/')}/") for root in self._scope.roots)

    def _is_built_in(self, pattern: str) -> bool:
        """Return whether built-in rules allow a folder outside, which is only read: it can be read in the sandbox."""
        if pattern in self._written:
            return False
        rules = [evaluate("external_directory", pattern, layer) for layer in self._scope.layers]
        return bool(rules) and all(rule.action == "allow" and isinstance(rule, BuiltInRule) for rule in rules)

    def _opaque_texts(self) -> list[str]:
        return [
            member.texts[0]
            for member in self._scan.members
            if member.opaque or (member.runs_project and self._has_sandbox)
        ]

    def _companions(self) -> list[str]:
        """Return the members that run outside because another one of the line needs it."""
        if self.runs != "host" or not self._has_sandbox or self._leaves:
            return []
        leaving = self._leaving_members()
        if len(self._scan.members) == 1:
            return []
        return [
            member.texts[0]
            for member in self._scan.members
            if not member.moves_only
            and member.texts[0] not in leaving
            and not any(member.texts[0].endswith(f" {other.texts[0]}") for other in self._scan.members)
        ]

    def _leaving_members(self) -> set[str]:
        """Return the sources of the members that need the outside themselves."""
        named = {reason.command for reason in self._scan.outside}
        return {member.texts[0] for member in self._scan.members if not named.isdisjoint(member.texts)}

    def _reasons(self) -> tuple[str, ...]:
        found = [] if self._leaves else self._needs()
        found += [f"Uses {os.path.basename(path)}, which may hold secrets." for path in self._secrets]
        found += [f"Reads {os.path.relpath(path, self._scope.root)}, which settings hide." for path in self._hidden]
        found += [f"Changes {path}, which can start programs later." for path in self._protected]
        if companions := list(dict.fromkeys(self._companions())):
            shown = [_shortened(one) for one in companions[:_NAMED_MEMBERS]]
            more = len(companions) - len(shown)
            found.append(f"Also runs outside: {', '.join(shown)}{f', and {more} more' if more else ''}.")
        if self.runs == "host" and self._raced():
            found.append("A command that runs in the background can exchange the files that it names.")
        if self._unread and (self.runs == "host" or self._asks_for_others):
            found.append(f"It {self._unread}.")
        elif self.runs == "host" and self._scan.renamed:
            found.append("It may change what the names of commands stand for.")
        elif steered := [member.texts[0] for member in self._scan.members if member.steered]:
            found += [f"{_shortened(text)} can run other programs." for text in steered if self.runs == "host"]
        return tuple(dict.fromkeys(found))

    def _needs(self) -> list[str]:
        found = [reason.words for reason in (*self._scan.discards, *self._scan.outside)]
        if not any(reason.kind == "path" for reason in self._scan.outside):
            found += [f"Accesses {folder.removesuffix('/*') or '/'}, outside the project." for folder in self._folders]
        return found

    @property
    def _unread(self) -> str:
        """Why the line may hold more commands than were found; empty where it holds no others."""
        if not self._scan.complete:
            return "is too long to check all of its commands"
        # On the host such a member needs the user in any case.
        is_whole = self._scan.parsed and (self.runs == "host" or not self._scan.unnamed)
        return "" if is_whole else "may hold commands that are not recognized"

    @cached_property
    def _asks_for_others(self) -> bool:
        """Whether a rule does not allow some command, which could be among those that were not found."""
        return any(map(_asks_about_commands, self._scope.layers))

    def _unchecked(self) -> str:
        """Return why a line cannot be run that is too long to be held against a rule that denies commands."""
        if self._scan.complete:
            return ""
        denying = (rule for layer in self._scope.layers for rule in layer if rule.action == "deny")
        denied = next((rule for rule in denying if matches(rule.permission, "bash")), None)
        if denied is None:
            return ""
        return f'The command is too long to check it against the rule that denies "{denied.pattern}"; split it.'

    def _refusal(self) -> str:
        """Return why an agent that may not edit cannot run this: what leaves the sandbox or discards, unless it reads paths."""
        refused = [*self._scan.discards, *(reason for reason in self._leaving if reason.kind != "path")]
        if not refused:
            return ""
        words = " ".join(dict.fromkeys(reason.words for reason in refused))
        return f"This agent may not edit files, so its commands stay in the sandbox: {words}"

    def _query(self) -> Query:
        secrets = _query("read", self._secrets, always_for={name: grantable([name]) for name in self._secrets})
        grants = {name: grantable([name]) for name in self._hidden}
        hidden = _query("read", self._hidden, always_for=grants, must_ask=self._hidden)
        if self._leaves:  # no built-in rule lets a command leave, as none allows one in the mode ask
            named = [query for query in (secrets, hidden) if query.patterns]
            return replace(with_approvals(self._command_query(), "ask"), also=named)
        also = [
            *self._folder_queries(),
            secrets,
            hidden,
            *self._path_queries(),
            *self._address_queries(),
        ]
        commands = self._command_query()
        if self._protected:
            queries = [_query("edit", self._protected, must_ask=self._protected), commands, *also]
        else:
            queries = [commands, *also]
        needed = [query for query in queries if query.patterns]
        return replace(needed[0], also=needed[1:], metadata=self._metadata()) if needed else _query("bash", ())

    def _folder_queries(self) -> list[Query]:
        """Return the queries for folders outside: those that are only read, and the others, which are granted apart."""
        read = [folder for folder in self._folders if folder not in self._written]
        written = [folder for folder in self._folders if folder in self._written]
        return [
            replace(
                _query(
                    "external_directory",
                    folders,
                    always_for={folder: _folder_grants([folder]) for folder in folders},
                    by_user=self._written,
                ),
                subject=subject,
            )
            for folders, subject in ((read, "read"), (written, "write"))
        ]

    def _command_query(self) -> Query:
        scan, command = self._scan, self._scope.command
        discards, leaving = self._texts_of(scan.discards), self._texts_of(self._leaving)
        partial = [command] if self._unread else []
        must_ask = [*discards, *(partial if partial and self._asks_for_others else ())]
        is_known = scan.parsed and (self._opaque or not scan.opaque)
        if self.runs == "host" and not is_known:
            must_ask.append(command)
        by_user = [*discards, *leaving, *self._opaque]
        raced = self._raced()
        found = [member.texts[0] for member in scan.members if member.steered] + [command] * scan.renamed
        steered = [*found, *raced, *partial] if self.runs == "host" else []
        outside = "leaves the sandbox" if self._scope.tier != "none" else "reaches outside the project"
        unknowable = "would also run outside the sandbox" if self._scope.tier != "none" else "runs arbitrary code"
        self.notes.update(dict.fromkeys((*self._opaque, *must_ask), unknowable))
        self.notes.update({**dict.fromkeys(leaving, outside), **dict.fromkeys(discards, "discards work")})
        self.notes.update(dict.fromkeys(found if steered else (), "can run other programs than it names"))
        self.notes.update(
            dict.fromkeys(raced if steered else (), "uses files that a command in the background can change")
        )
        self.notes.update(dict.fromkeys(partial, self._unread))
        patterns = list(dict.fromkeys([*scan.patterns, *by_user, *must_ask, *steered, *partial]))
        if not patterns and (self._leaves or not scan.members):
            patterns = [command]
        is_planned_outside = self._has_sandbox and self.runs == "host" and not self._leaves
        asked = {*leaving, *discards} if is_planned_outside else set(scan.patterns)
        always = {
            text: grants if member.texts[0] in asked and not scan.renamed else ()
            for member in scan.members
            for text, grants in _grants_of(member, discards)
        }
        for text in (*must_ask, *by_user):
            is_for_once = "*" in text or "?" in text or text in (*found, *raced)
            always.setdefault(text, () if is_for_once else (text,))
        return Query(
            session_id="",
            permission="bash",
            patterns=patterns,
            must_ask=must_ask,
            by_user=by_user,
            steered=steered,
            partial=partial,
            is_steered=bool(found or raced or partial),
            always=list(dict.fromkeys(grant for grants in always.values() for grant in grants)),
            always_for=always,
            forms={text: forms for member in scan.members for text in member.texts if (forms := member.equal_to(text))},
            commands={text: _forms_of(member, text) for member in scan.members for text in member.texts},
        )

    def _raced(self) -> list[str]:
        """Return the line, with its folder, if it uses paths that a confined command can exchange before it is over."""
        scope = self._scope
        if not (scope.is_shared and self.names_files):
            return []
        return [scope.command if scope.folder == scope.root else f"cd {scope.folder} && {scope.command}"]

    @property
    def names_files(self) -> bool:
        """Return whether the line uses paths of the project, where a sandbox works."""
        return self._has_sandbox and bool(self._scan.inside or self._scope.folder != self._scope.root)

    def _texts_of(self, reasons: "Sequence[Reason]") -> list[str]:
        """Return the sources of the members with these reasons; the whole command where a reason names no member."""
        sources = {text: member.texts[0] for member in self._scan.members for text in member.texts}
        return list(dict.fromkeys(sources.get(reason.command, self._scope.command) for reason in reasons))

    def _path_queries(self) -> list[Query]:
        """Return the queries for paths that a rule denies to the tools, or that a rule of the user asks for."""
        wanted: dict[str, list[str]] = {"read": [], "edit": []}
        for used in (*self._scan.inside, *self._scan.external):
            if "r" in used.mode and used.path not in self._secrets:
                wanted["read"].append(used.path)
            if "w" in used.mode:
                wanted["edit"].append(os.path.relpath(used.path, self._scope.root))
        wanted["read"] += self._limited_below()
        return [
            _query(
                permission, [pattern for pattern in dict.fromkeys(patterns) if self._is_limited(permission, pattern)]
            )
            for permission, patterns in wanted.items()
        ]

    def _limited_below(self) -> list[str]:
        """Return the files in folders that the command reads as a whole about which a rule of the user is not to allow them."""
        limits = [
            rule
            for layer in self._scope.layers
            for rule in layer
            if rule.action != "allow" and not isinstance(rule, BuiltInRule) and matches(rule.permission, "read")
        ]
        if not limits:
            return []
        texts = ((path, (path, *self._forms.of("read", path))) for path in self._scan.below)
        return [path for path, forms in texts if any(is_about(limit, "read", forms) for limit in limits)]

    def _is_limited(self, permission: str, pattern: str) -> bool:
        forms = self._forms.of(permission, pattern)
        rules = [_matched(permission, pattern, layer, forms) for layer in self._scope.layers]
        return any(
            rule is not None and (rule.action == "deny" or (rule.action == "ask" and not isinstance(rule, BuiltInRule)))
            for rule in rules
        )

    def _address_queries(self) -> list[Query]:
        """Return the query for pages that a rule denies to webfetch."""
        if not self._scan.network:
            return []
        patterns = dict.fromkeys([*_ADDRESS.findall(self._scope.command), *self._scan.addresses] or ["*"])
        denied = [one for one in patterns if evaluate_layers("webfetch", one, self._scope.layers).action == "deny"]
        return [_query("webfetch", denied)]

    def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"network": True} if self._scan.network else {}
        if self._opaque or (self.runs == "host" and self._scan.opaque):
            metadata["opaque"] = True
        facts = SandboxFacts(
            kind="rule" if self.kind == "opaque" else self.kind,
            runs=self.runs,
            tier=self._scope.tier,
            reasons=list(self.reasons),
            folder=self._scope.folder,
        )
        return {**metadata, KEY: facts.to_dict()}


_NAMED_MEMBERS = 20
"""Members that a question names; the whole command is shown above."""

_NAMED_CHARACTERS = 80


def _asks_about_commands(layer: Ruleset) -> bool:
    """Return whether rules of a layer leave some command to the user: one for everything decides about all before it."""
    for rule in reversed(layer):
        if matches(rule.permission, "bash"):
            if rule.action != "allow":
                return True
            if rule.pattern and not rule.pattern.strip("*"):
                return False
    return True  # without a match


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line if len(line) <= _NAMED_CHARACTERS else f'{line[: _NAMED_CHARACTERS - 1]}…'}`"


def _pattern(folder: str) -> str:
    return f"{folder.rstrip('/')}/*"


def _folder_grants(patterns: Sequence[str]) -> list[str]:
    return grantable((pattern.removesuffix("/*") for pattern in patterns), "/*")


def _query(
    permission: str,
    patterns: Sequence[str],
    *,
    always_for: Mapping[str, Sequence[str]] | None = None,
    must_ask: Collection[str] = (),
    by_user: Collection[str] = (),
) -> Query:
    """Return a query; `always_for` are the grants for each pattern; only those that needed approval are stored."""
    given = always_for or {}
    return Query(
        session_id="",
        permission=permission,
        patterns=patterns,
        always=list(dict.fromkeys(grant for grants in given.values() for grant in grants)),
        always_for=given,
        must_ask=must_ask,
        by_user=by_user,
    )


def _forms_of(member: "Member", text: str) -> CommandForms:
    """Return how a text of a member may be spelled and read."""
    words = None if any(one in word for word in member.words or () for one in "*?[") else member.words
    return CommandForms(member.texts[0] if text != member.texts[0] else "", words, member.readings.others)


def _grants_of(member: "Member", discards: Collection[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return for each text of a member what "always" would grant; what discards work is granted word for word only."""
    if member.moves_only:
        return []
    if member.texts[0] in discards:
        return [(text, (text,)) for text in member.texts]
    is_kind = not set(member.always) <= set(member.texts)
    return [(text, member.always if is_kind else (text,) if text in member.always else ()) for text in member.texts]


def _matched(permission: str, pattern: str, layer: Ruleset, forms: Sequence[str]) -> Rule | None:
    """Return the rule of a layer that decides; None where none matches."""
    rule = evaluate(permission, pattern, layer, forms=forms)
    return next((one for one in layer if one is rule), None)
