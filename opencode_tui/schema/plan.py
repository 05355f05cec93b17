"""The steps of a plan that an agent wrote, as Markdown."""

import re

from msgspec import Struct

_NUMBERED = re.compile(r"^ {0,3}\d+[.)]\s+(.*\S)")
_BULLET = re.compile(r"^ {0,3}[-*+]\s+(.*\S)")
_HEADING = re.compile(r"^#{2,6}\s+(.*\S)")
_BOX = re.compile(r"^\[[ xX]\]\s+")
_CODE = re.compile(r"`([^`]+)`")
_FILE = re.compile(r"^[\w./@~-]*\w\.\w{1,8}$|^[\w.@~-]+(?:/[\w.@~-]+)+/?$")
_MARKS = re.compile(r"\*\*|__|`")


class PlanStep(Struct, frozen=True):
    """A step in one line, and the files that it names."""

    text: str
    files: tuple[str, ...] = ()


def steps_of(plan: str) -> list[PlanStep]:
    """Return the steps of a plan: its numbered items, else its bullets, else its headings, else its lines."""
    lines = plan.splitlines()
    for kind in (_NUMBERED, _BULLET, _HEADING):
        if found := [match[1] for line in lines if (match := kind.match(line))]:
            return [_step(text) for text in found]
    return [_step(line.strip()) for line in lines if line.strip() and not line.startswith("#")]


def _step(text: str) -> PlanStep:
    text = _BOX.sub("", text)
    files = dict.fromkeys(code for code in _CODE.findall(text) if _FILE.match(code))
    return PlanStep(_MARKS.sub("", text), tuple(files))
