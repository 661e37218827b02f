// Order between the pipes of a core, in one call.
#pragma once

#include "kernel_operator.h"

// A deliberate fault of this name, which the emulator's tests switch on and must see caught.
#ifndef XGR_FAULT
#define XGR_FAULT(name) false
#endif

// The emulator's messages name the line that calls a function, where that takes these.
#ifndef XGR_SITE
#define XGR_SITE
#define XGR_SITE_ALONE
#define XGR_AT
#endif

namespace xgr {

// What `event`'s first pipe has been told so far is done before its second one goes on. Between two
// of one event the first pipe must have waited for the second, or the flag could be set twice.
template <AscendC::HardEvent event> __aicore__ inline void Order(XGR_SITE_ALONE)
{
    const AscendC::TEventID id = GetTPipePtr()->FetchEventID(event);
    AscendC::SetFlag<event>(id XGR_AT);
    AscendC::WaitFlag<event>(id XGR_AT);
}

// Vector instructions read what earlier ones wrote.
__aicore__ inline void OrderVector()
{
    AscendC::PipeBarrier<PIPE_V>();
}

template <typename T> __aicore__ inline AscendC::GlobalTensor<T> Global(GM_ADDR address)
{
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(address));
    return tensor;
}

// `count` elements, whatever their number.
template <typename T>
__aicore__ inline void Load(const AscendC::LocalTensor<T> &to,
                            const AscendC::GlobalTensor<T> &from, uint32_t count XGR_SITE)
{
    const AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    const AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, T{}};
    AscendC::DataCopyPad(to, from, copy, pad XGR_AT);
}

template <typename T>
__aicore__ inline void Store(const AscendC::GlobalTensor<T> &to,
                             const AscendC::LocalTensor<T> &from, uint32_t count XGR_SITE)
{
    const AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    AscendC::DataCopyPad(to, from, copy XGR_AT);
}

// As Load, up to whole blocks of 32 bytes with `value` behind the last element.
template <typename T>
__aicore__ inline void LoadPadded(const AscendC::LocalTensor<T> &to,
                                  const AscendC::GlobalTensor<T> &from, uint32_t count,
                                  T value XGR_SITE)
{
    constexpr uint32_t perBlock = 32 / sizeof(T);
    const uint8_t missing = static_cast<uint8_t>((perBlock - count % perBlock) % perBlock);
    const AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    const AscendC::DataCopyPadExtParams<T> pad{true, 0, missing, value};
    AscendC::DataCopyPad(to, from, copy, pad XGR_AT);
}

__aicore__ inline int64_t Smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

__aicore__ inline int64_t RoundUp(int64_t value, int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace xgr
