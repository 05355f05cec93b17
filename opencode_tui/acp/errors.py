"""Errors of the engine as errors of the protocol."""

from collections.abc import Generator
from contextlib import contextmanager

from acp.exceptions import RequestError

from opencode_tui.schema.error import AuthError, ConfigError, ModelNotFoundError, NotFoundError, OpencodeError
from opencode_tui.schema.session.stored_error import StoredAuthError, StoredError

_INTERNAL, _INVALID, _NOT_FOUND, _AUTH_REQUIRED = -32603, -32602, -32002, -32000


def refused(error: BaseException | StoredError) -> RequestError:
    """Return the protocol's error for a failure: its message is the one line that names the thing and the remedy."""
    match error:
        case RequestError():
            return error
        case AuthError() | StoredAuthError():
            return RequestError(_AUTH_REQUIRED, _text(error))
        case NotFoundError():
            return RequestError(_NOT_FOUND, _text(error))
        case ConfigError() | ModelNotFoundError():
            return RequestError(_INVALID, _text(error))
        case _:
            return RequestError(_INTERNAL, _text(error))


@contextmanager
def reporting() -> Generator[None]:
    """Raise errors of the engine as errors of the protocol."""
    try:
        yield
    except OpencodeError as error:
        raise refused(error) from error


def invalid(text: str) -> RequestError:
    """Return the error for wrong values of a request."""
    return RequestError(_INVALID, text)


def _text(error: BaseException | StoredError) -> str:
    if isinstance(error, OpencodeError):
        return str(error)
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}"
    return str(getattr(error.data, "message", "") or error.name)
