"""Why an act asks, in words: the rule behind it, the folder it leaves, or that nobody can know what it will do."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.permission.ruleset import evaluate
from opencode_tui.schema.permission import PermissionRequest, Rule


class Verdict(Struct, frozen=True):
    """What the rules say of one pattern of a question."""

    pattern: str
    is_allowed: bool
    reason: str


def judge(request: PermissionRequest, rules: Sequence[Rule], stands: Sequence[str] = ()) -> list[Verdict]:
    """Return a verdict for each pattern; `rules` are the agent's, the last match wins.

    `stands` tell of each rule the file that it stands in, as it is to be named; empty for one that is built in.
    """
    return [_verdict(request, pattern, rules, stands) for pattern in request.patterns]


def explain(request: PermissionRequest, verdicts: Sequence[Verdict], directory: Path) -> list[str]:
    """Return why the whole question is put, in sentences; `directory` is the folder that is worked in."""
    match request.permission:
        case "external_directory":
            return [f"It lies outside of {directory}."]
        case "doom_loop":
            return ["The same calls come again and again."]
        case _:
            pass
    sentences: list[str] = []
    if request.metadata.get("opaque"):
        sentences.append("What it does cannot be known before it runs.")
    if request.metadata.get("network"):
        sentences.append("It uses the network.")
    asking = [verdict for verdict in verdicts if not verdict.is_allowed]
    if asking and len(verdicts) == 1:
        sentences.append(f"{asking[0].reason[:1].upper()}{asking[0].reason[1:]}.")
    elif asking:
        sentences.append("One part asks, so the whole command asks.")
    return sentences or ["Your rules allow it in general, but only one that names it word for word counts here."]


def _verdict(request: PermissionRequest, pattern: str, rules: Sequence[Rule], stands: Sequence[str]) -> Verdict:
    rule = evaluate(request.permission, pattern, rules)
    at = next((at for at, known in enumerate(rules) if known is rule), None)
    name = _name(rule, stands[at] if at is not None and at < len(stands) else "")
    if rule.action == "allow":
        return Verdict(pattern, True, f"{name} allows it")
    return Verdict(pattern, False, f"{name} asks" if at is not None else "no rule allows it")


def _name(rule: Rule, stand: str) -> str:
    name = f"rule {rule.permission}: {rule.pattern}" if rule.permission != "*" else f"rule {rule.pattern}"
    return f"{name} in {stand}" if stand else name
