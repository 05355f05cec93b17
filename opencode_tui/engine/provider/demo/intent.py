"""Reads a plain English request into goals: sentence pieces that begin with a verb, each matched against a table of rules.

Tolerant of courtesy and word order, never of guesses: what cannot be followed is `Unclear` with the reason, what is no request
gives no goal.
"""

import re

from opencode_tui.engine.provider.demo.goals import FollowPlan, Goal, Unclear, WritePlan
from opencode_tui.engine.provider.demo.phrase import Phrase
from opencode_tui.engine.provider.demo.rules import Reader, first_goals

_VERBS = (
    r"read|show|open|display|cat|print|view|look (?:at|for)|summari[sz]e|explain|describe|where|what|which|find|search|grep|locate"
    r"|list|create|make|write|generate|add|append|insert|put|save|overwrite|edit|change|replace|rename|substitute|run|execute|launch"
    r"|start|try|tests?"
)
_LINKS = r"(?:(?:and|then|after that|afterwards|finally|next|also|please|now|you)[\s,]+)*"
_SEPARATOR = re.compile(
    rf"(?:[,.;!?]+\s+|\s*\n\s*|\s+(?=(?:and|then)\b))(?:[-*]\s+|\d+[.)]\s+)?{_LINKS}(?=(?:{_VERBS})\b)"
    rf"|:\s+{_LINKS}(?=(?:replace|change|rename|add|append|insert)\b)",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\A(?:(?:hi|hello|hey)(?: there)?\b|please\b|ok(?:ay)?\b|(?:now|then|first(?:ly)?|next|finally|just|also|and)\b"
    r"|go ahead and\b|(?:can|could|would|will) you\b|i(?:'d like| would like| want| need) (?:you )?to\b|let(?:'s| us)\b"
    r"|you should\b)[\s,!.:]*",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\A(?:(?:make|write|create|draw up|give|show|prepare)\s+)?(?:me\s+)?(?:a\s+|the\s+)?(?:short\s+)?"
    r"(?:to-?dos?(?: list)?|plan)(?![\w./-])\s*(?:(?:for|to|of|how to|out|with|that)\b)?[\s:]*(?P<topic>.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_FOLLOW = re.compile(
    r"\A(?:yes\b[\s,!]*)?(?:do (?:it|that|so)|go ahead|go on|carry (?:it |that |the plan )?out"
    r"|(?:execute|follow|start) (?:it|the plan))[\s.!]*\Z",
    re.IGNORECASE,
)
_PLAN_LENGTH = 8
_FOREIGN = "I do not understand"
_LONGEST_REQUEST = 2_000
"""Characters without what is quoted; a longer text is no plain request, and patterns would search it for long."""


def read_goals(text: str) -> list[Goal]:
    """Return what the text asks for, in order; empty when it asks for nothing that the demo model knows."""
    phrase = Phrase(text)
    masked = _strip_courtesy(phrase.masked)
    if len(masked) > _LONGEST_REQUEST:
        return []
    if _FOLLOW.match(masked):
        return [FollowPlan()]
    if plan := _PLAN.match(masked):
        return [WritePlan(_plan_items(phrase, plan["topic"]))]
    reader = Reader(phrase)
    goals = [goal for clause in _clauses(masked) for goal in _read_clause(reader, clause)]
    return goals if any(not _is_foreign(goal) for goal in goals) else []


def _clauses(masked: str) -> list[str]:
    return [clause for piece in _SEPARATOR.split(masked) if (clause := _strip_courtesy(piece))]


def _strip_courtesy(text: str) -> str:
    text = text.strip()
    while match := _COURTESY.match(text):
        text = text[match.end() :]
    return re.sub(r"\A(?:[-*]|\d+[.)])\s+", "", text)


def _plan_items(phrase: Phrase, topic: str) -> tuple[str, ...]:
    topic = topic.strip()
    clauses = [phrase.words(clause) for clause in _clauses(topic)]
    if clauses and all(read_goals(clause) for clause in clauses):
        return tuple(clause[0].upper() + clause[1:] for clause in clauses[:_PLAN_LENGTH])
    pieces = re.split(r"\s*(?:[\n;]|,(?:\s*and\b)?)\s*(?:[-*]\s+|\d+[.)]\s+)?", topic)
    pieces[-1:] = re.split(r"\s+and\s+", pieces[-1]) if len(pieces) > 1 else pieces[-1:]
    named = [words for piece in pieces if (words := phrase.words(piece))]
    if len(named) > 1:
        return tuple(named[:_PLAN_LENGTH])
    subject = named[0] if named else "the work"
    return ("List the files", f"Make the change: {subject}", "Run the tests", "Look at the result together")


def _read_clause(reader: Reader, clause: str) -> list[Goal]:
    """Return the goals of one clause, and remember the file that it names for the next."""
    goals = first_goals(reader, clause)
    named = [path for goal in goals if (path := getattr(goal, "path", None))] or reader.phrase.paths(clause)
    if named:
        reader.path = named[-1]
    if goals or re.match(r"(?:edit|open|in|change)\b", clause, re.IGNORECASE):
        return goals
    if re.match(rf"(?:{_VERBS})\b", clause, re.IGNORECASE):
        return [Unclear(f"{_FOREIGN} “{reader.phrase.words(clause)}”")]
    return []


def _is_foreign(goal: Goal) -> bool:
    return isinstance(goal, Unclear) and goal.reason.startswith(_FOREIGN)
