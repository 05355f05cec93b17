"""Requests of a client to the open screens, which act on the events that these routes publish."""

from typing import Annotated, Any

from fastapi import Body, Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError

from opencode_tui.schema.api.keybinds import COMMANDS
from opencode_tui.schema.event.screen_event import (
    ScreenCommandGiven,
    ScreenEvent,
    ScreenSessionSelected,
    ScreenTextAppended,
    ScreenToastShown,
)
from opencode_tui.schema.field import Field
from opencode_tui.schema.json_text import JsonError, load_json
from opencode_tui.schema.record import Reader, Record, ValidationError
from opencode_tui.server.answer import LateAnswer, answer_value
from opencode_tui.server.request import FolderClient, ServerServices
from opencode_tui.server.router import new_router
from opencode_tui.server.screen_requests import ScreenRequest

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

_OLD_NAMES = {action.id: name for name, action in COMMANDS.items()} | {"session_share": "session.share"}
"""OpenCode's commands by the names that older clients use."""


class ScreenMessage(Record):
    """An event of the screens as it travels."""

    type: str
    properties: dict[str, Any]


class ScreenRequestForm(Record):
    """A request to the screens: its path, and its body, null without one."""

    path: str
    body: Any


_EVENT: Reader[ScreenEvent] = Reader(Annotated[ScreenEvent, Field(discriminator="type")])


class ScreenSender:
    """Sends what one request asks of the screens."""

    def __init__(self, client: FolderClient, services: ServerServices, request: Request) -> None:
        self.client = client
        self._screens = services.screens
        self._request = request

    async def send(self, event: ScreenEvent) -> Response:
        """Publish the event, queue the request as it came, and return that this was done.

        Raises HTTPException, with nothing published, when the body is not JSON.
        """
        text = await self._request.body()
        try:
            body: Any = load_json(text) if text.strip() else None
        except JsonError as error:
            raise HTTPException(400) from error
        await self.client.screen.publish(event)
        await self._screens.add(ScreenRequest(self._request.scope["path"], body))
        return answer_value(True)


Sender = Annotated[ScreenSender, Depends()]


@router.get("/control/next", response_model=ScreenRequestForm)
async def wait_for_request(services: ServerServices) -> Response:
    """Wait for the next request to the screens and return its path and body."""
    return LateAnswer(services.screens.next())


@router.post("/control/response", response_model=bool)
async def accept_answer(_answer: Annotated[Any, Body()] = None) -> Response:
    """Accept the answer of a screen to a request that it fetched; nothing waits for it."""
    return answer_value(True)


@router.post("/append-prompt", response_model=bool)
async def append_prompt(sender: Sender, event: ScreenTextAppended) -> Response:
    """Put text into the prompt."""
    return await sender.send(event)


@router.post("/show-toast", response_model=bool)
async def show_toast(sender: Sender, event: ScreenToastShown) -> Response:
    """Show a short note."""
    return await sender.send(event)


@router.post("/select-session", response_model=bool)
async def select_session(sender: Sender, event: ScreenSessionSelected) -> Response:
    """Go to a session."""
    await sender.client.sessions.get(event.session_id)
    return await sender.send(event)


@router.post("/execute-command", response_model=bool)
async def execute_command(sender: Sender, event: ScreenCommandGiven) -> Response:
    """Carry out an action."""
    return await sender.send(ScreenCommandGiven(command=_OLD_NAMES.get(event.command, event.command)))


@router.post("/publish", response_model=bool)
async def publish(sender: Sender, message: ScreenMessage) -> Response:
    """Publish any of the screens' events."""
    written = {**message.properties, "type": message.type}
    try:
        event = _EVENT.validate_python(written)
    except ValidationError as error:
        raise RequestValidationError(error.errors(), body=written) from error
    return await sender.send(event)


def _add_action(name: str, action: str) -> None:
    async def act(sender: Sender) -> Response:
        return await sender.send(ScreenCommandGiven(command=action))

    router.add_api_route(f"/{name}", act, methods=["POST"], response_model=bool, name=name, summary=f"Do {action}.")


for _name, _action in ACTIONS.items():
    _add_action(_name, _action)
