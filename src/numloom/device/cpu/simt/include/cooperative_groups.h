// Groups of threads: the block, tiles of a warp, the lanes that are together, the grid.
#pragma once

namespace cooperative_groups {

class thread_block {
  public:
    void sync(NUMLOOM_SITE) const { __syncthreads(site_file, site_line); }
    static unsigned thread_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
    static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return dim3(blockIdx); }
    static dim3 thread_index() { return dim3(threadIdx); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};

inline thread_block this_thread_block() { return thread_block(); }

class grid_group {
  public:
    bool is_valid() const { return numloom_here.cooperative != 0; }
    // The whole block comes first, one of it then meets the other blocks, and the block goes on together.
    void sync(NUMLOOM_SITE) const {
        __syncthreads(site_file, site_line);
        if (thread_block::thread_rank() == 0) numloom_here.table->grid(NUMLOOM_HERE);
        __syncthreads(site_file, site_line);
    }
    static unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
    static unsigned long long num_threads() { return num_blocks() * thread_block::size(); }
    static unsigned long long size() { return num_threads(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return dim3(blockIdx); }
};

inline grid_group this_grid() { return grid_group(); }

// Lanes of one warp: those of `mask`, numbered from the lowest.
class lanes_group {
  public:
    explicit lanes_group(unsigned mask) : mask_(mask) {}
    unsigned thread_rank() const { return unsigned(__popc(mask_ & ((1u << numloom_here.lane) - 1))); }
    unsigned num_threads() const { return unsigned(__popc(mask_)); }
    unsigned size() const { return num_threads(); }
    void sync(NUMLOOM_SITE) const { __syncwarp(mask_, site_file, site_line); }
    int any(int predicate, NUMLOOM_SITE) const { return __any_sync(mask_, predicate, site_file, site_line); }
    int all(int predicate, NUMLOOM_SITE) const { return __all_sync(mask_, predicate, site_file, site_line); }
    unsigned ballot(int predicate, NUMLOOM_SITE) const {
        return packed(__ballot_sync(mask_, predicate, site_file, site_line));
    }
    template <class T> unsigned match_any(T value, NUMLOOM_SITE) const {
        return packed(__match_any_sync(mask_, value, site_file, site_line));
    }
    template <class T> unsigned match_all(T value, int& all, NUMLOOM_SITE) const {
        return packed(__match_all_sync(mask_, value, &all, site_file, site_line));
    }
    template <class T> T shfl(T value, unsigned rank, NUMLOOM_SITE) const {
        return numloom::shuffle(mask_, value, lane_of(rank % num_threads()), "shfl", NUMLOOM_HERE);
    }
    template <class T> T shfl_up(T value, unsigned delta, NUMLOOM_SITE) const {
        const unsigned own = thread_rank();
        return numloom::shuffle(mask_, value, lane_of(own < delta ? own : own - delta), "shfl_up", NUMLOOM_HERE);
    }
    template <class T> T shfl_down(T value, unsigned delta, NUMLOOM_SITE) const {
        const unsigned own = thread_rank();
        return numloom::shuffle(
            mask_, value, lane_of(own + delta < num_threads() ? own + delta : own), "shfl_down", NUMLOOM_HERE);
    }
    template <class T> T shfl_xor(T value, unsigned ranks, NUMLOOM_SITE) const {
        const unsigned own = thread_rank(), from = own ^ ranks;
        return numloom::shuffle(mask_, value, lane_of(from < num_threads() ? from : own), "shfl_xor", NUMLOOM_HERE);
    }
    unsigned mask() const { return mask_; }

  private:
    int lane_of(unsigned rank) const { return int(__fns(mask_, 0, int(rank) + 1)); }
    unsigned packed(unsigned lanes) const {
        unsigned result = 0, rank = 0;
        for (unsigned rest = mask_; rest; rest &= rest - 1, ++rank)
            if (lanes & rest & -rest) result |= 1u << rank;
        return result;
    }
    unsigned mask_;
};

typedef lanes_group coalesced_group;

inline coalesced_group coalesced_threads(NUMLOOM_SITE) { return coalesced_group(__activemask(site_file, site_line)); }

template <unsigned SIZE, class Parent = void> class thread_block_tile : public lanes_group {
    static_assert(SIZE >= 1 && SIZE <= 32 && (SIZE & (SIZE - 1)) == 0,
                  "on the CPU tiles have 1, 2, 4, 8, 16 or 32 threads");

  public:
    thread_block_tile()
        : lanes_group((SIZE == 32 ? 0xffffffffu : (1u << (SIZE & 31)) - 1) << (numloom_here.lane & ~(SIZE - 1) & 31)) {}
    template <class Other> thread_block_tile(const thread_block_tile<SIZE, Other>& other) : lanes_group(other) {}
    static constexpr unsigned num_threads() { return SIZE; }
    static constexpr unsigned size() { return SIZE; }
    unsigned thread_rank() const { return numloom_here.lane & (SIZE - 1); }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / SIZE; }
    static unsigned meta_group_size() { return (thread_block::size() + SIZE - 1) / SIZE; }
};

template <unsigned SIZE, class Parent> inline thread_block_tile<SIZE, Parent> tiled_partition(const Parent&) {
    return thread_block_tile<SIZE, Parent>();
}

template <class Group> inline void sync(const Group& group, NUMLOOM_SITE) { group.sync(site_file, site_line); }
inline void sync(const thread_block& group, NUMLOOM_SITE) { group.sync(site_file, site_line); }

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

template <class Group, class T, class Op> inline T reduce(const Group& group, T value, Op op, NUMLOOM_SITE) {
    T result = group.shfl(value, 0, site_file, site_line);
    for (unsigned rank = 1; rank < group.size(); ++rank) result = op(result, group.shfl(value, rank, site_file, site_line));
    return result;
}
template <class Group, class T, class Op = plus<T>>
inline T inclusive_scan(const Group& group, T value, Op op = Op(), NUMLOOM_SITE) {
    T result = value;
    for (unsigned delta = 1; delta < group.size(); delta *= 2) {
        const T other = group.shfl_up(result, delta, site_file, site_line);
        if (group.thread_rank() >= delta) result = op(other, result);
    }
    return result;
}
template <class Group, class T, class Op = plus<T>>
inline T exclusive_scan(const Group& group, T value, Op op = Op(), NUMLOOM_SITE) {
    const T before = group.shfl_up(inclusive_scan(group, value, op, site_file, site_line), 1, site_file, site_line);
    return group.thread_rank() ? before : T();
}

}  // namespace cooperative_groups
