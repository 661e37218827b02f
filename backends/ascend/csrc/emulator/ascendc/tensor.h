// Tensors in global memory and in the unified buffer.
#pragma once

#include "machine.h"
#include "types.h"

namespace AscendC {

using emulated::Site;

template <typename T> class GlobalTensor {
public:
    void SetGlobalBuffer(T *buffer)
    {
        address_ = buffer;
        size_ = UINT64_MAX;
    }

    void SetGlobalBuffer(T *buffer, uint64_t size)
    {
        address_ = buffer;
        size_ = size;
    }

    GlobalTensor operator[](uint64_t offset) const
    {
        GlobalTensor part = *this;
        part.address_ += offset;
        part.size_ = size_ == UINT64_MAX ? size_ : (offset <= size_ ? size_ - offset : 0);
        return part;
    }

    // Through the scalar cache.
    T GetValue(uint64_t offset, Site site = Site::here()) const
    {
        emulated::Core &core = emulated::core();
        need(core, offset + 1, site);
        const uint64_t now = core.issue(emulated::SCALAR);
        core.touch_global(emulated::SCALAR, now, address_ + offset, sizeof(T), false, site);
        return address_[offset];
    }

    void SetValue(uint64_t, T, Site site = Site::here()) const
    {
        emulated::core().fail(site, "scalar write to global memory: caches are not coherent, "
                                    "other cores' bytes of the line would be lost");
    }

    const T *GetPhyAddr() const
    {
        return address_;
    }

    void need(emulated::Core &core, uint64_t elements, Site site) const
    {
        if (elements > size_) {
            core.fail(site, "global tensor of " + std::to_string(size_) + " elements, " +
                                std::to_string(elements) + " are asked for");
        }
    }

    T *address() const
    {
        return address_;
    }

private:
    T *address_ = nullptr;
    uint64_t size_ = 0;
};

template <typename T> class LocalTensor {
public:
    LocalTensor() = default;

    LocalTensor(uint32_t offset, uint32_t bytes, TPosition position, int queue = -1)
        : offset_(offset), bytes_(bytes), position_(position), queue_(queue)
    {
    }

    LocalTensor operator[](uint32_t index) const
    {
        const uint64_t skipped = uint64_t{index} * sizeof(T);
        LocalTensor part = *this;
        part.offset_ += static_cast<uint32_t>(skipped);
        part.bytes_ = skipped <= bytes_ ? bytes_ - static_cast<uint32_t>(skipped) : 0;
        return part;
    }

    T GetValue(uint32_t index, Site site = Site::here()) const
    {
        emulated::Core &core = emulated::core();
        need(core, uint64_t{index} + 1, site);
        const uint64_t now = core.issue(emulated::SCALAR);
        core.touch_ub(emulated::SCALAR, now, at(index), sizeof(T), false, site);
        return load(core, index);
    }

    template <typename U> void SetValue(uint32_t index, U value, Site site = Site::here()) const
    {
        emulated::Core &core = emulated::core();
        need(core, uint64_t{index} + 1, site);
        const uint64_t now = core.issue(emulated::SCALAR);
        core.touch_ub(emulated::SCALAR, now, at(index), sizeof(T), true, site);
        store(core, index, static_cast<T>(value));
    }

    template <typename U> LocalTensor<U> ReinterpretCast() const
    {
        return LocalTensor<U>(offset_, bytes_, position_, queue_);
    }

    uint32_t GetSize() const
    {
        return bytes_ / sizeof(T);
    }

    // What follows is the emulator's.

    void need(emulated::Core &core, uint64_t elements, Site site) const
    {
        if (elements * sizeof(T) > bytes_) {
            core.fail(site, "local tensor of " + std::to_string(GetSize()) + " elements, " +
                                std::to_string(elements) + " are asked for");
        }
    }

    void need_aligned(emulated::Core &core, uint32_t bytes, const char *what, Site site) const
    {
        if (offset_ % bytes != 0) {
            core.fail(site, std::string(what) + " is at UB byte " + std::to_string(offset_) +
                                ", need a multiple of " + std::to_string(bytes));
        }
    }

    T load(emulated::Core &core, uint32_t index) const
    {
        T value;
        std::memcpy(&value, &core.ub[at(index)], sizeof(T));
        return value;
    }

    void store(emulated::Core &core, uint32_t index, T value) const
    {
        std::memcpy(&core.ub[at(index)], &value, sizeof(T));
    }

    uint32_t at(uint32_t index) const
    {
        return offset_ + index * static_cast<uint32_t>(sizeof(T));
    }

    uint32_t offset() const
    {
        return offset_;
    }

    uint32_t bytes() const
    {
        return bytes_;
    }

    TPosition position() const
    {
        return position_;
    }

    int queue() const
    {
        return queue_;
    }

private:
    uint32_t offset_ = 0;
    uint32_t bytes_ = 0;
    TPosition position_ = TPosition::VECCALC;
    int queue_ = -1;
};

}  // namespace AscendC
