"""Mixing colours, and keeping text readable on what stands behind it."""

Rgb = tuple[int, int, int]

READABLE = 4.5
"""WCAG contrast that text with a meaning has at least."""


def parse(colour: str) -> Rgb:
    """The parts of `#rrggbb`. Raises ValueError for anything else."""
    if len(colour) != 7 or colour[0] != "#":
        raise ValueError(f"{colour!r} is no colour of the form #rrggbb")
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def to_hex(colour: Rgb) -> str:
    """`#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def mix(first: str, second: str, share: float) -> str:
    """The first colour with so much of the second in it."""
    pairs = zip(parse(first), parse(second), strict=True)
    red, green, blue = (round(one + (other - one) * share) for one, other in pairs)
    return to_hex((red, green, blue))


def contrast(first: str, second: str) -> float:
    """The WCAG ratio of two colours, 1 to 21."""
    one, other = _luminance(first), _luminance(second)
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def readable(colour: str, areas: tuple[str, ...], towards: str, ratio: float = READABLE) -> str:
    """The colour, moved towards another one until it can be read on all of the areas."""
    for step in range(21):
        found = mix(colour, towards, step / 20)
        if all(contrast(found, area) >= ratio for area in areas):
            return found
    return towards


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(part / 255) for part in parse(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
