// Blocks of a thread block cluster (compute capability 9 and newer): each sees the shared memory of all.
namespace nl {
// Where block `rank` has what this block has at `own` in its shared memory.
template <class T> NL_DEV T* of_block(T* own, int rank) {
    T* r;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(r) : "l"(own), "r"(rank));
    return r;
}
// Every thread of every block arrives; who waits sees what was written anywhere in the cluster before, unless nothing was.
NL_DEV void cluster_begin() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory"); }
NL_DEV void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory"); }
NL_DEV void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory"); }
}
