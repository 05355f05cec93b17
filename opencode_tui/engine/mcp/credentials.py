"""What sign-ins to MCP servers left: `mcp-auth.json` in OpenCode's format, an entry for each server by name.

    {name: {tokens: {accessToken, refreshToken, expiresAt, scope}, clientInfo: {clientId, clientSecret, …}, serverUrl, signIn: {…}}}

Times are seconds since 1970. An entry counts only for the address that it was made for: a server of the same name with another
address has none. Only a finished sign-in replaces the tokens of another address. `signIn` is ours, what a later refresh needs;
OpenCode's `codeVerifier` and `oauthState` are kept as they are.
"""

import hashlib
import itertools
import logging
import time
from collections.abc import Callable

from msgspec import Struct
from pydantic.alias_generators import to_camel

from opencode_tui.config.secret_file import SecretFile
from opencode_tui.schema.api.mcp import SignInState
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.record import JsonObject, Record, ValidationError, absent
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.process_lock import ProcessLock

logger = logging.getLogger(__name__)

MARGIN_S = 5.0
"""Seconds before its end in which a token is not used any more."""

LONGEST_REFRESH_MS = 60_000
"""Milliseconds to wait for another process that refreshes a token."""


class SignInTerms(Struct, frozen=True):
    """The server to sign in to, what the settings say about it, and where the browser is sent at the end."""

    name: str
    url: str
    redirect: str
    client_id: str | None = None
    client_secret: str | None = None
    scope: str | None = None


class Tokens(Record):
    """The tokens of a server."""

    access_token: str
    refresh_token: str | None = absent()
    expires_at: float | None = absent()
    scope: str | None = absent()

    @property
    def is_expired(self) -> bool:
        """Whether the access token must not be used any more."""
        return self.expires_at is not None and self.expires_at - MARGIN_S <= time.time()


class ClientInfo(Record):
    """This program as an authorization server registered it. Names as OpenCode writes them here: `clientId`."""

    wire_name = staticmethod(to_camel)

    client_id: str
    client_secret: str | None = absent()
    client_id_issued_at: float | None = absent()
    client_secret_expires_at: float | None = absent()

    @property
    def is_expired(self) -> bool:
        """Whether its secret has expired; 0 is never."""
        return bool(self.client_secret_expires_at) and (self.client_secret_expires_at or 0) <= time.time()


class SignInDetails(Record):
    """What OpenCode's format has no field for: who issued the tokens and how to refresh them.

    `method` is how the client identifies itself at the token endpoint, `redirect` the address that it registered. `challenge` is
    the header with which the server demanded a sign-in that has not happened yet.
    """

    issuer: str | None = absent()
    token_endpoint: str | None = absent()
    method: str | None = absent()
    resource: str | None = absent()
    redirect: str | None = absent()
    challenge: str | None = absent()


class SignInEntry(Record):
    """All that is stored about the sign-in to a server."""

    tokens: Tokens | None = absent()
    client_info: ClientInfo | None = absent()
    server_url: str | None = absent()
    sign_in: SignInDetails | None = absent()

    @property
    def details(self) -> SignInDetails:
        """Our details, empty ones where there are none."""
        return self.sign_in or SignInDetails()

    @property
    def state(self) -> SignInState:
        """Whether the server may be used with it."""
        if self.tokens is None:
            return "none"
        return "expired" if self.tokens.is_expired and self.tokens.refresh_token is None else "signed_in"


class _Unsaved(Struct, frozen=True):
    """The outcome of a refresh that could not be written, and the refresh token that the file still has."""

    stored: str
    fields: dict[str, object]


class McpCredentials:
    """The stored sign-ins. All methods block for a small file, which is read again only when it changed.

    In memory only are the client and the demand of a server whose name has the tokens of another address in the file, and the
    outcome of a refresh that could not be written.
    """

    def __init__(self, paths: Paths) -> None:
        self._file = SecretFile(paths.mcp_auth, kind="MCP servers", paths=paths)
        self._locks = Locks(paths)
        self._last: list[str] = []
        self._warnings = itertools.count()  # counts without a lock
        self._others: dict[tuple[str, str], SignInEntry] = {}
        self._unsaved: dict[tuple[str, str], _Unsaved] = {}

    def find(self, name: str, url: str) -> SignInEntry:
        """Return the entry of a server at this address, an empty one without. Raises ConfigError for a damaged file."""
        return self._entry(name, url, _parse(self._file.current().get(name)))

    def _entry(self, name: str, url: str, stored: SignInEntry | None) -> SignInEntry:
        """Return the entry of a server at this address, of what the file has under its name and of what is in memory."""
        if stored is None or stored.server_url != url:
            return self._others.get((name, url)) or SignInEntry(server_url=url)
        unsaved = self._unsaved.get((name, url))
        is_current = unsaved is not None and stored.tokens is not None and stored.tokens.refresh_token == unsaved.stored
        return stored.changed(**unsaved.fields) if unsaved is not None and is_current else stored

    def secrets(self) -> list[str]:
        """Return all tokens and client secrets. Raises ConfigError for a damaged file."""
        found: list[str | None] = []
        unsaved = [SignInEntry().changed(**one.fields) for one in list(self._unsaved.values())]
        stored = [_parse(entry) or SignInEntry() for entry in self._file.current().values()]
        for entry in [*stored, *list(self._others.values()), *unsaved]:
            tokens, client = entry.tokens, entry.client_info
            found += [tokens.access_token, tokens.refresh_token] if tokens else []
            found += [client.client_secret] if client else []
        return [secret for secret in found if secret]

    def known_secrets(self, warn: Callable[[str], None]) -> list[str]:
        """Return all tokens and client secrets; while the file is damaged, those last known, and call `warn` once."""
        try:
            self._last = self.secrets()
        except ConfigError as error:
            if next(self._warnings) == 0:
                warn(f"{error}; until then outputs may show the tokens in it")
        return self._last

    def store(self, name: str, url: str, **fields: object) -> SignInEntry:
        """Replace these fields of a server's entry and return it. Raises OpencodeError.

        An entry for another address is dropped; if it has tokens, only by new tokens: all else stays in memory then.
        """
        return self._change(name, url, lambda _entry: fields)

    def renew(self, name: str, url: str, sent: str, **fields: object) -> SignInEntry:
        """Replace fields after a refresh, if the entry still has the refresh token that was sent; return the entry that counts now.

        New tokens that cannot be written are used from memory, until `save` or another change writes them. Raises OpencodeError
        for a damaged file, and where a deletion cannot be written.
        """

        def choose(entry: SignInEntry) -> dict[str, object] | None:
            # A sign-in that ended during the refresh has newer tokens, and a sign-out deleted them.
            return fields if entry.tokens is not None and entry.tokens.refresh_token == sent else None

        try:
            return self._change(name, url, choose)
        except OpencodeError as error:
            if fields.get("tokens") is None:
                raise
            before, stored = self._unsaved.get((name, url)), _parse(self._file.current().get(name))
            is_stored = stored is not None and stored.tokens is not None and stored.tokens.refresh_token == sent
            self._unsaved[name, url] = _Unsaved(sent if before is None or is_stored else before.stored, fields)
            logger.warning("the refreshed token of the MCP server %s is kept in memory only: %s", name, error)
            return self.find(name, url)

    def is_unsaved(self, name: str, url: str) -> bool:
        """Return whether the outcome of a refresh waits to be written."""
        return (name, url) in self._unsaved

    def save(self, name: str, url: str) -> None:
        """Write the outcome of a refresh that could not be written before, if it still counts. Raises OpencodeError."""
        self._change(name, url, lambda entry: {} if entry.tokens is not None else None)

    def _change(self, name: str, url: str, choose: Callable[[SignInEntry], dict[str, object] | None]) -> SignInEntry:
        """Replace the fields that `choose` returns for the entry, none for None, and return the entry. Raises OpencodeError."""
        changed: list[SignInEntry] = []
        unsaved = self._unsaved.get((name, url))

        def change(entries: dict[str, JsonObject]) -> None:
            stored = _parse(entries.get(name))
            entry = self._entry(name, url, stored)
            fields = choose(entry)
            changed.append(entry if fields is None else entry.changed(**fields))
            if fields is None:
                return
            is_other = stored is not None and stored.server_url != url
            if is_other and stored is not None and stored.tokens is not None and fields.get("tokens") is None:
                self._others[name, url] = changed[0]
            else:
                entries[name] = changed[0].to_dict()

        self._file.change(change)
        if unsaved is not None and self._unsaved.get((name, url)) is unsaved:
            del self._unsaved[name, url]
        if self._others.get((name, url)) is not changed[0]:
            self._others.pop((name, url), None)
        return changed[0]

    def remove(self, name: str) -> bool:
        """Delete the entry of a server, for whatever address; return whether there was one. Raises OpencodeError."""
        removed: list[JsonObject | None] = []
        self._file.change(lambda entries: removed.append(entries.pop(name, None)))
        for memory in (self._others, self._unsaved):
            for key in [key for key in list(memory) if key[0] == name]:
                memory.pop(key, None)
        return removed[0] is not None

    def refreshing(self, name: str) -> ProcessLock:
        """Return the lock under which one process refreshes the token of a server. It is not reentrant."""
        return self._locks.sign_in(hashlib.sha256(name.encode()).hexdigest()[:16])


def _parse(entry: JsonObject | None) -> SignInEntry | None:
    """Return a stored entry, None for one that is missing or not of this form."""
    try:
        return None if entry is None else SignInEntry.model_validate(entry)
    except ValidationError:
        return None
