"""The two wire formats: decoders from bytes to deltas, encoders from a request to a body."""
