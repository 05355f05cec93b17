"""How many tokens things take: `estimate` whole requests, `media` pictures and documents, `characters` by length alone."""
