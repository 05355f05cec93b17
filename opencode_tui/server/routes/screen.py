"""Requests of a client to the open screens, which act on the events that these routes publish."""

from typing import Annotated, Any

from fastapi import Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field, TypeAdapter, ValidationError

from opencode_tui.schema.event.screen_event import (
    ScreenCommandGiven,
    ScreenEvent,
    ScreenSessionSelected,
    ScreenTextAppended,
    ScreenToastShown,
)
from opencode_tui.schema.record import Record
from opencode_tui.server.answer import answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("tui", prefix="/tui")

ACTIONS = {
    "open-help": "help.show",
    "open-sessions": "session.list",
    "open-themes": "theme.list",
    "open-models": "model.list",
    "submit-prompt": "prompt.submit",
    "clear-prompt": "prompt.clear",
}
"""Action by route."""

_OLD_ACTIONS = {
    "session_new": "session.new",
    "session_share": "session.share",
    "session_interrupt": "session.interrupt",
    "session_compact": "session.compact",
    "messages_page_up": "session.page.up",
    "messages_page_down": "session.page.down",
    "messages_line_up": "session.line.up",
    "messages_line_down": "session.line.down",
    "messages_half_page_up": "session.half.page.up",
    "messages_half_page_down": "session.half.page.down",
    "messages_first": "session.first",
    "messages_last": "session.last",
    "agent_cycle": "agent.cycle",
}
"""Names that older clients use."""


class ScreenMessage(Record):
    """An event of the screens as it travels."""

    type: str
    properties: dict[str, Any]


_EVENT: TypeAdapter[ScreenEvent] = TypeAdapter(Annotated[ScreenEvent, Field(discriminator="type")])


@router.post("/append-prompt", response_model=bool)
async def append_prompt(client: FolderClient, event: ScreenTextAppended) -> Response:
    """Put text into the prompt."""
    return await _publish(client, event)


@router.post("/show-toast", response_model=bool)
async def show_toast(client: FolderClient, event: ScreenToastShown) -> Response:
    """Show a short note."""
    return await _publish(client, event)


@router.post("/select-session", response_model=bool)
async def select_session(client: FolderClient, event: ScreenSessionSelected) -> Response:
    """Go to a session."""
    await client.sessions.get(event.session_id)
    return await _publish(client, event)


@router.post("/execute-command", response_model=bool)
async def execute_command(client: FolderClient, event: ScreenCommandGiven) -> Response:
    """Carry out an action."""
    return await _publish(client, ScreenCommandGiven(command=_OLD_ACTIONS.get(event.command, event.command)))


@router.post("/publish", response_model=bool)
async def publish(client: FolderClient, message: ScreenMessage) -> Response:
    """Publish any of the screens' events."""
    written = {**message.properties, "type": message.type}
    try:
        event = _EVENT.validate_python(written)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False), body=written) from error
    return await _publish(client, event)


def _add_action(name: str, action: str) -> None:
    async def act(client: FolderClient) -> Response:
        return await _publish(client, ScreenCommandGiven(command=action))

    router.add_api_route(f"/{name}", act, methods=["POST"], response_model=bool, name=name, summary=f"Do {action}.")


async def _publish(client: FolderClient, event: ScreenEvent) -> Response:
    await client.screen.publish(event)
    return answer_value(True)


for _name, _action in ACTIONS.items():
    _add_action(_name, _action)
