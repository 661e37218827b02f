// Global memory: which bytes belong to a buffer, which are written, and who touched them since the
// cores last met. Everything is exact to the byte: copies of bytes do not disturb their neighbours.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "clock.h"
#include "fault.h"

namespace emulated {

struct Region {
    std::string name;
    uintptr_t start;
    uint64_t bytes;
    bool writable;
    std::vector<bool> defined;  // empty: all of it
};

struct Touch {
    int core;
    int pipe;
    bool writes;
    uint32_t mask;  // bytes of the line
    uint64_t tick;
    int line;
};

struct Line {
    uint32_t written = 0;  // bytes that this launch has written so far
    uint64_t epoch = 0;
    std::vector<Touch> touches;
};

class GlobalMemory {
public:
    // Buffers are only checked when at least one is known.
    void add(const std::string &name, const void *start, uint64_t bytes, bool writable,
             bool undefined)
    {
        Region region{name, reinterpret_cast<uintptr_t>(start), bytes, writable, {}};
        if (undefined) {
            region.defined.assign(bytes, false);
        }
        regions_[region.start] = region;
    }

    void forget()
    {
        regions_.clear();
    }

    void begin()
    {
        lines_.clear();
    }

    // The buffer that holds all of the bytes, or null when no buffers are known.
    Region *owner(uintptr_t address, uint64_t bytes, std::string &why)
    {
        if (regions_.empty()) {
            return nullptr;
        }
        auto after = regions_.upper_bound(address);
        if (after == regions_.begin()) {
            why = "lies before every buffer";
            return nullptr;
        }
        Region &region = std::prev(after)->second;
        const uint64_t offset = address - region.start;
        if (offset + bytes > region.bytes) {
            why = "is " + std::to_string(offset + bytes - region.bytes) + " bytes beyond buffer " +
                  region.name + " of " + std::to_string(region.bytes) + " bytes";
            return nullptr;
        }
        return &region;
    }

    bool checked() const
    {
        return !regions_.empty();
    }

    Line &line(uintptr_t number)
    {
        return lines_[number];
    }

private:
    std::map<uintptr_t, Region> regions_;
    std::unordered_map<uintptr_t, Line> lines_;
};

}  // namespace emulated
