import pytest

from tests.support.aborting import abort_after, open_aborting


@pytest.mark.parametrize("moment", [0.0, 0.02, 0.1, 0.3, 0.6, 1.0])
async def test_abort_wins_at_any_moment(environ, tmp_path, moment):
    async with open_aborting(environ, tmp_path) as client:
        ended = await abort_after(client, moment)
    assert ended.problems == []
    assert ended.milliseconds < 600
