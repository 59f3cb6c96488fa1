# What other modules see of entries.pyx.

cdef object put_apart(object program, list atoms)
