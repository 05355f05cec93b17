"""The facets inside the process. The methods are documented in `facets`.

A method that a service of the engine has with the same signature becomes an attribute; the others adapt
names, threads or services that are built on first use.
"""
