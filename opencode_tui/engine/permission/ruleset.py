"""Evaluation of permission rules: which rule decides, which tools are hidden, rules from a settings value. Pure.

The last rule whose permission and pattern both match decides, however specific it is; without a match the action is `ask`.
Source: docs/internals/permissions.md#rules.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from opencode_tui.config.sources.project_file import fold, is_secret
from opencode_tui.engine.permission import address_forms, command_forms, path_forms
from opencode_tui.engine.permission.command_forms import NO_FORMS, CommandForms, matches
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.permission import Action, Rule
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tools import permission_of
from opencode_tui.storage.same_name import AnySpelling, key


class BuiltInRule(Rule):
    """A rule of the program: it is no approval of the user."""

    @property
    def is_built_in(self) -> bool:
        """Return true."""
        return True


_STRICTNESS: dict[Action, int] = {"allow": 0, "ask": 1, "deny": 2}


def grantable(names: Iterable[str], suffix: str = "") -> list[str]:
    """Return the patterns that an "always" may grant for these names, each with the suffix: none for a name with wildcards.

    A repository chooses names: the grant for a file called `*.env` would cover all of them.
    """
    return [f"{name}{suffix}" for name in names if "*" not in name and "?" not in name]


def evaluate(
    permission: str,
    pattern: str,
    *rulesets: Sequence[Rule],
    forms: Sequence[str] = (),
    command: CommandForms = NO_FORMS,
) -> Rule:
    """Return the rule that decides; later rulesets win over earlier ones. Without a match: ask for the whole permission.

    `forms` are other spellings of the pattern: a rule that matches one of them matches. Those of an address need not be given.
    `command` are the readings of a command. To read `.ENV` needs what `.env` needs as well, because some file systems ignore case.
    """
    name = pattern.rpartition("/")[2]
    if permission == "read" and is_secret(name) and name != fold(name):
        folded = [text.removesuffix(name) + fold(name) for text in (pattern, *forms) if text.endswith(name)]
        return most_restrictive(_evaluate(permission, one, rulesets, command) for one in ((pattern, *forms), folded))
    return _evaluate(permission, (pattern, *forms), rulesets, command)


def _evaluate(permission: str, texts: Sequence[str], rulesets: Sequence[Sequence[Rule]], command: CommandForms) -> Rule:
    for ruleset in reversed(rulesets):
        for rule in reversed(ruleset):
            if matches(rule.permission, permission) and is_about(rule, permission, texts, command):
                return rule
    return Rule(permission=permission, pattern="*", action="ask")


def is_about(rule: Rule, permission: str, texts: Sequence[str], command: CommandForms = NO_FORMS) -> bool:
    """Return whether the pattern of a rule or grant matches one of the spellings of what a permission is asked for."""
    if permission == command_forms.PERMISSION:
        compare = command_forms.allows if rule.action == "allow" else command_forms.limits
        return any(compare(rule.pattern, text, command) for text in texts)
    if permission in path_forms.PERMISSIONS:
        patterns = path_forms.patterns_of(rule.pattern, allows=rule.action == "allow")
        return any(_holds(pattern, rule.action, text) for pattern in patterns for text in texts)
    if permission != address_forms.PERMISSION:
        return any(_holds(rule.pattern, rule.action, text) for text in texts)
    forms = [address_forms.forms_of_address(text) for text in texts]
    known = [text for one in forms for text in (one.normal if rule.action == "allow" else one.all)]
    patterns = (rule.pattern, address_forms.normal_pattern(rule.pattern))
    return any(_holds(pattern, rule.action, text) for pattern in patterns for text in known)


def _holds(pattern: str, action: Action, text: str) -> bool:
    """Return whether a pattern matches a text; that of a rule that does not allow also if only the direction of slashes differs."""
    if isinstance(text, AnySpelling):
        return action != "allow" and matches(key(pattern), text)
    if matches(pattern, text):
        return True
    return action != "allow" and "\\" in text and matches(pattern, text.replace("\\", "/"))


def merge(*rulesets: Sequence[Rule]) -> list[Rule]:
    """Return all rules in order, so that those of later rulesets win."""
    return [rule for ruleset in rulesets for rule in ruleset]


def strictness(action: Action) -> int:
    """Return a number that orders actions: allow before ask before deny."""
    return _STRICTNESS[action]


def most_restrictive(rules: Iterable[Rule]) -> Rule:
    """Return the strictest of the rules, the first of equal ones. Raises ValueError when there is none."""
    return max(rules, key=lambda rule: strictness(rule.action))


def evaluate_layers(
    permission: str,
    pattern: str,
    layers: Sequence[Sequence[Rule]],
    forms: Sequence[str] = (),
    command: CommandForms = NO_FORMS,
) -> Rule:
    """Return the strictest decision of several rulesets that must all allow: an agent's and those of its parents.

    Without layers the decision is `ask`.
    """
    return most_restrictive(
        evaluate(permission, pattern, layer, forms=forms, command=command) for layer in layers or [[]]
    )


def disabled(tools: Iterable[str], ruleset: Sequence[Rule]) -> set[str]:
    """Return the tools that can never run: the last rule for their permission denies every pattern."""
    return {tool for tool in tools if _is_denied_outright(permission_of(tool), ruleset)}


def _is_denied_outright(permission: str, ruleset: Sequence[Rule]) -> bool:
    for rule in reversed(ruleset):
        if matches(rule.permission, permission):
            return rule.pattern == "*" and rule.action == "deny"
    return False


def from_config(permission: JsonObject | str, *, home: Path) -> list[Rule]:
    """Return the rules of a settings value `action` or `{permission: action | {pattern: action}}`, in its order.

    A leading `~` or `$HOME` of a pattern becomes `home`. Raises ConfigError for anything that is not an action.
    """
    table: JsonObject = {"*": permission} if isinstance(permission, str) else permission
    rules: list[Rule] = []
    for name, value in table.items():
        patterns = cast(JsonObject, value) if isinstance(value, dict) else {"*": value}
        for pattern, action in patterns.items():
            rules.append(Rule(permission=name, pattern=expand_home(pattern, home), action=_action(name, action)))
    return rules


def expand_home(pattern: str, home: Path) -> str:
    """Return the pattern with a leading `~` or `$HOME` replaced by `home`; a backslash before it keeps it."""
    if pattern.startswith(("\\~", "\\$HOME")):
        return pattern[1:]
    head, slash, rest = pattern.partition("/")
    return f"{home}{slash}{rest}" if head in ("~", "$HOME") else pattern


def _action(permission: str, value: object) -> Action:
    for action in _STRICTNESS:
        if value == action:
            return action
    raise ConfigError(f'permission.{permission} is {value!r}; write "allow", "ask" or "deny" there')
