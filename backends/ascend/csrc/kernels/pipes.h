// Order between the pipes of a core, in one call.
#pragma once

#include "kernel_operator.h"

// A deliberate fault of this name, which the emulator's tests switch on and must see caught.
#ifndef XGR_FAULT
#define XGR_FAULT(name) false
#endif

namespace xgr {

// What `event`'s first pipe has been told so far is done before its second one goes on.
template <AscendC::HardEvent event> __aicore__ inline void Order()
{
    const AscendC::TEventID id = AscendC::GetTPipePtr()->FetchEventID(event);
    AscendC::SetFlag<event>(id);
    AscendC::WaitFlag<event>(id);
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
                            const AscendC::GlobalTensor<T> &from, uint32_t count)
{
    const AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    const AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, T{}};
    AscendC::DataCopyPad(to, from, copy, pad);
}

template <typename T>
__aicore__ inline void Store(const AscendC::GlobalTensor<T> &to,
                             const AscendC::LocalTensor<T> &from, uint32_t count)
{
    const AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    AscendC::DataCopyPad(to, from, copy);
}

__aicore__ inline int64_t Min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

__aicore__ inline int64_t RoundUp(int64_t value, int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace xgr
