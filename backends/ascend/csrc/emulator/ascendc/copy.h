// Copies between global memory and the unified buffer.
#pragma once

#include "vector_op.h"

namespace AscendC {

class Copy {
public:
    Copy(const char *name, int pipe, Site site)
        : core(emulated::core()), now_(core.issue(pipe)), name_(name), pipe_(pipe), site_(site)
    {
    }

    template <typename T> void local(const LocalTensor<T> &tensor) const
    {
        tensor.need_aligned(core, emulated::BLOCK_BYTES, name_, site_);
        if (tensor.position() == TPosition::VECCALC) {
            core.fail(site_, std::string(name_) +
                                 ": a buffer at VECCALC; copies need VECIN or VECOUT");
        }
    }

    void counts(uint64_t blocks, uint64_t length, uint64_t most) const
    {
        if (blocks > 4095 || length > most) {
            core.fail(site_, std::string(name_) + ": " + std::to_string(blocks) + " blocks of " +
                                 std::to_string(length) + ", at most 4095 of " +
                                 std::to_string(most));
        }
    }

    void load(uint32_t to, const void *from, uint64_t bytes) const
    {
        room(to, bytes);
        core.touch_global(pipe_, now_, from, bytes, false, site_);
        core.touch_ub(pipe_, now_, to, static_cast<uint32_t>(bytes), true, site_);
        std::memcpy(&core.ub[to], from, bytes);
    }

    void store(void *to, uint32_t from, uint64_t bytes) const
    {
        room(from, bytes);
        core.touch_ub(pipe_, now_, from, static_cast<uint32_t>(bytes), false, site_);
        core.touch_global(pipe_, now_, to, bytes, true, site_);
        std::memcpy(to, &core.ub[from], bytes);
    }

    void fill(uint32_t to, const void *value, uint32_t size, uint64_t bytes) const
    {
        room(to, bytes);
        core.touch_ub(pipe_, now_, to, static_cast<uint32_t>(bytes), true, site_);
        for (uint64_t at = 0; at < bytes; at += size) {
            std::memcpy(&core.ub[to + at], value, size);
        }
    }

    [[noreturn]] void fail(const std::string &what) const
    {
        core.fail(site_, std::string(name_) + ": " + what);
    }

    emulated::Core &core;

private:
    void room(uint64_t offset, uint64_t bytes) const
    {
        if (offset + bytes > emulated::UB_BYTES) {
            core.fail(site_, std::string(name_) + ": past the end of the unified buffer");
        }
    }

    const uint64_t now_;
    const char *name_;
    const int pipe_;
    const Site site_;
};

// Whole blocks of 32 bytes only.
template <typename T>
void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, uint32_t count,
              Site site = Site::here())
{
    const Copy copy("DataCopy", emulated::MTE2, site);
    copy.local(dst);
    const uint64_t bytes = uint64_t{count} * sizeof(T);
    if (bytes % emulated::BLOCK_BYTES != 0) {
        copy.fail(std::to_string(bytes) + " bytes are no multiple of 32: need DataCopyPad");
    }
    src.need(copy.core, count, site);
    dst.need(copy.core, count, site);
    copy.load(dst.offset(), src.address(), bytes);
}

template <typename T>
void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, uint32_t count,
              Site site = Site::here())
{
    const Copy copy("DataCopy", emulated::MTE3, site);
    copy.local(src);
    const uint64_t bytes = uint64_t{count} * sizeof(T);
    if (bytes % emulated::BLOCK_BYTES != 0) {
        copy.fail(std::to_string(bytes) + " bytes are no multiple of 32: need DataCopyPad");
    }
    dst.need(copy.core, count, site);
    src.need(copy.core, count, site);
    copy.store(dst.address(), src.offset(), bytes);
}

// Inside the unified buffer, on the vector pipe.
template <typename T>
void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint32_t count,
              Site site = Site::here())
{
    const VectorOp op("DataCopy", site);
    if (uint64_t{count} * sizeof(T) % emulated::BLOCK_BYTES != 0) {
        op.fail("no multiple of 32 bytes");
    }
    op.overlap(dst, count, src, count, false);
    op.in(src, count);
    op.out(dst, count);
    std::memmove(&op.core.ub[dst.offset()], &op.core.ub[src.offset()], count * sizeof(T));
}

// Blocks of any length; each begins a block of 32 bytes in the unified buffer.
template <typename T>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
                 const DataCopyExtParams &params, const DataCopyPadExtParams<T> &pad,
                 Site site = Site::here())
{
    const Copy copy("DataCopyPad", emulated::MTE2, site);
    copy.local(dst);
    copy.counts(params.blockCount, params.blockLen, 2097151);
    const uint64_t left = pad.leftPadding * sizeof(T);
    const uint64_t right = pad.rightPadding * sizeof(T);
    if (params.blockLen % sizeof(T) != 0 || left > 32 || right > 32) {
        copy.fail("a block is no whole number of elements, or pads more than 32 bytes");
    }
    const uint64_t held = (left + params.blockLen + right + 31) / 32 * 32;
    for (uint64_t block = 0; block < params.blockCount; ++block) {
        const uint64_t from = block * (uint64_t{params.blockLen} + params.srcStride);
        const uint64_t to = block * (held + uint64_t{params.dstStride} * 32);
        if (params.blockLen == 0) {
            continue;
        }
        src.need(copy.core, (from + params.blockLen) / sizeof(T), site);
        dst.need(copy.core, (to + held) / sizeof(T), site);
        const auto *address = reinterpret_cast<const uint8_t *>(src.address()) + from;
        const auto at = static_cast<uint32_t>(dst.offset() + to);
        // what pads an unaligned block is its first element, unless a value is given
        T value;
        std::memcpy(&value, address, sizeof(T));
        copy.fill(at, pad.isPad ? &pad.paddingValue : &value, sizeof(T), held);
        copy.load(at + static_cast<uint32_t>(left), address, params.blockLen);
    }
}

template <typename T>
void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
                 const DataCopyExtParams &params, Site site = Site::here())
{
    const Copy copy("DataCopyPad", emulated::MTE3, site);
    copy.local(src);
    copy.counts(params.blockCount, params.blockLen, 2097151);
    if (params.blockLen % sizeof(T) != 0) {
        copy.fail("a block is no whole number of elements");
    }
    const uint64_t held = (uint64_t{params.blockLen} + 31) / 32 * 32;
    for (uint64_t block = 0; block < params.blockCount; ++block) {
        const uint64_t from = block * (held + uint64_t{params.srcStride} * 32);
        const uint64_t to = block * (uint64_t{params.blockLen} + params.dstStride);
        dst.need(copy.core, (to + params.blockLen) / sizeof(T), site);
        src.need(copy.core, (from + params.blockLen) / sizeof(T), site);
        copy.store(reinterpret_cast<uint8_t *>(dst.address()) + to,
                   static_cast<uint32_t>(src.offset() + from), params.blockLen);
    }
}

}  // namespace AscendC
