"""Models and their providers: the `Llm` protocol, its adapters, limits and prices, the meaning of failures."""
