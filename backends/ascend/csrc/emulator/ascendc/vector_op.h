// What every vector instruction checks: alignment, room, overlap, repeats, and order.
#pragma once

#include <cmath>
#include <limits>

#include "pipe.h"

namespace AscendC {

// An instruction on the vector pipe, with its operands as they are named.
class VectorOp {
public:
    VectorOp(const char *name, Site site)
        : core(emulated::core()), now_(core.issue(emulated::VECTOR)), name_(name), site_(site)
    {
    }

    template <typename T> void in(const LocalTensor<T> &tensor, uint64_t count) const
    {
        operand(tensor, count, false);
    }

    template <typename T> void out(const LocalTensor<T> &tensor, uint64_t count) const
    {
        operand(tensor, count, true);
    }

    // Source and destination are one place, or have nothing in common.
    template <typename T, typename U>
    void overlap(const LocalTensor<T> &dst, uint64_t dst_count, const LocalTensor<U> &src,
                 uint64_t src_count, bool same_allowed = true) const
    {
        const uint64_t dst_end = dst.offset() + dst_count * sizeof(T);
        const uint64_t src_end = src.offset() + src_count * sizeof(U);
        const bool apart = dst_end <= src.offset() || src_end <= dst.offset();
        const bool same = dst.offset() == src.offset() && sizeof(T) == sizeof(U);
        if (!apart && !(same && same_allowed)) {
            fail("source and destination overlap");
        }
    }

    void repeats(uint64_t count) const
    {
        if (count > emulated::MAX_REPEAT) {
            fail("repeats " + std::to_string(count) + " times, at most 255");
        }
    }

    template <typename T> void number(T value) const
    {
        if (value != value) {
            fail("meets a NaN, whose order is not specified");
        }
    }

    [[noreturn]] void fail(const std::string &what) const
    {
        core.fail(site_, std::string(name_) + ": " + what);
    }

    template <typename T> void touch(const LocalTensor<T> &t, uint32_t at, bool writes) const
    {
        core.touch_ub(emulated::VECTOR, now_, t.at(at), sizeof(T), writes, site_);
    }

    emulated::Core &core;

private:
    template <typename T>
    void operand(const LocalTensor<T> &tensor, uint64_t count, bool writes) const
    {
        tensor.need(core, count, site_);
        tensor.need_aligned(core, emulated::BLOCK_BYTES, name_, site_);
        core.touch_ub(emulated::VECTOR, now_, tensor.offset(),
                      static_cast<uint32_t>(count * sizeof(T)), writes, site_);
    }

    const uint64_t now_;
    const char *name_;
    const Site site_;
};

// Lanes of one repeat, by a count or bit by bit.
struct Lanes {
    uint64_t bits[2];

    template <typename T> static Lanes first(const VectorOp &op, uint64_t count)
    {
        const uint64_t most = emulated::REPEAT_BYTES / sizeof(T);
        if (count == 0 || count > most) {
            op.fail("mask " + std::to_string(count) + ", allowed: 1 to " + std::to_string(most));
        }
        Lanes lanes{{0, 0}};
        for (uint64_t lane = 0; lane < count; ++lane) {
            lanes.bits[lane / 64] |= uint64_t{1} << (lane % 64);
        }
        return lanes;
    }

    template <typename T> static Lanes these(const VectorOp &op, const uint64_t mask[])
    {
        if (sizeof(T) == 4) {
            return Lanes{{mask[0], 0}};
        }
        (void)op;
        return Lanes{{mask[0], mask[1]}};
    }

    bool has(uint32_t lane) const
    {
        return (bits[lane / 64] >> (lane % 64) & 1) != 0;
    }
};

// Element of a lane in a repeat: eight blocks of 32 bytes, each a stride apart.
template <typename T>
uint32_t element(uint32_t repeat, uint32_t lane, uint32_t block_stride, uint32_t repeat_stride)
{
    constexpr uint32_t per_block = emulated::BLOCK_BYTES / sizeof(T);
    const uint32_t block = lane / per_block;
    return (repeat * repeat_stride + block * block_stride) * per_block + lane % per_block;
}

template <typename T> constexpr bool is_one_of()
{
    return false;
}

template <typename T, typename First, typename... Rest> constexpr bool is_one_of()
{
    return std::is_same<T, First>::value || is_one_of<T, Rest...>();
}

}  // namespace AscendC
