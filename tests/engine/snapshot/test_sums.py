"""Hashes of objects are those of git, from Python for little data and from OpenSSL for much."""

from hashlib import sha1, sha256
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.snapshot.objects import sums
from tests.test_imports import loaded_after

_LATER = """
import sys
from opencode_tui import lean_libraries
lean_libraries.prepare({})
from opencode_tui.engine.snapshot.objects import sums
small, half = b"small", b"x" * (sums.OWN_BYTES // 2)
names = [sums.sha1(small).hexdigest(), sums.sha1(half).hexdigest(), sums.sha256(small).hexdigest()]
before = "_hashlib" in sys.modules
stream = sums.sha1(b"blob", more=len(half))
stream.update(half)
names += [stream.hexdigest(), sums.sha1(small).hexdigest(), sums.sha256(small).hexdigest()]
print(names, before, "_hashlib" in sys.modules)
"""


@given(st.binary(max_size=200), st.lists(st.binary(max_size=200), max_size=4))
def test_a_sum_is_that_of_all_bytes(data: bytes, more: list[bytes]) -> None:
    for own, known in ((sums.sha1, sha1), (sums.sha256, sha256)):
        hashed = own(data, more=sum(map(len, more)))
        for piece in more:
            hashed.update(piece)
        assert hashed.digest() == known(data + b"".join(more)).digest()
        assert hashed.hexdigest() == hashed.digest().hex()


def test_openssl_is_loaded_for_more_than_a_megabyte(tmp_path: Path, environ: dict[str, str]) -> None:
    small, half = b"small", b"x" * (sums.OWN_BYTES // 2)
    of_small, of_half, of_both = (sha1(data).hexdigest() for data in (small, half, b"blob" + half))
    names = [of_small, of_half, sha256(small).hexdigest(), of_both, of_small, sha256(small).hexdigest()]
    assert loaded_after(_LATER, tmp_path, environ)[2].split("\n")[0] == f"{names} False True"
