// Part of runtime.hpp: every access of a checked kernel comes through `access`.
#pragma once

extern const Table TABLE;

int region_of(const SimtLaunch* launch, uint64_t at, uint64_t end) {
    for (int64_t r = 0; r < launch->region_count; ++r)
        if (at >= launch->regions[r].begin && end <= launch->regions[r].end) return int(r);
    return -1;
}

bool in_stacks(const Worker* w, uint64_t at) {
    // A thread's own stack first: that is where almost all go.
    const uint64_t own = reinterpret_cast<uint64_t>(w->fibre->base);
    if (at - own < STACK + page()) return true;
    for (Fibre* f = w->all; f; f = chained(f))
        if (at - reinterpret_cast<uint64_t>(f->base) < STACK + page()) return true;
    return false;
}

bool in_heap(uint64_t at, uint64_t end) {
    pthread_mutex_lock(&lock);
    bool found = false;
    for (Allocation* a = allocations; a && !found; a = a->next) found = at >= a->begin && end <= a->end;
    pthread_mutex_unlock(&lock);
    return found;
}

Error* claim_access(Worker* w, int code, uint64_t at, long bytes, int kind, const void* pc, Site site) {
    Error* e = claim(w, code, site);
    if (e) {
        e->write = kind;
        e->address = at;
        e->bytes = bytes;
        e->pc = reinterpret_cast<uint64_t>(pc);
    }
    return e;
}

[[noreturn]] void out_of_bounds(Worker* w, uint64_t at, long bytes, int kind, const void* pc, Site site, const char* what) {
    if (Error* e = claim_access(w, OUT_OF_BOUNDS, at, bytes, kind, pc, site)) {
        copy_text(e->text, sizeof e->text, what);
        uint64_t nearest = ~uint64_t(0);
        for (int64_t r = 0; r < w->launch->region_count && !*what; ++r) {
            const Region& region = w->launch->regions[r];
            const uint64_t far = at < region.begin ? region.begin - at : at >= region.end ? at - region.end : 0;
            if (far < nearest && far <= w->launch->margin) {
                nearest = far;
                e->argument = int(region.argument);
                e->offset = int64_t(at - region.begin);
            }
        }
    }
    leave(w);
}

bool ordered(Worker* w, int earlier, uint32_t clock, int now) {
    if (earlier == now) return true;
    if (earlier >> 5 != now >> 5) return false;
    return w->warps[now >> 5].clock[now & 31][earlier & 31] > clock;
}

[[noreturn]] void race(Worker* w, uint64_t at, long bytes, int kind, const void* pc, Site site, int thread, int other,
                       int other_kind, uint32_t other_pc) {
    if (Error* e = claim_access(w, RACE, at, bytes, kind, pc, site)) {
        copy3(e->thread, w->threads[thread].index);
        copy3(e->other_thread, w->threads[other].index);
        e->other_write = other_kind;
        e->other_pc = w->image.begin + other_pc;
        e->offset = int64_t(at - w->image.tls_begin);
    }
    leave(w);
}

int wrote(const Mark& mark) { return mark.atomic_write ? ACCESS_ATOMIC | ACCESS_WRITE : ACCESS_WRITE; }

// The write that `pending` saw coming has happened: was it another value?
void settle(Worker* w) {
    Pending p = w->pending;
    w->pending.at = nullptr;
    if (memcmp(p.at, p.before, p.bytes) != 0)
        race(w, reinterpret_cast<uint64_t>(p.at), p.bytes, ACCESS_WRITE, p.code, Site{nullptr, 0}, p.thread, p.mark.writer,
             wrote(p.mark), p.mark.write_pc);
}

Mark* marks_of(Worker* w, uint64_t at) {
    if (at >= w->dynamic_begin && at < w->dynamic_end)
        return w->dynamic_marks ? w->dynamic_marks + (at - w->dynamic_begin) : nullptr;
    if (at >= w->image.tls_begin && at < w->image.tls_end) return w->marks ? w->marks + (at - w->image.tls_begin) : nullptr;
    return nullptr;
}

void watch_shared(Worker* w, uint64_t at, long bytes, int kind, const void* pc, Site site) {
    Mark* mark = w->launch->check & RACES ? marks_of(w, at) : nullptr;
    if (!mark) return;
    const int t = w->now;
    const bool atomic = kind & ACCESS_ATOMIC, writes = kind & ACCESS_WRITE;
    const uint32_t code = uint32_t(reinterpret_cast<uint64_t>(pc) - w->image.begin);
    const uint32_t clock = w->warps[t >> 5].clock[t & 31][t & 31];
    for (long k = 0; k < bytes; ++k, ++mark) {
        if (mark->epoch != w->epoch) {
            memset(mark, 0, sizeof *mark);
            mark->epoch = w->epoch;
            mark->writer = mark->reader[0] = mark->reader[1] = -1;
        }
        if (mark->writer >= 0 && !(atomic && mark->atomic_write) && !ordered(w, mark->writer, mark->write_clock, t)) {
            if (writes && !atomic && bytes <= 32) {
                if (!w->pending.at) {
                    w->pending.at = reinterpret_cast<unsigned char*>(at);
                    w->pending.bytes = bytes;
                    memcpy(w->pending.before, w->pending.at, bytes);
                    w->pending.mark = *mark;
                    w->pending.code = pc;
                    w->pending.thread = t;
                }
            } else
                race(w, at, bytes, kind, pc, site, t, mark->writer, wrote(*mark), mark->write_pc);
        }
        if (writes) {
            for (int r = 0; r < 2; ++r)
                if (mark->reader[r] >= 0 && !(atomic && mark->atomic_read[r]) && !ordered(w, mark->reader[r], mark->read_clock[r], t))
                    race(w, at, bytes, kind, pc, site, t, mark->reader[r], ACCESS_READ, mark->read_pc[r]);
            mark->writer = int16_t(t);
            mark->atomic_write = atomic;
            mark->write_clock = clock;
            mark->write_pc = code;
        } else {
            // The last two readers of different threads: any third adds nothing that one of them does not show,
            // but for readers that a warp operation orders with the writer to come.
            int r = mark->reader[0] == t || mark->reader[0] < 0 ? 0 : 1;
            if (r == 1 && mark->reader[1] >= 0 && mark->reader[1] != t && mark->reader[1] >> 5 == t >> 5) r = 0;
            mark->reader[r] = int16_t(t);
            mark->atomic_read[r] = atomic;
            mark->read_clock[r] = clock;
            mark->read_pc[r] = code;
        }
    }
}

void access(const void* memory, long bytes, int kind, const void* pc, Site site) {
    Worker* w = current;
    if (!w || !w->launch->check || bytes <= 0) return;
    const uint64_t at = reinterpret_cast<uint64_t>(memory), end = at + uint64_t(bytes);
    if (w->pending.at) settle(w);
    const uint64_t own = reinterpret_cast<uint64_t>(w->fibre->base);
    if (at - own < STACK + page()) return;
    if (kind == ACCESS_READ && memory == w->read_last) {
        // A thread that reads one place over and over waits for another thread.
        if (++w->read_again % 1024 == 0) yield();
    } else {
        w->read_last = memory;
        w->read_again = 0;
    }
    if (region_of(w->launch, at, end) >= 0) return;
    if (at >= w->dynamic_begin && at < w->dynamic_end) {
        if (end > w->dynamic_begin + w->launch->shared && (w->launch->check & BOUNDS))
            out_of_bounds(w, at, bytes, kind, pc, site, "dynamic shared memory");
        return watch_shared(w, at, end > w->dynamic_begin + w->launch->shared ? 0 : bytes, kind, pc, site);
    }
    if (at >= w->image.tls_begin && end <= w->image.tls_end) {
        const uint64_t here = reinterpret_cast<uint64_t>(w->here);
        if (at - here >= sizeof(Here)) watch_shared(w, at, bytes, kind, pc, site);
        return;
    }
    if ((at >= w->image.begin && end <= w->image.end) || !(w->launch->check & BOUNDS)) return;
    if (at - reinterpret_cast<uint64_t>(&TABLE) < sizeof(Table)) return;
    if (in_stacks(w, at)) out_of_bounds(w, at, bytes, kind, pc, site, "another thread's local memory");
    if (in_heap(at, end)) return;
    if (!w->launch->strict && at >= 65536) {
        // An address that was given as a number may point anywhere; the margins around arguments are nobody's.
        bool near = false;
        for (int64_t r = 0; r < w->launch->region_count; ++r) {
            const Region& region = w->launch->regions[r];
            near |= at + w->launch->margin >= region.begin && at < region.end + w->launch->margin;
        }
        if (!near || !w->launch->margin) return;
    }
    out_of_bounds(w, at, bytes, kind, pc, site, "");
}

void* allocate(unsigned long bytes) {
    void* memory = malloc(bytes ? bytes : 1);
    Allocation* a = memory ? static_cast<Allocation*>(malloc(sizeof(Allocation))) : nullptr;
    if (a) {
        a->begin = reinterpret_cast<uint64_t>(memory);
        a->end = a->begin + bytes;
        pthread_mutex_lock(&lock);
        a->next = allocations;
        allocations = a;
        pthread_mutex_unlock(&lock);
    }
    return memory;
}

void release(void* memory) {
    pthread_mutex_lock(&lock);
    for (Allocation** a = &allocations; *a; a = &(*a)->next)
        if ((*a)->begin == reinterpret_cast<uint64_t>(memory)) {
            Allocation* gone = *a;
            *a = gone->next;
            free(gone);
            break;
        }
    pthread_mutex_unlock(&lock);
    free(memory);
}

int find_image(struct dl_phdr_info* info, size_t, void* given) {
    LoadedImage* image = static_cast<LoadedImage*>(given);
    const uint64_t inside = reinterpret_cast<uint64_t>(image->inside);
    uint64_t begin = ~uint64_t(0), end = 0, tls = 0;
    for (int k = 0; k < info->dlpi_phnum; ++k) {
        const auto& header = info->dlpi_phdr[k];
        const uint64_t start = info->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD) {
            if (start < begin) begin = start;
            if (start + header.p_memsz > end) end = start + header.p_memsz;
        } else if (header.p_type == PT_TLS)
            tls = header.p_memsz;
    }
    if (inside < begin || inside >= end) return 0;
    image->begin = info->dlpi_addr;  // addresses of symbols count from here
    image->end = end;
    image->tls_begin = reinterpret_cast<uint64_t>(info->dlpi_tls_data);
    image->tls_end = image->tls_begin ? image->tls_begin + tls : 0;
    return 1;
}

Mark* map_marks(Mark* old, size_t& count, size_t wanted) {
    if (old && wanted <= count) return old;
    if (old) munmap(old, count * sizeof(Mark));
    void* memory = wanted ? mmap(nullptr, wanted * sizeof(Mark), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    count = memory == MAP_FAILED ? 0 : wanted;
    return memory == MAP_FAILED ? nullptr : static_cast<Mark*>(memory);
}
