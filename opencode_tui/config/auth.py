"""Credentials of the providers: `auth.json` in OpenCode's format, `{provider: {"type": "api", "key": …}}`.

Entries of other kinds (oauth, wellknown) are kept unchanged. That of the sign-in with ChatGPT is ours, `engine/provider/chatgpt/`
writes it: `{"type": "chatgpt", "current": ID, "accounts": {ID: {"accessToken", "refreshToken", "planUsage", …}}}`. No message
contains a key.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config.secret_file import SecretFile
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.paths import Paths

SEARCH_SERVICES = frozenset({"brave", "tavily"})
"""The IDs under which keys of search services are stored; they have no models."""

CHATGPT = "chatgpt"
"""The provider of the sign-in with ChatGPT, and the kind of its entry."""

_VARIABLE = re.compile(r"\{env:(\w+)\}")
_PROVIDER = re.compile(r"[A-Za-z0-9][\w.:@/-]{0,199}")


def describe_override(
    provider_id: str, effective: JsonObject, sources: Mapping[str, str], environ: Mapping[str, str]
) -> str:
    """Return one line about a key in the settings that is used in the place of a provider's stored one; empty without one.

    `effective` and `sources` are those of the loaded settings. The line names the file, and the variable that has the key.
    """
    setting = f"provider.{provider_id}.options.apiKey"
    found: Any = effective
    for name in ("provider", provider_id, "options", "apiKey"):
        found = cast("JsonObject", found).get(name) if isinstance(found, dict) else None
    if not found:
        return ""
    source = sources.get(setting, "your settings")
    variable = next((name for name in _variables_in(source) if environ.get(name) == found), "")
    named = f" (from the variable {variable})" if variable else ""
    return f"{setting}{named} is used instead of the stored key; remove it from {source} to use the stored one"


def _variables_in(source: str) -> list[str]:
    """Return the variables that a settings file names, `{env:NAME}`; none if it cannot be read."""
    try:
        return _VARIABLE.findall(read_text(source))
    except (OSError, UnreadableFileError):
        return []


class Credentials(Struct, frozen=True):
    """Entries by provider, as in the file. `corrected` is one line about a mode that was corrected, None without."""

    entries: dict[str, JsonObject]
    corrected: str | None = None

    def key(self, provider_id: str) -> str | None:
        """Return the API key of a provider, None without one."""
        entry = self.entries.get(provider_id, {})
        if entry.get("type") == CHATGPT:
            return _plan_token(entry)
        key = entry.get("key")
        return (key.strip() or None) if entry.get("type") == "api" and isinstance(key, str) else None

    def faults(self) -> list[str]:
        """Return a line for each entry that is not used, with the remedy; none contains a key."""
        found: list[str] = []
        for name, entry in sorted(self.entries.items()):
            kind = entry.get("type")
            login = f"run `opencode-tui auth login {name}`"
            if kind == "api":
                found += [f"{name}: no key is stored; {login}"] if self.key(name) is None else []
            elif kind == "wellknown":
                is_whole = all(isinstance(entry.get(part), str) and entry[part] for part in ("key", "token"))
                found += [] if is_whole else [f"{name}: no token is stored; {login}"]
            elif kind == CHATGPT:
                found += [] if _plan_token(entry) else [f"{name}: not signed in; {login}"]
            elif kind == "oauth":
                found.append(
                    f"{name}: not used, because logins by OAuth are not supported; {login} to store an API key"
                )
            else:
                found.append(f"{name}: not used, because {kind!r} is not a kind of credentials; {login}")
        return found

    def tokens(self) -> dict[str, str]:
        """Return the tokens for settings of servers (`auth login URL`), by the names of their variables."""
        entries = [entry for entry in self.entries.values() if entry.get("type") == "wellknown"]
        pairs = [(entry.get("key"), entry.get("token")) for entry in entries]
        return {name: token for name, token in pairs if isinstance(name, str) and isinstance(token, str)}

    def keys(self) -> list[str]:
        """Return all API keys and tokens."""
        keys = [key for provider_id in self.entries if (key := self.key(provider_id)) is not None]
        plans = [entry for entry in self.entries.values() if entry.get("type") == CHATGPT]
        accounts = [account for entry in plans for account in _accounts(entry).values()]
        found = [account.get(name) for account in accounts for name in ("accessToken", "refreshToken")]
        return list(dict.fromkeys([*keys, *self.tokens().values(), *(one for one in found if isinstance(one, str))]))


def _accounts(entry: JsonObject) -> dict[str, JsonObject]:
    """Return the accounts of the sign-in with ChatGPT that have the right form."""
    found = entry.get("accounts")
    accounts = cast("JsonObject", found) if isinstance(found, dict) else {}
    return {name: cast("JsonObject", account) for name, account in accounts.items() if isinstance(account, dict)}


def _plan_token(entry: JsonObject) -> str | None:
    """Return the access token of the chosen account, None when it is signed out or may not use the plan."""
    account = _accounts(entry).get(str(entry.get("current")), {})
    token = account.get("accessToken")
    return token if isinstance(token, str) and token and account.get("planUsage") is True else None


class AuthStore:
    """The file of credentials. While it is damaged, the keys last known are used, none without any; this is logged once."""

    def __init__(self, *, paths: Paths) -> None:
        self._file = SecretFile(paths.auth, kind="providers", paths=paths)
        self._last: dict[str, JsonObject] = {}
        self._problem = ""

    def key(self, provider_id: str) -> str | None:
        """Return the API key of a provider as stored now, None without one; reads the file when it changed."""
        return self._current().key(provider_id)

    def keys(self) -> list[str]:
        """Return all API keys as stored now; reads the file when it changed."""
        return self._current().keys()

    def _current(self) -> Credentials:
        try:
            self._last, self._problem = self._file.current(), ""
        except ConfigError as error:
            known, self._problem = self._problem, str(error)  # first: the log itself asks for the keys, to hide them
            if self._problem != known:
                import logging  # only for a damaged file; most commands write no log

                logging.getLogger(__name__).warning("%s", error)
        return Credentials(self._last)

    def entry(self, provider_id: str) -> JsonObject:
        """Return the entry of a provider as stored now, empty without one; reads the file when it changed."""
        return self._current().entries.get(provider_id, {})

    def change(self, provider_id: str, change: Callable[[JsonObject], JsonObject]) -> None:
        """Replace the entry of a provider, empty at first, under the lock of the store. Raises the same errors as `login`."""
        self._file.change(lambda entries: entries.__setitem__(provider_id, change(dict(entries.get(provider_id, {})))))

    def read(self) -> Credentials:
        """Return the credentials, and restrict the mode of the file; raises ConfigError when damaged. Blocks."""
        return Credentials(*self._file.read())

    def login(self, provider_id: str, key: str) -> None:
        """Store the API key of a provider. Raises ConfigError for an invalid name or key, StorageError if it cannot be written."""
        if not _PROVIDER.fullmatch(provider_id):
            raise ConfigError(f"{provider_id!r} is not a valid name of a provider; see `opencode-tui models`")
        if provider_id == CHATGPT:
            raise ConfigError("chatgpt has no keys: sign in with the browser (`opencode-tui auth login chatgpt`)")
        if not key or not key.isprintable() or not key.isascii() or " " in key:
            raise ConfigError(
                "the key is empty or contains spaces, line breaks or other invalid characters; paste it again"
            )
        self._file.change(lambda entries: entries.__setitem__(provider_id, {"type": "api", "key": key}))

    def store_token(self, url: str, variable: str, token: str) -> None:
        """Store the token for the settings of a server, which contain it as a variable. Raises the same errors as `login`."""
        if not token or not token.isprintable():
            raise ConfigError("the command printed no token on its first line; run it by hand to see why")
        entry = {"type": "wellknown", "key": variable, "token": token}
        self._file.change(lambda entries: entries.__setitem__(url, entry))

    def logout(self, provider_id: str) -> bool:
        """Delete the credentials of a provider and return whether there were any. Raises the same errors as `login`."""
        removed: list[JsonObject] = []

        def remove(entries: dict[str, JsonObject]) -> None:
            if provider_id in entries:
                removed.append(entries.pop(provider_id))

        self._file.change(remove)
        return bool(removed)
