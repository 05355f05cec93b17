"""Permission rules for tests, written as lines."""

from opencode_tui.schema.permission import Rule


def rules(*lines: str) -> list[Rule]:
    """Return rules written as `permission pattern action`; the pattern may hold spaces."""
    return [_rule(line) for line in lines]


def _rule(line: str) -> Rule:
    permission, rest = line.split(" ", 1)
    pattern, action = rest.rsplit(" ", 1)
    return Rule.model_validate({"permission": permission, "pattern": pattern, "action": action})
