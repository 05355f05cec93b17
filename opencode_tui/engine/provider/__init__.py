"""Models and their providers: the `Llm` protocol, its adapters, limits and prices, the meaning of failures.

All adapters feed one normalizer. Only the child process imports litellm. Start at `normalize.py` and `failure.py`; guards:
`tests/engine/provider/`, an import contract, `bench_llamacpp`.
"""
