# What other modules see of lists.pyx.


cpdef object array_of_lists(items)
