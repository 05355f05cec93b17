"""Models and how they are reached: the `Llm` protocol, its adapters, limits and prices, and what a failure means."""
