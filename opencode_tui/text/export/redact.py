"""A conversation without secrets and personal data, and the report of what was left out."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from opencode_tui.redaction import detectors
from opencode_tui.redaction.session import ENV_FILE, HOME, OUTPUT, USER, Person, Redactor
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import MESSAGE
from opencode_tui.schema.session.part import PART
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import plural

_NOUNS = {
    detectors.KEY: "key",
    detectors.PRIVATE_KEY: "private key",
    detectors.PASSWORD: "secret value",
    detectors.ADDRESS: "password in an address",
    detectors.EMAIL: "e-mail address",
    HOME: "mention of the home folder",
    USER: "mention of the user name",
    ENV_FILE: "value of an .env file",
    OUTPUT: "tool output",
}
_MANY = {
    detectors.ADDRESS: "passwords in addresses",
    HOME: "mentions of the home folder",
    USER: "mentions of the user name",
    ENV_FILE: "values of .env files",
}


def users_redactor(tools: Sequence[str] = (), *, is_full: bool = True) -> Redactor:
    """Return a redactor for this machine's user; it leaves out the outputs of these tools, and all else if `is_full`."""
    return Redactor(Person.of(os.environ, str(Path.home())), tools=tools, is_full=is_full)


def redact_info(info: SessionInfo, redactor: Redactor) -> SessionInfo:
    """Return the session's record as the redactor leaves it."""
    return SessionInfo.model_validate(redactor.session(info.to_dict()))


def redact_messages(messages: Iterable[MessageWithParts], redactor: Redactor) -> Iterator[MessageWithParts]:
    """Yield the messages as the redactor leaves them."""
    for message in messages:
        info = MESSAGE.validate_python(redactor.message(message.info.to_dict()))
        yield with_parts(info, [PART.validate_python(redactor.part(part.to_dict())) for part in message.parts])


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return what was left out, as `2 keys, 1 e-mail address`; empty if there is none."""
    kinds = [kind for kind in _NOUNS if counts.get(kind)]
    return ", ".join(
        f"{counts[kind]} {_MANY[kind]}" if kind in _MANY and counts[kind] != 1 else plural(counts[kind], _NOUNS[kind])
        for kind in kinds
    )
