cimport cython
from numloom.array.ndarray cimport cell_of, ndarray, view_of, wrap
from numloom.array.storage cimport Cell, read
from numloom.graph.build cimport cast, copied
from numloom.graph.node cimport Node

cdef int VIEW
cdef tuple ITEMSIZES
