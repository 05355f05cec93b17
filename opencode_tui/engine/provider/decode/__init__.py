"""The formats of providers: an encoder of requests and a decoder of streams for each."""
