"""What a field of the settings says about itself besides its type: `field: Annotated[TYPE, MARK, …] = None`.

`settings/fields.py` finds the marks by the path of a value.
"""

from enum import Enum, auto
from typing import Any

from msgspec import Struct

STARTS = "starts programs"
SENDS = "sends data elsewhere"
LOOSENS = "relaxes permissions"
READS_ENVIRONMENT = "reads a variable of your environment"
READS_OUTSIDE = "reads files outside the repository, or its secrets"
ADDS_SKILLS = "adds skills from elsewhere"
OPENS = "changes who can reach the server"
WEAKENS = "disables a protection"
REBINDS = "changes your keys, such as those that answer questions"
HIDES = "takes its value from a file"

NOTHING: tuple[Any, ...] = ({}, [])
"""Values that set nothing."""


class Trust(Struct, frozen=True):
    """The effect of a value that has none in the settings of a repository until it is trusted; empty for a harmless field.

    Values of `unless` are harmless. With `by_name`, the members of a map are judged one by one, each unless it is in `by_name`. A
    field of `is_text` is harmless with any value, so that the value may come from a file. Programs of a field that
    `starts_unasked` run outside the sandbox again and again, without a question.
    """

    effect: str = ""
    unless: tuple[Any, ...] = ()
    by_name: tuple[Any, ...] = ()
    is_text: bool = False
    starts_unasked: bool = False


HARMLESS = Trust()
HARMLESS_TEXT = Trust(is_text=True)

_SWITCHED_OFF = ({"enabled": False}, {"disabled": True})


def starts_each(*, unasked: bool = False) -> Trust:
    """Return the mark of a map of programs: each one starts unless it is switched off; false is none."""
    return Trust(STARTS, unless=(False,), by_name=_SWITCHED_OFF, starts_unasked=unasked)


class Default(Struct, frozen=True):
    """What is in effect where no source has a value: of a field that is None then, so that a later source can be told from none.

    Numbers and names of the network are constants of `schema/setting_defaults.py`, which what applies the setting uses too.
    """

    value: bool | int | float | str


class Former(Struct, frozen=True):
    """The field is the former name of another one: its name there."""

    now: str


class Mark(Enum):
    """Other properties of fields."""

    JOINED = auto()
    """A list that contains the members of all sources; other lists replace those of earlier sources."""

    NAMES_FOLDERS = auto()
    """A folder in its value means the content of the folder; elsewhere it is only a location."""

    UNSUPPORTED = auto()
    """A key of OpenCode that is not supported yet; reported once when its value would have an effect."""

    DESCRIPTIVE = auto()
    """It describes a model, a user or an agent to clients of the server, and has no effect in this program."""

    AT_START = auto()
    """It is read when the program starts; other settings when a folder is opened."""
