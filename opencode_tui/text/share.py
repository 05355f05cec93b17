"""What sharing a session means, in words."""

from urllib.parse import urlsplit

GOES_THERE = (
    "Everyone who has the link can read the whole conversation: prompts, answers, commands with their output, "
    "and files as they were read and changed. What follows in the session is sent too, until you unshare it."
)
STAYS_HERE = (
    "Keys, passwords, e-mail addresses, .env contents, your user name and your home folder are left out "
    "as far as they are recognized."
)


def server_name(address: str) -> str:
    """Return the host of a share server, with its port."""
    return urlsplit(address).netloc.rpartition("@")[2] or address
