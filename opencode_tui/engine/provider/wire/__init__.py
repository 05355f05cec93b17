"""The two wire formats: pure decoders from bytes to deltas, pure encoders from a request to a body."""
