"""The OpenAI and Anthropic wire formats: encode requests, decode responses."""
