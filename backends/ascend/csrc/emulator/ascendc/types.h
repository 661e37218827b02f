// Element types, positions, events and parameter structures, named as the public API names them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#define __global__
#define __aicore__
#define __gm__
#define __ubuf__
#define GM_ADDR uint8_t *

using half = _Float16;

struct bfloat16_t {
    uint16_t bits;

    explicit operator float() const
    {
        const uint32_t wide = static_cast<uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &wide, sizeof(value));
        return value;
    }
};

enum pipe_t { PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3, PIPE_ALL };

// Kinds of kernels; a kernel in which vector cores meet must be of the mixed kind.
enum KernelType { KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_MIX_AIV_1_0 };

#define KERNEL_TASK_TYPE_DEFAULT(kind) \
    emulated::core().vector_only = ((kind) == KERNEL_TYPE_AIV_ONLY)

namespace AscendC {

enum class TPosition : int { GM, VECIN, VECOUT, VECCALC };
using QuePosition = TPosition;

enum class HardEvent : int {
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    MTE2_MTE3,
    MTE3_MTE2,
    V_S,
    S_V,
    MTE2_S,
    S_MTE2,
    MTE3_S,
    S_MTE3,
};

using TEventID = int8_t;

enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t {
    VSEL_CMPMASK_SPR,
    VSEL_TENSOR_SCALAR_MODE,
    VSEL_TENSOR_TENSOR_MODE,
};
enum class RoundMode { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC };

struct DataCopyParams {
    uint16_t blockCount = 1;
    uint16_t blockLen = 0;  // in blocks of 32 bytes
    uint16_t srcStride = 0;
    uint16_t dstStride = 0;
};

struct DataCopyExtParams {
    uint16_t blockCount = 1;
    uint32_t blockLen = 0;  // in bytes
    uint32_t srcStride = 0;
    uint32_t dstStride = 0;
    uint32_t rsv = 0;
};

template <typename T> struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    T paddingValue{};
};

struct UnaryRepeatParams {
    uint16_t dstBlkStride = 1;
    uint16_t srcBlkStride = 1;
    uint8_t dstRepStride = 8;
    uint8_t srcRepStride = 8;
};

struct BinaryRepeatParams {
    uint8_t dstBlkStride = 1;
    uint8_t src0BlkStride = 1;
    uint8_t src1BlkStride = 1;
    uint8_t dstRepStride = 8;
    uint8_t src0RepStride = 8;
    uint8_t src1RepStride = 8;
};

struct GatherMaskParams {
    uint8_t src0BlockStride = 1;
    uint16_t repeatTimes = 0;
    uint16_t src0RepeatStride = 8;
    uint8_t src1RepeatStride = 8;
};

struct MrgSort4Info {
    uint16_t elementLengths[4] = {};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint16_t repeatTimes = 1;
};

}  // namespace AscendC
