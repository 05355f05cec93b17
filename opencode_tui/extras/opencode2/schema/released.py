"""What the released OpenCode 2 has beside its preview: requests and values as it documents them, not tried with its programs."""

from typing import Annotated, Literal

from opencode_tui.extras.opencode2.schema.session import (
    Delivery,
    GivenAgent,
    GivenFile,
    GivenPrompt,
    PromptRequest,
    PromptSource,
)
from opencode_tui.extras.opencode2.schema.value import Value
from opencode_tui.schema.field import Field
from opencode_tui.schema.record import JsonObject, NoNul, absent

MessageId = Annotated[NoNul, Field(pattern=r"^msg_")]


class ServerPaths(Value):
    """Folders of the server's machine."""

    tmp: str
    home: str


class ServerInfo(Value):
    """Which server answers, and where."""

    version: str
    pid: int
    urls: list[str]
    paths: ServerPaths


class SessionChange(Value):
    """What of a session is changed. `metadata` and `permissions` are refused: a client sets neither."""

    title: NoNul | None = absent()
    metadata: JsonObject | None = absent()
    permissions: list[JsonObject] | None = absent()


class SessionTitle(Value):
    """The new title of a session."""

    title: NoNul


class ForkRequest(Value):
    """The message before which a fork ends, without one behind the last."""

    before: MessageId | None = absent()


class FlatPrompt(Value):
    """A prompt whose text is a field of the request itself."""

    id: MessageId | None = absent()
    text: str
    files: list[GivenFile] | None = absent()
    agents: list[GivenAgent] | None = absent()
    delivery: Delivery | None = absent()
    resume: bool | None = absent()

    def request(self) -> PromptRequest:
        """Return it in the form of the preview."""
        prompt = GivenPrompt(text=self.text, files=self.files, agents=self.agents)
        return PromptRequest(id=self.id, prompt=prompt, delivery=self.delivery, resume=self.resume)


class Question(Value):
    """A question about a session that is not a part of it."""

    prompt: Annotated[str, Field(min_length=1)]


class ShellCommand(Value):
    """A shell command of the user."""

    id: MessageId | None = absent()
    command: NoNul


class CommandRequest(Value):
    """A slash command; `text` is what follows its name."""

    name: NoNul
    text: str = ""
    files: list[GivenFile] | None = absent()
    agents: list[GivenAgent] | None = absent()
    delivery: Delivery | None = absent()


class DeliveryChange(Value):
    """When a request that waits is read."""

    delivery: Delivery


class FileOrigin(Value):
    """Where the content of a file came from."""

    type: Literal["inline", "uri"]
    uri: str | None = absent()


class WaitingFile(Value):
    """A file of a request that waits; `data` is base64, empty for a file that is read when the request is."""

    data: str
    mime: str
    source: FileOrigin
    name: str | None = absent()
    mention: PromptSource | None = absent()


class WaitingAgent(Value):
    """An agent that a request names."""

    name: str
    mention: PromptSource | None = absent()


class WaitingPrompt(Value):
    """What a request that waits says."""

    text: str
    files: list[WaitingFile] | None = absent()
    agents: list[WaitingAgent] | None = absent()


class CreatedTime(Value):
    """Milliseconds since 1970."""

    created: int


class WaitingRequest(Value):
    """A request that no step has read."""

    id: str
    session_id: str
    time: CreatedTime
    type: Literal["user"] = "user"
    payload: WaitingPrompt
    delivery: Delivery
