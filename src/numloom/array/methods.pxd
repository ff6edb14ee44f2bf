cimport cython
from numloom.array.ndarray cimport storage_of, ndarray, view_of, wrap
from numloom.array.storage cimport Storage, read
from numloom.graph.build cimport cast, copied
from numloom.graph.node cimport Node

cdef int VIEW
cdef tuple ITEMSIZES
