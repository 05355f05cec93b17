"""Token counts: `estimate` for requests, `media` for images and documents, `characters` by length alone."""
