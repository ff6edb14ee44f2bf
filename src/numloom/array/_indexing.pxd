from numloom.array.ndarray cimport ndarray
from numloom.array.storage cimport Storage

cdef Storage at_hand(ndarray array, Py_ssize_t most=*)
