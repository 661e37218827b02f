// One emulated vector core: its unified buffer, pipes, flags and queues, and the checks on each
// access. An instruction knows of another's effects only through flags, queues and barriers, as on
// the device; scalar order alone orders nothing but scalar accesses.
#pragma once

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "clock.h"
#include "fault.h"
#include "global_memory.h"

namespace emulated {

enum class Held { FREE, ALLOCATED, QUEUED, DEQUEUED };

struct QueueBuffer {
    uint32_t offset;
    Held held = Held::FREE;
    Clock ready;
    Clock freed;
};

struct Queue {
    int position;  // of the buffers, as AscendC::TPosition
    int producer;
    int consumer;
    uint32_t bytes;
    std::vector<QueueBuffer> buffers;
    std::vector<int> line;  // enqueued buffers, oldest first
    std::string name;
};

struct Flag {
    bool set = false;
    Clock clock;
    int line = 0;
    uint64_t waited = 0;  // when the waiting pipe last took it
};

class Core {
public:
    Core(int index, std::string kernel, GlobalMemory &global)
        : index(index), kernel(std::move(kernel)), global(global), ub(UB_BYTES, POISON),
          defined(UB_BYTES, 0), blocks(UB_BYTES / BLOCK_BYTES)
    {
    }

    [[noreturn]] void fail(Site site, const std::string &what) const
    {
        throw Fault(kernel + ", core " + std::to_string(index) + ", " + site.text() + ": " + what);
    }

    // Issue an instruction on a pipe; it knows what the scalar unit has waited for.
    uint64_t issue(int pipe)
    {
        const uint64_t now = ++tick[pipe];
        for (int other = VECTOR; other < PIPES; ++other) {
            knows[pipe].at[other] = std::max(knows[pipe].at[other], knows[SCALAR].at[other]);
        }
        if (pipe == SCALAR) {
            knows[SCALAR].at[SCALAR] = now;
        }
        return now;
    }

    // Everything that a pipe has issued so far, complete.
    Clock completed(int pipe)
    {
        issue(pipe);
        Clock clock = knows[pipe];
        clock.at[pipe] = tick[pipe];
        return clock;
    }

    void barrier(int pipe)
    {
        knows[pipe].at[pipe] = tick[pipe];
    }

    void barrier_all()
    {
        Clock all;
        for (int pipe = 0; pipe < PIPES; ++pipe) {
            all.at[pipe] = tick[pipe];
        }
        for (Clock &clock : knows) {
            clock = all;
        }
    }

    void touch_ub(int pipe, uint64_t now, uint32_t offset, uint32_t bytes, bool writes, Site site)
    {
        if (bytes == 0) {
            return;
        }
        const uint32_t last = (offset + bytes - 1) / BLOCK_BYTES;
        for (uint32_t at = offset / BLOCK_BYTES; at <= last; ++at) {
            touch_block(blocks[at], pipe, now, writes, site, at);
        }
        if (writes) {
            std::memset(&defined[offset], 1, bytes);
            return;
        }
        const void *hole = std::memchr(&defined[offset], 0, bytes);
        if (hole != nullptr) {
            const auto place = static_cast<const uint8_t *>(hole) - defined.data();
            fail(site, std::string(name_of(pipe)) + " reads UB byte " + std::to_string(place) +
                           ", which nothing has written");
        }
    }

    void touch_global(int pipe, uint64_t now, const void *start, uint64_t bytes, bool writes,
                      Site site);

    void undefine(uint32_t offset, uint32_t bytes)
    {
        std::memset(&ub[offset], POISON, bytes);
        std::memset(&defined[offset], 0, bytes);
    }

    uint32_t reserve(uint32_t bytes, Site site)
    {
        const uint32_t rounded = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        if (++buffer_count > MAX_BUFFERS) {
            fail(site, "more than " + std::to_string(MAX_BUFFERS) + " buffers in one kernel");
        }
        if (used + rounded > UB_BYTES) {
            fail(site, "unified buffer overflow: " + std::to_string(used) + " bytes are taken, " +
                           std::to_string(rounded) + " more exceed the " +
                           std::to_string(UB_BYTES) + " there are");
        }
        const uint32_t offset = used;
        used += rounded;
        return offset;
    }

    // What must hold when the kernel returns.
    void finish()
    {
        const Site end{kernel.c_str(), 0};
        for (const Queue &queue : queues) {
            for (const QueueBuffer &buffer : queue.buffers) {
                if (buffer.held != Held::FREE) {
                    fail(end, "a tensor of queue " + queue.name + " was never freed");
                }
            }
        }
        for (int from = 0; from < PIPES; ++from) {
            for (int to = 0; to < PIPES; ++to) {
                for (const Flag &flag : flags[from][to]) {
                    if (flag.set) {
                        fail(Site{kernel.c_str(), flag.line},
                             std::string("flag ") + name_of(from) + "_" + name_of(to) +
                                 " was set and never waited for");
                    }
                }
                if (!taken[from][to].empty() && !reserved_by_queues(from, to)) {
                    fail(end, "an event id was never released");
                }
            }
        }
    }

    const int index;
    const std::string kernel;
    GlobalMemory &global;
    int count = 1;
    uint64_t epoch = 0;
    bool vector_only = true;  // the kernel type that SyncAll does not work in
    std::vector<uint8_t> ub;
    std::vector<uint8_t> defined;
    std::vector<Accesses> blocks;
    uint64_t tick[PIPES] = {};
    Clock knows[PIPES];
    Flag flags[PIPES][PIPES][EVENT_IDS];
    std::set<int> taken[PIPES][PIPES];
    int queue_ids[PIPES][PIPES] = {};
    std::vector<Queue> queues;
    uint32_t used = 0;
    int buffer_count = 0;
    void *pipe = nullptr;

private:
    bool reserved_by_queues(int from, int to) const
    {
        return static_cast<int>(taken[from][to].size()) == queue_ids[from][to];
    }

    void touch_block(Accesses &block, int pipe, uint64_t now, bool writes, Site site, uint32_t at)
    {
        for (int other = 0; other < PIPES; ++other) {
            const bool own = other == pipe;
            const uint64_t known = knows[pipe].at[other];
            const uint64_t wrote = block.wrote[other];
            if (wrote > known && !(own && wrote == now)) {
                unordered(site, pipe, writes, other, true, block.wrote_line[other], at);
            }
            const uint64_t read = block.read[other];
            if (writes && read > known && !(own && read == now)) {
                unordered(site, pipe, writes, other, false, block.read_line[other], at);
            }
        }
        if (writes) {
            block.wrote[pipe] = now;
            block.wrote_line[pipe] = site.line;
        } else {
            block.read[pipe] = now;
            block.read_line[pipe] = site.line;
        }
    }

    [[noreturn]] void unordered(Site site, int pipe, bool writes, int other, bool wrote, int line,
                                uint32_t block) const
    {
        fail(site, std::string("missing synchronisation: ") + name_of(pipe) +
                       (writes ? " writes" : " reads") + " UB block " + std::to_string(block) +
                       " that " + name_of(other) + (wrote ? " wrote" : " read") + " at line " +
                       std::to_string(line));
    }
};

inline void Core::touch_global(int pipe, uint64_t now, const void *start, uint64_t bytes,
                               bool writes, Site site)
{
    if (bytes == 0) {
        return;
    }
    const auto address = reinterpret_cast<uintptr_t>(start);
    std::string why;
    Region *region = global.owner(address, bytes, why);
    if (region == nullptr && global.checked()) {
        fail(site, "global memory out of bounds: an access of " + std::to_string(bytes) +
                       " bytes " + why);
    }
    if (region != nullptr && writes && !region->writable) {
        fail(site, "writes into the input " + region->name);
    }
    if (region != nullptr && !region->defined.empty()) {
        for (uint64_t at = address - region->start; at < address - region->start + bytes; ++at) {
            if (!writes && !region->defined[at]) {
                fail(site, "reads byte " + std::to_string(at) + " of " + region->name +
                               ", which nothing has written");
            }
            region->defined[at] = region->defined[at] || writes;
        }
    }
    const uintptr_t end = address + bytes;
    for (uintptr_t number = address / BLOCK_BYTES; number * BLOCK_BYTES < end; ++number) {
        const uintptr_t low = std::max(address, number * BLOCK_BYTES);
        const uintptr_t high = std::min(end, (number + 1) * BLOCK_BYTES);
        const uint64_t span = (uint64_t{1} << (high - low)) - 1;
        const auto mask = static_cast<uint32_t>(span << (low % BLOCK_BYTES));
        Line &line = global.line(number);
        if (line.epoch != epoch) {
            line.touches.clear();  // the cores have met since: all is ordered
            line.epoch = epoch;
        }
        if (pipe == SCALAR && (line.written & mask) != 0) {
            fail(site, "scalar read of global memory that this launch has written: the scalar "
                       "cache does not see it");
        }
        bool merged = false;
        for (Touch &touch : line.touches) {
            const bool conflict = (touch.mask & mask) != 0 && (touch.writes || writes);
            if (conflict && touch.core != index) {
                fail(site, std::string("race between cores: ") + (writes ? "writes" : "reads") +
                               " global memory that core " + std::to_string(touch.core) +
                               (touch.writes ? " wrote" : " read") + " at line " +
                               std::to_string(touch.line) + " with no SyncAll between");
            }
            if (conflict && touch.tick > knows[pipe].at[touch.pipe] &&
                !(touch.pipe == pipe && touch.tick == now)) {
                fail(site, std::string("missing synchronisation: ") + name_of(pipe) +
                               (writes ? " writes" : " reads") + " global memory that " +
                               name_of(touch.pipe) + (touch.writes ? " wrote" : " read") +
                               " at line " + std::to_string(touch.line));
            }
            if (touch.core == index && touch.pipe == pipe && touch.writes == writes &&
                (touch.mask & ~mask) == 0) {
                touch = Touch{index, pipe, writes, mask, now, site.line};
                merged = true;
            }
        }
        if (!merged) {
            line.touches.push_back(Touch{index, pipe, writes, mask, now, site.line});
        }
        if (writes) {
            line.written |= mask;
        }
    }
}

}  // namespace emulated
