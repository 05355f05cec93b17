"""The facets of a client by the names of its attributes. Importing this loads the records of all calls, which few clients use."""

from typing import get_type_hints

from opencode_tui.client.client import Client
from opencode_tui.client.facets import folder, inbox, review, session


def facet_types() -> dict[str, type]:
    """Return the class of each facet by its name in `Client`, in order."""
    names = {name: one for module in (folder, inbox, review, session) for name, one in vars(module).items()}
    return get_type_hints(Client, localns=names)
