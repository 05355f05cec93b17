"""Settings one by one, as the settings page shows and changes them."""

from typing import Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record, absent

SettingKind = Literal["switch", "choice", "number", "text", "list", "object"]
"""How a value is typed; an `object` is edited in its file."""


class Setting(Record):
    """A setting: its path, its type, its meaning, and the value in effect with where it is from.

    `value` and `choices` are JSON, secrets redacted; the value is absent where no source has one, and `default` where the default
    is not a value of the schema. `source` is a file or a variable; `is_own` means the user's own file, the only one that is
    changed here. With `at_start` a change has its effect at the next start of the program.
    """

    path: list[str]
    kind: SettingKind
    about: str
    choices: list[str] = Field(default_factory=list[str])
    value: str | None = absent()
    default: str | None = absent()
    source: str = ""
    is_own: bool = False
    at_start: bool = False


class SettingList(Record):
    """All settings in the order of the schema, and the user's own file, which changes are written to."""

    settings: list[Setting]
    user_file: str


class SettingChange(Record):
    """A value to write, as JSON; without one the key is removed from the file."""

    path: list[str]
    value: str | None = absent()


class ChangedSetting(Record):
    """What a change did: the file, and the JSON that was there before, absent for none.

    Where the written value is not in effect, `problem` says why, or `overridden_by` is the file or variable whose value is.
    """

    file: str
    before: str | None = absent()
    problem: str = ""
    overridden_by: str = ""
