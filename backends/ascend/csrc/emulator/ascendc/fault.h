// What goes wrong on the emulated machine, and where in the kernel it was asked for.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace emulated {

// Place of a call in kernel source. As a default argument it is the caller's.
struct Site {
    const char *file;
    int line;

    static constexpr Site here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return Site{file, line};
    }

    std::string text() const
    {
        const std::string path = file;
        return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(line);
    }
};

// A hazard: the kernel would hang, crash or compute something unspecified on the device.
struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Hardware that the emulator models: one vector core of NPU architecture 2201 (910B, 910_93).
constexpr uint32_t UB_BYTES = 188160;  // 192 KiB less what Select and the compiler reserve
constexpr uint32_t BLOCK_BYTES = 32;
constexpr uint32_t REPEAT_BYTES = 256;
constexpr uint32_t MAX_REPEAT = 255;
constexpr int MAX_BUFFERS = 64;
constexpr int MAX_OUTSTANDING = 8;
constexpr int EVENT_IDS = 8;
constexpr uint8_t POISON = 0xA5;

}  // namespace emulated
