"""The logins of browsers, and the tickets with which their pages connect. Everything is in memory: a restart logs all out.

A login is a cookie and a key. The browser sends the cookie to every server on the same host, whatever its port; the page keeps the
key in the storage of its origin, so that no other server gets it. A ticket needs both.
"""

import secrets
import time
from collections.abc import Callable

from msgspec import Struct

LOGIN_S = 12 * 3600
"""Seconds that a login is valid."""

LINK_S = 600
"""Seconds that a login link is valid."""

TICKET_S = 30
"""Seconds that a ticket is valid."""

_LOGIN_LIMIT = 32
_TICKET_LIMIT = 64


class Login(Struct, frozen=True):
    """A new login of a browser."""

    cookie: str
    key: str


class _Entry(Struct, frozen=True):
    value: str
    end: float


class Access:
    """The logins, login links and tickets of one server; `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._links = _Secrets(4)
        self._logins = _Secrets(_LOGIN_LIMIT)
        self._tickets = _Secrets(_TICKET_LIMIT)

    def create_link(self) -> str:
        """Return a secret that logs one browser in, once, within `LINK_S`."""
        return self._links.create("", self._now() + LINK_S)

    def consume_link(self, secret: str) -> bool:
        """Return whether this is the secret of a login link that was not used yet."""
        return self._links.consume(secret, self._now()) is not None

    def log_in(self) -> Login:
        """Return a new login; the oldest one ends when there are too many."""
        key = secrets.token_urlsafe(32)
        return Login(self._logins.create(key, self._now() + LOGIN_S), key)

    def log_out(self, cookie: str) -> None:
        """End a login."""
        self._logins.consume(cookie, self._now())

    def is_logged_in(self, cookie: str) -> bool:
        """Return whether a cookie is that of a valid login."""
        return self._logins.find(cookie, self._now()) is not None

    def create_ticket(self, cookie: str, key: str) -> str | None:
        """Return a ticket for one connection with this cookie, None for a wrong cookie or key."""
        wanted = self._logins.find(cookie, self._now())
        if wanted is None or not secrets.compare_digest(wanted.encode(), key.encode("utf-8", "replace")):
            return None
        return self._tickets.create(cookie, self._now() + TICKET_S)

    def consume_ticket(self, cookie: str, ticket: str) -> bool:
        """Return whether a ticket is valid for this cookie; it is not a second time."""
        wanted = self._tickets.consume(ticket, self._now())
        return wanted is not None and secrets.compare_digest(wanted.encode(), cookie.encode("utf-8", "replace"))


class _Secrets:
    """Random texts with a value each, until their time ends; the oldest is deleted for one above the limit.

    A dict finds them by their hash, which is keyed: its time says nothing about a random text of 256 bits.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: dict[str, _Entry] = {}

    def create(self, value: str, end: float) -> str:
        """Return a new secret."""
        secret = secrets.token_urlsafe(32)
        self._entries[secret] = _Entry(value, end)
        if len(self._entries) > self._limit:
            del self._entries[next(iter(self._entries))]
        return secret

    def find(self, secret: str, now: float) -> str | None:
        """Return the value of a secret, None for an unknown or expired one."""
        entry = self._entries.get(secret)
        return entry.value if entry is not None and now < entry.end else None

    def consume(self, secret: str, now: float) -> str | None:
        """Return the value of a secret as `find` does, and delete it."""
        value = self.find(secret, now)
        self._entries.pop(secret, None)
        return value
