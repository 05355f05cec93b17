"""The tasks of a batch on the workers of a Dask scheduler."""
