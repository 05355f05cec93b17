"""Parts that few sessions use, one folder each. Only `opencode_tui.entry_points` loads them.

Each has a README. An extra may import every layer; the host of an entry point loads it by name and owns the type. Guards:
`tests/extras/`, an import contract.
"""
