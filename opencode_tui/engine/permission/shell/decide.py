"""The decision on a scan by rules: the most restrictive one of all its members.

deny > ask-external > ask > allow. A scan without members or with unknown ones means ask.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.ruleset import evaluate
from opencode_tui.engine.permission.shell.scan import Member, Scan
from opencode_tui.schema.permission import Rule

Decision = Literal["allow", "ask", "ask-external", "deny"]

_ORDER: Mapping[Decision, int] = {"allow": 0, "ask": 1, "ask-external": 2, "deny": 3}


def decide(scan: Scan, rules: Sequence[Rule]) -> Decision:
    """Return the decision under a list of rules, in which the last that matches wins."""
    return evaluate_scan(scan, lambda permission, pattern: evaluate(permission, pattern, rules))


def evaluate_scan(scan: Scan, evaluate: Callable[[str, str], Rule]) -> Decision:
    """Return the decision; `evaluate` returns the rule for a permission and a pattern.

    Permissions asked for: `bash` with the texts of the members, `external_directory` with `<folder>/*`, `read` with the absolute
    path of a file of secrets.
    """
    decisions: list[Decision] = [_member(member, evaluate) for member in scan.members]
    outside: list[Decision] = [_external(external.folder, evaluate) for external in scan.external]
    decisions.extend(one for one in outside if scan.parsed or one == "deny")
    decisions.extend(_protected(path, evaluate) for path in scan.sensitive)
    if not scan.members or not scan.parsed:
        decisions.append("ask")
    if scan.opaque and not any(member.opaque for member in scan.members):
        decisions.append("ask")
    return max(decisions, key=_strictness)


def _strictness(decision: Decision) -> int:
    return _ORDER[decision]


def _member(member: Member, evaluate: Callable[[str, str], Rule]) -> Decision:
    rules = [(text, evaluate("bash", text)) for text in member.texts]
    if any(rule.action == "deny" for _, rule in rules):
        return "deny"
    if member.opaque:
        return "allow" if any(rule.action == "allow" and rule.pattern == text for text, rule in rules) else "ask"
    if member.moves_only:
        return "allow"
    return "ask" if any(rule.action == "ask" for _, rule in rules) else "allow"


def _external(folder: str, evaluate: Callable[[str, str], Rule]) -> Decision:
    match evaluate("external_directory", f"{folder.rstrip('/')}/*").action:
        case "allow":
            return "allow"
        case "deny":
            return "deny"
        case "ask":
            return "ask-external"


def _protected(path: str, evaluate: Callable[[str, str], Rule]) -> Decision:
    """Return the decision on a protected path: rules for `read` apply to files with secrets; others always need approval."""
    if is_secret(path):
        return evaluate("read", path).action
    return "deny" if evaluate("edit", path).action == "deny" else "ask"
