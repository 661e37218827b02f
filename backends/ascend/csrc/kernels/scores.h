// Numbers that are no number: found by their bits, since no order of a NaN is specified.
#pragma once

#include "pipes.h"

namespace xgr {

using namespace AscendC;

constexpr float INFINITE = __builtin_inff();
constexpr float GREATEST = 3.4028234663852886e38f;
constexpr int32_t INFINITE_BITS = 0x7F800000;

// Whether one of `count` numbers is a NaN; `count` is a power of two, 64 or more. `work` is as
// long. Scalar code may read `work` until the next vector instruction.
__aicore__ inline bool HasNan(const LocalTensor<float> &values, const LocalTensor<int32_t> &work,
                              uint32_t count)
{
    const LocalTensor<uint32_t> bits = values.ReinterpretCast<uint32_t>();
    const LocalTensor<uint32_t> sizes = work.ReinterpretCast<uint32_t>();
    // without the sign, numbers order as integers do, and each NaN is above infinity
    ShiftLeft(sizes, bits, static_cast<uint32_t>(1), static_cast<int32_t>(count));
    OrderVector();
    ShiftRight(sizes, sizes, static_cast<uint32_t>(1), static_cast<int32_t>(count));
    OrderVector();
    for (uint32_t length = count / 2; length >= 8; length /= 2) {
        AscendC::Max(work, work, work[length], static_cast<int32_t>(length));
        OrderVector();
    }
    Order<HardEvent::V_S>();
    int32_t greatest = 0;
    for (uint32_t at = 0; at < 8; ++at) {
        const int32_t size = work.GetValue(at);
        greatest = size > greatest ? size : greatest;
    }
    Order<HardEvent::S_V>();
    return greatest > INFINITE_BITS;
}

// The greatest of `count` numbers, none of which is a NaN.
__aicore__ inline float Greatest(const LocalTensor<float> &values, const LocalTensor<float> &one,
                                 const LocalTensor<float> &work, uint32_t count)
{
    ReduceMax(one, values, work, static_cast<int32_t>(count));
    Order<HardEvent::V_S>();
    const float found = one.GetValue(0);
    Order<HardEvent::S_V>();
    return found;
}

// Raises numbers to LEAST, but leaves -inf. `bits` takes a bit a number.
__aicore__ inline void ClampLegal(const LocalTensor<float> &values,
                                  const LocalTensor<uint8_t> &bits, uint32_t count)
{
    CompareScalar(bits, values, -GREATEST, CMPMODE::GE, count);
    OrderVector();
    Maxs(values, values, LEAST, static_cast<int32_t>(count));
    OrderVector();
    Select(values, bits, values, -INFINITE, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    OrderVector();
}

}  // namespace xgr
