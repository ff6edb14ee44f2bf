from numloom.array.ndarray cimport ndarray

cpdef object array_of(object items, int wanted)
cpdef object product(ndarray x, ndarray y)
