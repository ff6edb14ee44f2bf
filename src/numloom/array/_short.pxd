cpdef object array_of(object items, int wanted)
