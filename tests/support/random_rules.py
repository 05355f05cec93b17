"""Random lists of permission rules in the form of OpenCode 2, and calls that they may be about."""

import random
from collections.abc import Iterator
from typing import Any

ACTIONS = (
    "*", "read", "edit", "bash", "glob", "grep", "webfetch", "websearch", "external_directory", "question", "skill",
    "todowrite", "gh_list", "e*", "*d*", "?ash", "b*", "gl?b", "gh_*", "*_directory", "*t", "re*d",
)  # fmt: skip
CALLED = (
    "read", "edit", "bash", "glob", "grep", "webfetch", "websearch", "external_directory", "question", "skill",
    "todowrite", "gh_list", "gh_write",
)  # fmt: skip
RESOURCES = (
    "*", "**", "*", "src/*", "src/a.py", "*.env", "*.env.*", "git *", "git push *", "git push", "ls", "ls *", "ls **", "?",
    "~", "~/", "~/notes/*", "$HOME/x", "$HOME", "~x/*", "/etc/*", "/etc/passwd", "a\\b", "a?b", "rm -rf [x]", "(x|y)+",
    "https://example.com/*", "*secret*", " *", "* *", "", "ö*", "a.b", "a/*/c", "^x$",
)  # fmt: skip
FILLINGS = ("", "a", "x/y", "-rf", " ", "main", "b.env", "\n", "passwd", "src/a.py", "ö", "[x]", "a\\b", "\\", "~", ".")
EFFECTS = ("allow", "ask", "deny")


def rules(chance: random.Random, longest: int = 8) -> list[dict[str, str]]:
    """Return a list of rules."""
    return [
        {"action": chance.choice(ACTIONS), "resource": _resource(chance), "effect": chance.choice(EFFECTS)}
        for _ in range(chance.randint(0, longest))
    ]


def calls(chance: random.Random, given: list[dict[str, str]], count: int, home: str) -> Iterator[tuple[str, list[str]]]:
    """Yield calls, (action, resources), of which most match some rule."""
    for _ in range(count):
        action = chance.choice(CALLED)
        patterns = [rule["resource"] for rule in given] or ["*"]
        yield action, [_filled(chance, chance.choice(patterns), home) for _ in range(chance.choice((1, 1, 1, 2, 3)))]


def _resource(chance: random.Random) -> str:
    resource = chance.choice(RESOURCES)
    return resource + chance.choice(("*", "?", " *", "x")) if chance.random() < 0.1 else resource


def _filled(chance: random.Random, pattern: str, home: str) -> str:
    if chance.random() < 0.15:
        return chance.choice(RESOURCES)
    text = pattern
    if chance.random() < 0.7 and text.partition("/")[0] in ("~", "$HOME"):
        text = home + text.removeprefix("~").removeprefix("$HOME")
    if text.endswith(" *") and chance.random() < 0.3:
        text = text[:-2]
    if chance.random() < 0.1:
        text = text.replace("/", "\\")
    return "".join(
        chance.choice(FILLINGS) if sign == "*" else chance.choice("ab/ö") if sign == "?" else sign for sign in text
    )


def preview_effect(given: list[dict[str, Any]], action: str, resources: list[str], home: str) -> str:
    """Return what the evaluator of the preview decides, stated in few words: the last rule that matches, the strictest effect."""
    effects = [_effect(given, action, resource, home) for resource in resources]
    return max(effects, key=EFFECTS.index)


def _effect(given: list[dict[str, Any]], action: str, resource: str, home: str) -> str:
    for rule in reversed(given):
        pattern = rule["resource"]
        if rule["action"] in ("read", "edit", "external_directory") and pattern.partition("/")[0] in ("~", "$HOME"):
            pattern = home + pattern.removeprefix("~").removeprefix("$HOME")
        if _matches(rule["action"], action) and _matches(pattern, resource):
            return rule["effect"]
    return "ask"


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a whole text, sign by sign; slashes of both directions are alike."""
    pattern, text = pattern.replace("\\", "/"), text.replace("\\", "/")
    if pattern.endswith(" *") and _covers(pattern[:-2], text):
        return True
    return _covers(pattern, text)


def _covers(pattern: str, text: str) -> bool:
    reached = {0}
    for sign in pattern:
        if sign == "*":
            reached = set(range(min(reached, default=len(text) + 1), len(text) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(text) and sign in ("?", text[at])}
    return len(text) in reached
