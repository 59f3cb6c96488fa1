"""Other packages' names over this one's functions: a program of theirs needs another import line.

Each is a package of its own, which nothing here imports.
"""
