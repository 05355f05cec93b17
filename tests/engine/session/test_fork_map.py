import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.session.records.stored_history import ForkMap, copied_id
from opencode_tui.schema.ids import Identifier, is_identifier
from opencode_tui.storage.keys import is_segment

FORK = "ses_fork"
NAMES = st.builds(
    lambda prefix, rest: f"{prefix}_{rest}",
    st.sampled_from(["msg", "prt"]),
    st.text(string.ascii_letters + string.digits, min_size=1, max_size=60),
)


@pytest.mark.slow
@given(NAMES, NAMES)
def test_every_id_has_one_image_that_names_a_file(one, other):
    images = copied_id(FORK, one), copied_id(FORK, other)
    for image in images:
        assert is_segment(image) and is_identifier(image, "msg" if image.startswith("msg") else "prt")
    assert (images[0] == images[1]) == (one == other)
    assert images[0] != one and copied_id("ses_other", one) != images[0] == copied_id(FORK, one)


def test_the_time_and_the_order_stay():
    identifier = Identifier()
    ids = [identifier.ascending("msg") for _ in range(1_000)]
    images = [copied_id(FORK, one) for one in ids]
    assert images == sorted(images) and [one[:16] for one in images] == [one[:16] for one in ids]
    assert {len(one) for one in images} == {30} and len({one[16:] for one in images}) == 1_000


def test_everything_that_points_into_the_session_is_mapped_and_nothing_else():
    part: dict[str, Any] = {
        "id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "tool", "callID": "call_1", "unknown": [1, None],
        "state": {
            "status": "completed", "metadata": {"sessionId": "ses_child", "messageID": "msg_1"}, "output": "see msg_1",
            "attachments": [{"id": "prt_2", "messageID": "msg_1", "sessionID": "ses_1", "url": "data:,x"}, {"url": "bare"}, 3],
        },
    }  # fmt: skip
    mapped = json.loads(ForkMap(FORK).part(json.dumps(part).encode()) or b"")
    image = lambda one: copied_id(FORK, one)  # noqa: E731 - shorter than its use
    assert mapped == {
        **part,
        "id": image("prt_1"), "messageID": image("msg_1"), "sessionID": FORK,
        "state": {
            **part["state"],
            "attachments": [
                {"id": image("prt_2"), "messageID": image("msg_1"), "sessionID": FORK, "url": "data:,x"}, {"url": "bare"}, 3,
            ],
        },
    }  # fmt: skip


def test_the_tail_of_a_compaction_and_the_request_of_an_answer_are_mapped():
    marker = {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "compaction", "tailID": "msg_0"}
    assert json.loads(ForkMap(FORK).part(json.dumps(marker).encode()) or b"")["tailID"] == copied_id(FORK, "msg_0")
    answer = json.loads(ForkMap(FORK).message(b'{"id": "msg_2", "parentID": "msg_1", "sessionID": "ses_1"}') or b"")
    assert answer == {"id": copied_id(FORK, "msg_2"), "parentID": copied_id(FORK, "msg_1"), "sessionID": FORK}


def test_text_that_is_no_unicode_comes_along_readably():
    data = json.dumps({"id": "prt_1", "text": "a\ud800b 中"}).encode()
    assert json.loads(ForkMap(FORK).part(data) or b"")["text"] == "a?b 中"


@pytest.mark.parametrize("data", [b"[]", b"{", b"3", b"\xff"])
def test_what_is_no_record_is_refused(data):
    with pytest.raises(ValueError, match=r"JSON|line 1|decode"):
        ForkMap(FORK).message(data)
