// A persistent pool of threads that shares the items of one kernel launch.
//
// One launch runs at a time; a second caller meanwhile does its work alone. `state` is odd while a launch is open.
// A helper announces itself in `inside` before it reads `state` again, and the caller, having closed the launch,
// waits until `inside` is zero: whichever comes first in the single order of these operations, no helper reads the
// job after its launch is over. Whoever waits, helpers for work and the caller for helpers, spins for a moment and then
// sleeps, so that a helper that lost its core to another program gets it back. As many helpers are woken as there are
// pieces of work.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#ifdef _WIN32
#include <system_error>
#include <thread>
#else
#include <pthread.h>
#endif

namespace numloom {

using Entry = void (*)(const void* params, long long begin, long long end);

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

class ThreadPool {
  public:
    explicit ThreadPool(int threads) : wanted(threads) {}

    void run(Entry entry_, const void* params_, long long items_, long long grain_) {
        if (items_ <= grain_ || wanted <= 1 || !launching.try_lock()) {
            entry_(params_, 0, items_);
            return;
        }
        // Sleeping helpers are not woken for a few pieces of work, unless one launch follows another.
        const auto now = std::chrono::steady_clock::now();
        const bool asleep = sleepers.load(std::memory_order_relaxed) >= started;
        if (asleep && grain_ > 1 && items_ <= FEW * grain_ && now - last > std::chrono::microseconds(100)) {
            entry_(params_, 0, items_);
            last = std::chrono::steady_clock::now();
            launching.unlock();
            return;
        }
        start();
        entry = entry_;
        params = params_;
        items = items_;
        chunk = chunk_of(items_, grain_);
        next.store(0, std::memory_order_relaxed);
        state.fetch_add(1);  // open
        if (sleepers.load() > 0) rouse((items_ - 1) / chunk);
        work();
        state.fetch_add(1);  // closed
        if (!spun([&] { return inside.load() == 0; })) {
            std::unique_lock<std::mutex> guard(mutex);
            waiting.store(true);
            done.wait(guard, [&] { return inside.load() == 0; });
            waiting.store(false);
        }
        last = std::chrono::steady_clock::now();
        launching.unlock();
    }

    // Let the helpers go. The pool itself stays: they may still look at it.
    void retire() {
        retired.store(true);
        { std::lock_guard<std::mutex> guard(mutex); }
        wake.notify_all();
    }

  private:
    // Wake helpers for so many pieces of work.
    void rouse(long long pieces) {
        { std::lock_guard<std::mutex> guard(mutex); }
        if (pieces >= started) wake.notify_all();
        else for (; pieces > 0; --pieces) wake.notify_one();
    }

    // Whether something comes true within a moment.
    template <class F> bool spun(F&& is_true) const {
        const auto begin = std::chrono::steady_clock::now();
        do {
            for (int turn = 0; turn < 64; ++turn) {
                if (is_true()) return true;
                relax();
            }
        } while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(SPIN));
        return false;
    }

    // A multiple of the grain that gives each thread several turns, so that one that is late costs little.
    long long chunk_of(long long items_, long long grain_) const {
        if (grain_ < 1) grain_ = 1;
        const long long grains = (items_ + grain_ - 1) / grain_;
        const long long turns = static_cast<long long>(wanted) * 8;
        return (grains + turns - 1) / turns * grain_;
    }

    void work() {
        for (;;) {
            const long long begin = next.fetch_add(chunk, std::memory_order_relaxed);
            if (begin >= items) return;
            entry(params, begin, items - begin < chunk ? items : begin + chunk);
        }
    }

    void start() {
        for (; started < wanted - 1; ++started) {
            if (!begin()) {
                wanted = started + 1;  // the system allows no more threads
                return;
            }
        }
    }

    // Start a helper, with a stack of a size that does not follow from the system's settings.
    bool begin() {
#ifdef _WIN32
        try {
            std::thread(&ThreadPool::help, this).detach();
        } catch (const std::system_error&) {
            return false;
        }
        return true;
#else
        pthread_t helper;
        pthread_attr_t wishes;
        if (pthread_attr_init(&wishes) != 0) return false;
        const auto help_it = [](void* pool) -> void* { static_cast<ThreadPool*>(pool)->help(); return nullptr; };
        const bool begun = pthread_attr_setstacksize(&wishes, STACK) == 0 &&
                           pthread_attr_setdetachstate(&wishes, PTHREAD_CREATE_DETACHED) == 0 &&
                           pthread_create(&helper, &wishes, help_it, this) == 0;
        pthread_attr_destroy(&wishes);
        return begun;
#endif
    }

    void help() {
        std::uint64_t seen = 0;
        for (;;) {
            wait(seen);
            if (retired.load()) return;
            inside.fetch_add(1);
            const std::uint64_t now = state.load();
            if ((now & 1) != 0 && now != seen) {
                seen = now;
                work();
            }
            if (inside.fetch_sub(1) == 1 && waiting.load()) {
                { std::lock_guard<std::mutex> guard(mutex); }
                done.notify_one();
            }
        }
    }

    bool open(std::uint64_t seen) const {
        if (retired.load(std::memory_order_relaxed)) return true;
        const std::uint64_t now = state.load();
        return (now & 1) != 0 && now != seen;
    }

    void wait(std::uint64_t seen) {
        if (spun([&] { return open(seen); })) return;
        std::unique_lock<std::mutex> guard(mutex);
        sleepers.fetch_add(1);
        wake.wait(guard, [&] { return open(seen); });
        sleepers.fetch_sub(1);
    }

    static constexpr long long FEW = 4;
    static constexpr std::size_t STACK = std::size_t{8} << 20;  // bytes, as of numloom.base.threads
    static constexpr int SPIN = 30;  // microseconds, about what waking takes
    int wanted;
    int started = 0;
    std::chrono::steady_clock::time_point last{};
    Entry entry = nullptr;
    const void* params = nullptr;
    long long items = 0;
    long long chunk = 1;
    std::mutex launching;
    std::mutex mutex;
    std::condition_variable wake;
    std::condition_variable done;
    alignas(64) std::atomic<std::uint64_t> state{0};
    alignas(64) std::atomic<int> inside{0};
    std::atomic<int> sleepers{0};
    std::atomic<bool> retired{false};
    std::atomic<bool> waiting{false};
    alignas(64) std::atomic<long long> next{0};
};

}  // namespace numloom
