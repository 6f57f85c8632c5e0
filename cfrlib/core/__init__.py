"""Internals: compiled trees, kernels, random streams, argument checks, files.

The package exports what most users need of it, such as :func:`cfrlib.compile`. The rest serves
the other modules, koikoi, experiments and a few pages; its names may change with any version.
"""
