"""SHA-1 and SHA-256: Python's own functions for the first megabyte of a process, then those of OpenSSL.

OpenSSL's are 6 to 8 times as fast, but loading it takes 2.4 ms and 3 MB of memory. A process that keeps a few small files does
without.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _hashlib import HASH

OWN_BYTES = 1 << 20
"""Bytes hashed without OpenSSL; Python's own functions take 4 ms for them."""

_left = OWN_BYTES


def sha1(data: bytes = b"", *, more: int = 0) -> "HASH":
    """Return the SHA-1 of bytes; about `more` further bytes will be added to it."""
    return _function("sha1", len(data) + more)(data, usedforsecurity=False)


def sha256(data: bytes = b"", *, more: int = 0) -> "HASH":
    """Return the SHA-256 of bytes, as `sha1` does."""
    return _function("sha256", len(data) + more)(data, usedforsecurity=False)


def _function(name: str, size: int) -> "Callable[..., HASH]":
    global _left
    if size <= _left:
        _left -= size  # threads that subtract at once may load OpenSSL a little later
        return getattr(hashlib, name)
    _left = 0
    return _of_openssl(name)


@cache
def _of_openssl(name: str) -> "Callable[..., HASH]":
    try:
        import _hashlib
    except ImportError:  # this Python has none
        return getattr(hashlib, name)
    functions: Any = _hashlib
    return getattr(functions, f"openssl_{name}")
