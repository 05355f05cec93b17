"""Which addresses are of this machine or its network."""

from opencode_tui.engine.sandbox.address import is_local_address
from tests.support.rows import each


@each(
    ("address", "is_local"),
    [
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("224.0.0.1", True),
        ("93.184.216.34", False),
        ("::1", True),
        ("::ffff:10.1.2.3", True),
        ("::ffff:93.184.216.34", False),
        ("2002:7f00:1::", True),
        ("64:ff9b::a01:203", True),
        ("64:ff9b::5db8:d822", False),
        ("no address", True),
    ],
)
def test_an_address_inside_another_one_counts(address: str, is_local: bool) -> None:
    assert is_local_address(address) is is_local
