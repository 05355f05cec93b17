"""The credentials of the server: one password, by basic or bearer authorization, compared in constant time."""

import base64
import binascii
import hmac

from msgspec import Struct

from opencode_tui.schema.http_headers import DEFAULT_USERNAME


class Credentials(Struct, frozen=True):
    """The user name and the password of a server."""

    password: str
    username: str = DEFAULT_USERNAME

    def __repr__(self) -> str:
        return f"Credentials(username={self.username!r})"  # without the password

    def admits(self, authorization: bytes | None) -> bool:
        """Return whether an `Authorization` header is valid, in a time independent of the password."""
        scheme, _, given = (authorization or b"").strip().partition(b" ")
        match scheme.lower():
            case b"bearer":
                return hmac.compare_digest(given.strip(), self.password.encode())
            case b"basic":
                return self._admits_basic(given.strip())
            case _:
                return False

    def _admits_basic(self, encoded: bytes) -> bool:
        try:
            given = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return False
        username, _, password = given.partition(b":")
        is_user = hmac.compare_digest(username, self.username.encode())
        return hmac.compare_digest(password, self.password.encode()) and is_user
