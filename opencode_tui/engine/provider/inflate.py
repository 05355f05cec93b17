"""Decompression of response bodies in slices of limited size."""

import zlib
from collections.abc import Callable, Iterable, Iterator

_SLICE_BYTES = 64 * 1024


def unpacker() -> Callable[[bytes], Iterable[bytes]]:
    """Return a decompressor for gzip and deflate, so that a small body cannot fill the memory. It raises zlib.error."""
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def unpack(raw: bytes) -> Iterator[bytes]:
        while raw:
            if chunk := inflate.decompress(raw, _SLICE_BYTES):
                yield chunk
            raw = inflate.unconsumed_tail

    return unpack
