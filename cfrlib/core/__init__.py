"""Machinery that nobody needs to read: compiled trees, compiled kernels, random numbers, files.

Everything here is private. What a reader needs of it is public in the rooms above, as
:func:`cfrlib.compile` is.
"""
