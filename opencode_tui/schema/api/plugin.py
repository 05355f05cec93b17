"""Installed plugins, as clients see them."""

from opencode_tui.schema.record import Record


class InstalledPlugin(Record):
    """A plugin. `parts` is a line for each thing that it brings, `problems` what is left out; texts are unsafe.

    A plugin that is not `is_on` stays installed, and has no effect. `commit` is empty for a folder that is no repository.
    """

    name: str
    version: str
    source: str
    commit: str
    is_on: bool
    parts: list[str]
    problems: list[str]


class PluginSwitch(Record):
    """Whether a plugin has an effect."""

    name: str
    is_on: bool
