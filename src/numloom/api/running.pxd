cimport cython
from numloom.array.ndarray cimport ndarray
from numloom.engine.evaluate cimport evaluate as evaluate_values


@cython.locals(array=ndarray, values=list)
cpdef object evaluate_arrays(tuple arrays)
