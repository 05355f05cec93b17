import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opencode_tui.schema.error import StorageError
from opencode_tui.storage.keys import folder_path, record_path, segment_of

SEGMENTS = st.text(alphabet=st.sampled_from("aZ0_-./\\\0\n é"), max_size=8) | st.text(max_size=300)


@pytest.mark.slow
@given(st.lists(SEGMENTS, max_size=4).map(tuple))
@example(("part", "..", "x"))
@example(("a\n",))
def test_key_is_refused_or_names_a_file_below_the_store(key: tuple[str, ...]):
    try:
        path = record_path("/store", key)
    except StorageError:
        return
    assert os.path.normpath(path) == path
    assert os.path.relpath(path, "/store").removesuffix(".json").split("/") == list(key)
    assert segment_of(os.path.basename(path)) == key[-1]


def test_ids_of_opencode_and_ours_are_keys():
    for key in [
        ("session", "global", "ses_e092b5717ffeT9UeXAP5u05giz"),
        ("project", "7" * 40),
        ("permission", "a-b.c"),
    ]:
        assert record_path("/s", key) == f"/s/{'/'.join(key)}.json"


def test_empty_prefix_is_the_whole_store_and_no_record():
    assert folder_path("/s", ()) == "/s"
    with pytest.raises(StorageError, match="needs at least one segment"):
        record_path("/s", ())
