// Rows of the requests of a batch, held by every core.
#pragma once

#include "layout.h"
#include "pipes.h"

namespace xgr {

using namespace AscendC;

class Requests {
public:
    // `starts` int32 [count + 1], `sizes` int32 [count].
    __aicore__ inline void Init(TPipe &pipe, GM_ADDR starts, GM_ADDR sizes, int64_t count)
    {
        const uint32_t room = static_cast<uint32_t>((count + 1) * sizeof(int32_t));
        pipe.InitBuffer(starts_, room);
        pipe.InitBuffer(sizes_, room);
        Load(starts_.Get<int32_t>(), Global<int32_t>(starts), static_cast<uint32_t>(count + 1));
        Load(sizes_.Get<int32_t>(), Global<int32_t>(sizes), static_cast<uint32_t>(count));
        Order<HardEvent::MTE2_S>();
    }

    __aicore__ inline int64_t Start(int64_t request) const
    {
        return starts_.Get<int32_t>().GetValue(static_cast<uint32_t>(request));
    }

    __aicore__ inline int64_t Rows(int64_t request) const
    {
        return Start(request + 1) - Start(request);
    }

    __aicore__ inline int64_t Size(int64_t request) const
    {
        return sizes_.Get<int32_t>().GetValue(static_cast<uint32_t>(request));
    }

private:
    mutable TBuf<TPosition::VECIN> starts_, sizes_;
};

}  // namespace xgr
