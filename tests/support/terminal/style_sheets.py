"""Screens that share parsed style sheets: hundreds in one process read the same texts, and parsing was a sixth of what one cost."""

from functools import cache
from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet


@cache
def share() -> None:
    """Let all style sheets of this process with the same variables parse a text once; they only read the rules."""
    parse = Stylesheet._parse_rules  # pyright: ignore[reportPrivateUsage] - Textual forgets what it has parsed at each change of theme
    parsed: dict[tuple[tuple[tuple[str, str], ...], tuple[Any, ...]], list[RuleSet]] = {}

    def parse_once(
        self: Stylesheet,
        css: str,
        read_from: Any,
        is_default_rules: bool = False,
        tie_breaker: int = 0,
        scope: str = "",
    ) -> list[RuleSet]:
        text = (css, read_from, is_default_rules, tie_breaker, scope)
        key = (tuple(self._variables.items()), text)  # pyright: ignore[reportPrivateUsage] - there is no public way to them
        if key not in parsed:
            parsed[key] = parse(self, *text)
        return parsed[key]

    Stylesheet._parse_rules = parse_once  # pyright: ignore[reportPrivateUsage] - as above
