"""The search services that the tool for web searches can use: their addresses and keys."""

from collections.abc import Callable, Mapping

from msgspec import Struct


class SearchService(Struct, frozen=True):
    """A search API: its name, its ID for `auth login`, the variable of its key, and its address."""

    name: str
    id: str
    variable: str
    url: str
    key: str = ""


BRAVE = SearchService("Brave Search", "brave", "BRAVE_API_KEY", "https://api.search.brave.com/res/v1/web/search")
TAVILY = SearchService("Tavily", "tavily", "TAVILY_API_KEY", "https://api.tavily.com/search")
SERVICES = (BRAVE, TAVILY)


def find_service(
    environ: Mapping[str, str], stored: Callable[[str], str | None], chosen: str | None = None
) -> SearchService | None:
    """Return the first service with a key, in the environment or stored; None without one, or when it is not the chosen one.

    `stored` returns the stored key for an ID; it may block and raise ConfigError.
    """
    for service in SERVICES:
        if chosen in (None, "auto", "provider", service.id) and (
            key := environ.get(service.variable, "").strip() or stored(service.id)
        ):
            return SearchService(service.name, service.id, service.variable, service.url, key)
    return None
