// Buffers of the unified buffer: queues with their hand-over, and plain ones.
#pragma once

#include <string>

#include "sync.h"

namespace AscendC {

class TPipe;

// A queue of buffers between the pipe that fills them and the pipe that uses them.
template <TPosition position, int32_t depth, int32_t mask = 0> class TQue {
    static_assert(position == TPosition::VECIN || position == TPosition::VECOUT,
                  "queues lie at VECIN or VECOUT");

public:
    template <typename T> LocalTensor<T> AllocTensor(Site site = Site::here())
    {
        emulated::Core &core = emulated::core();
        emulated::Queue &queue = mine(core, site);
        need_room(core, site);
        for (emulated::QueueBuffer &buffer : queue.buffers) {
            if (buffer.held == emulated::Held::FREE) {
                buffer.held = emulated::Held::ALLOCATED;
                core.issue(queue.producer);
                core.knows[queue.producer].merge(buffer.freed);
                core.undefine(buffer.offset, queue.bytes);
                return LocalTensor<T>(buffer.offset, queue.bytes, position, index_);
            }
        }
        core.fail(site, "AllocTensor from queue " + queue.name + ", all " +
                            std::to_string(queue.buffers.size()) + " buffers of which are in use");
    }

    template <typename T> bool EnQue(const LocalTensor<T> &tensor, Site site = Site::here())
    {
        emulated::Core &core = emulated::core();
        emulated::Queue &queue = mine(core, site);
        const int at = buffer_of(core, tensor, site);
        emulated::QueueBuffer &buffer = queue.buffers[at];
        if (buffer.held != emulated::Held::ALLOCATED) {
            core.fail(site, "EnQue of a tensor that is not allocated from queue " + queue.name);
        }
        if (static_cast<int32_t>(queue.line.size()) >= depth) {
            core.fail(site, "EnQue beyond the depth " + std::to_string(depth) + " of queue " +
                                queue.name);
        }
        buffer.ready = core.completed(queue.producer);
        buffer.held = emulated::Held::QUEUED;
        queue.line.push_back(at);
        return true;
    }

    template <typename T> LocalTensor<T> DeQue(Site site = Site::here())
    {
        emulated::Core &core = emulated::core();
        emulated::Queue &queue = mine(core, site);
        if (queue.line.empty()) {
            core.fail(site, "DeQue from queue " + queue.name + ", which is empty");
        }
        emulated::QueueBuffer &buffer = queue.buffers[queue.line.front()];
        queue.line.erase(queue.line.begin());
        buffer.held = emulated::Held::DEQUEUED;
        core.issue(queue.consumer);
        core.knows[queue.consumer].merge(buffer.ready);
        return LocalTensor<T>(buffer.offset, queue.bytes, position, index_);
    }

    template <typename T> void FreeTensor(LocalTensor<T> &tensor, Site site = Site::here())
    {
        emulated::Core &core = emulated::core();
        emulated::Queue &queue = mine(core, site);
        emulated::QueueBuffer &buffer = queue.buffers[buffer_of(core, tensor, site)];
        if (buffer.held == emulated::Held::FREE) {
            core.fail(site, "FreeTensor of a tensor of queue " + queue.name + " that is free");
        }
        if (buffer.held == emulated::Held::QUEUED) {
            core.fail(site, "FreeTensor of a tensor that is still in queue " + queue.name);
        }
        buffer.freed = core.completed(queue.consumer);
        buffer.held = emulated::Held::FREE;
    }

private:
    friend class TPipe;

    emulated::Queue &mine(emulated::Core &core, Site site) const
    {
        if (index_ < 0) {
            core.fail(site, "a queue is used that InitBuffer has not seen");
        }
        return core.queues[index_];
    }

    template <typename T>
    int buffer_of(emulated::Core &core, const LocalTensor<T> &tensor, Site site) const
    {
        const emulated::Queue &queue = core.queues[index_];
        for (size_t at = 0; at < queue.buffers.size(); ++at) {
            if (queue.buffers[at].offset == tensor.offset()) {
                return static_cast<int>(at);
            }
        }
        core.fail(site, "a tensor at UB byte " + std::to_string(tensor.offset()) +
                            " is not of queue " + queue.name);
    }

    void need_room(emulated::Core &core, Site site) const
    {
        int outstanding = 0;
        for (const emulated::Queue &queue : core.queues) {
            for (const emulated::QueueBuffer &buffer : queue.buffers) {
                const bool here = queue.position == static_cast<int>(position);
                outstanding += here && buffer.held != emulated::Held::FREE ? 1 : 0;
            }
        }
        if (outstanding >= emulated::MAX_OUTSTANDING) {
            core.fail(site, "more than 8 tensors of one position are allocated at a time");
        }
    }

    int index_ = -1;
};

template <TPosition position> class TBuf {
public:
    template <typename T> LocalTensor<T> Get(Site site = Site::here())
    {
        if (bytes_ == 0) {
            emulated::core().fail(site, "a buffer is used that InitBuffer has not seen");
        }
        return LocalTensor<T>(offset_, bytes_, position);
    }

    template <typename T> LocalTensor<T> Get(uint32_t length, Site site = Site::here())
    {
        LocalTensor<T> whole = Get<T>(site);
        whole.need(emulated::core(), length, site);
        return LocalTensor<T>(offset_, length * sizeof(T), position);
    }

private:
    friend class TPipe;
    uint32_t offset_ = 0;
    uint32_t bytes_ = 0;
};

class TPipe {
public:
    TPipe()
    {
        emulated::core().pipe = this;
    }

    template <TPosition position, int32_t depth, int32_t mask>
    bool InitBuffer(TQue<position, depth, mask> &queue, uint8_t count, uint32_t bytes,
                    Site site = Site::here())
    {
        emulated::Core &core = emulated::core();
        const bool in = position == TPosition::VECIN;
        emulated::Queue made;
        made.position = static_cast<int>(position);
        made.producer = in ? emulated::MTE2 : emulated::VECTOR;
        made.consumer = in ? emulated::VECTOR : emulated::MTE3;
        made.bytes = (bytes + 31) / 32 * 32;
        made.name = std::string(in ? "VECIN" : "VECOUT") + " " + std::to_string(core.queues.size());
        for (int at = 0; at < count; ++at) {
            emulated::QueueBuffer buffer;
            buffer.offset = core.reserve(bytes, site);
            made.buffers.push_back(buffer);
            // a flag each way belongs to the buffer
            take(core, made.producer, made.consumer, site);
            take(core, made.consumer, made.producer, site);
            core.queue_ids[made.producer][made.consumer] += 1;
            core.queue_ids[made.consumer][made.producer] += 1;
        }
        queue.index_ = static_cast<int>(core.queues.size());
        core.queues.push_back(made);
        return true;
    }

    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint32_t bytes, Site site = Site::here())
    {
        buffer.offset_ = emulated::core().reserve(bytes, site);
        buffer.bytes_ = (bytes + 31) / 32 * 32;
        return true;
    }

    // An id that is free now; it is not taken.
    TEventID FetchEventID(HardEvent event, Site site = Site::here())
    {
        emulated::Core &core = emulated::core();
        const Ends ends = ends_of(event);
        return lowest(core, ends.from, ends.to, site);
    }

    template <HardEvent event> TEventID AllocEventID(Site site = Site::here())
    {
        const Ends ends = ends_of(event);
        return take(emulated::core(), ends.from, ends.to, site);
    }

    template <HardEvent event> void ReleaseEventID(TEventID id, Site site = Site::here())
    {
        emulated::Core &core = emulated::core();
        const Ends ends = ends_of(event);
        if (core.taken[ends.from][ends.to].erase(id) == 0) {
            core.fail(site, "event id " + flag_name(ends, id) + " is released and was not taken");
        }
    }

private:
    static TEventID lowest(emulated::Core &core, int from, int to, Site site)
    {
        for (int id = 0; id < emulated::EVENT_IDS; ++id) {
            if (core.taken[from][to].count(id) == 0) {
                return static_cast<TEventID>(id);
            }
        }
        core.fail(site, "no event id is left of " + flag_name(Ends{from, to}, 0));
    }

    static TEventID take(emulated::Core &core, int from, int to, Site site)
    {
        const TEventID id = lowest(core, from, to, site);
        core.taken[from][to].insert(id);
        return id;
    }
};

}  // namespace AscendC

inline AscendC::TPipe *GetTPipePtr()
{
    return static_cast<AscendC::TPipe *>(emulated::core().pipe);
}
