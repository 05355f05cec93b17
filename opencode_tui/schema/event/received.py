"""Validates the events that a server sends."""

from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter

from opencode_tui.schema.event import event, folder_event, screen_event

Received = Annotated[
    event.SessionEvent | folder_event.FolderEvent | screen_event.ScreenEvent, Field(discriminator="type")
]

STRUCTURAL: TypeAdapter[event.StructuralEvent] = TypeAdapter(Received, config=ConfigDict(defer_build=True))
"""Validates an event in the form `{type, **properties}`."""
