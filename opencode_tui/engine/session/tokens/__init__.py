"""How many tokens requests take: `estimate` for whole requests, `media` for pictures and documents."""
