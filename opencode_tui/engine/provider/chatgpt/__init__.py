"""Sign in with ChatGPT: requests that count into the plan of the user. Loaded only when this provider is used."""
