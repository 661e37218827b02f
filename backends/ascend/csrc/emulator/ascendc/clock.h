// Vector clocks over the pipes of a core: which instructions of the others a pipe knows complete.
#pragma once

#include <algorithm>
#include <cstdint>

namespace emulated {

enum Pipe : int { SCALAR, VECTOR, MTE2, MTE3, PIPES };

inline const char *name_of(int pipe)
{
    static const char *const names[PIPES] = {"S", "V", "MTE2", "MTE3"};
    return names[pipe];
}

struct Clock {
    uint64_t at[PIPES] = {};

    void merge(const Clock &other)
    {
        for (int pipe = 0; pipe < PIPES; ++pipe) {
            at[pipe] = std::max(at[pipe], other.at[pipe]);
        }
    }
};

// The last access of each pipe to something.
struct Accesses {
    uint64_t wrote[PIPES] = {};
    uint64_t read[PIPES] = {};
    int wrote_line[PIPES] = {};
    int read_line[PIPES] = {};
};

}  // namespace emulated
