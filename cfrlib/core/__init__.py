"""Internals: compiled trees, kernels, random streams, argument checks, files.

Everything here is private. The package exports what users need of it, such as
:func:`cfrlib.compile`.
"""
