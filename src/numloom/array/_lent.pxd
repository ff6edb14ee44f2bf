cimport numpy as np
from numloom.array.ndarray cimport ndarray
from numloom.device.memory cimport Pool

cdef np.ndarray lent(ndarray array, Py_ssize_t most, bint pending)
cdef object kept(object found, Pool pool)
