// Single AscendC functions on given numbers, so that what they compute can be compared.
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t N = 128;

struct Operands {
    TPipe pipe;
    TBuf<TPosition::VECIN> rooms[4];

    Operands()
    {
        for (TBuf<TPosition::VECIN> &room : rooms) {
            pipe.InitBuffer(room, 4 * N * sizeof(float));
        }
    }

    template <typename T> LocalTensor<T> at(int which)
    {
        return rooms[which].Get<T>();
    }
};

template <typename T, typename F> void Table(std::map<std::string, F> &all, const std::string &type)
{
    all["Add " + type] = [](Operands &o) { Add(o.at<T>(2), o.at<T>(0), o.at<T>(1), N); };
    all["Sub " + type] = [](Operands &o) { Sub(o.at<T>(2), o.at<T>(0), o.at<T>(1), N); };
    all["Mul " + type] = [](Operands &o) { Mul(o.at<T>(2), o.at<T>(0), o.at<T>(1), N); };
    all["Max " + type] = [](Operands &o) { Max(o.at<T>(2), o.at<T>(0), o.at<T>(1), N); };
    all["Min " + type] = [](Operands &o) { Min(o.at<T>(2), o.at<T>(0), o.at<T>(1), N); };
    all["Adds " + type] = [](Operands &o) { Adds(o.at<T>(2), o.at<T>(0), T(3), N); };
    all["Muls " + type] = [](Operands &o) { Muls(o.at<T>(2), o.at<T>(0), T(3), N); };
    all["Maxs " + type] = [](Operands &o) { Maxs(o.at<T>(2), o.at<T>(0), T(3), N); };
    all["Mins " + type] = [](Operands &o) { Mins(o.at<T>(2), o.at<T>(0), T(3), N); };
    all["CreateVecIndex " + type] = [](Operands &o) { CreateVecIndex(o.at<T>(2), T(5), N); };
    all["Duplicate " + type] = [](Operands &o) { Duplicate(o.at<T>(2), T(7), N); };
}

using Function = std::function<void(Operands &)>;

std::map<std::string, Function> functions()
{
    std::map<std::string, Function> all;
    Table<float>(all, "float32");
    Table<half>(all, "float16");
    Table<int32_t>(all, "int32");
    Table<int16_t>(all, "int16");
    all["Div float32"] = [](Operands &o) {
        Div(o.at<float>(2), o.at<float>(0), o.at<float>(1), N);
    };
    all["Abs float32"] = [](Operands &o) { Abs(o.at<float>(2), o.at<float>(0), N); };
    all["Exp float32"] = [](Operands &o) { Exp(o.at<float>(2), o.at<float>(0), N); };
    all["Ln float32"] = [](Operands &o) { Ln(o.at<float>(2), o.at<float>(1), N); };
    all["And int16"] = [](Operands &o) {
        And(o.at<int16_t>(2), o.at<int16_t>(0), o.at<int16_t>(1), N);
    };
    all["Or int16"] = [](Operands &o) {
        Or(o.at<int16_t>(2), o.at<int16_t>(0), o.at<int16_t>(1), N);
    };
    all["Not int16"] = [](Operands &o) { Not(o.at<int16_t>(2), o.at<int16_t>(0), N); };
    all["ShiftLeft int32"] = [](Operands &o) {
        ShiftLeft(o.at<int32_t>(2), o.at<int32_t>(0), 2, N);
    };
    all["ShiftRight int32"] = [](Operands &o) {
        ShiftRight(o.at<int32_t>(2), o.at<int32_t>(0), 2, N);
    };
    all["ShiftRight uint32"] = [](Operands &o) {
        ShiftRight(o.at<uint32_t>(2), o.at<uint32_t>(0), 2u, N);
    };
    all["Compare float32"] = [](Operands &o) {
        Compare(o.at<uint8_t>(2), o.at<float>(0), o.at<float>(1), CMPMODE::LE, N);
    };
    all["Cast float16 float32"] = [](Operands &o) {
        Cast(o.at<float>(2), o.at<half>(0), RoundMode::CAST_NONE, N);
    };
    all["Cast bfloat16 float32"] = [](Operands &o) {
        Cast(o.at<float>(2), o.at<bfloat16_t>(0), RoundMode::CAST_NONE, N);
    };
    all["Cast float32 int32"] = [](Operands &o) {
        Cast(o.at<int32_t>(2), o.at<float>(0), RoundMode::CAST_RINT, N);
    };
    all["ReduceSum float32"] = [](Operands &o) {
        Duplicate(o.at<float>(2), 0.0f, N);
        PipeBarrier<PIPE_V>();
        ReduceSum(o.at<float>(2), o.at<float>(0), o.at<float>(3), N);
    };
    all["ReduceMax float32"] = [](Operands &o) {
        Duplicate(o.at<float>(2), 0.0f, N);
        PipeBarrier<PIPE_V>();
        ReduceMax(o.at<float>(2), o.at<float>(0), o.at<float>(3), N);
    };
    // by repeats of 256 bytes: the first 48 lanes of each, every other block of the destination
    all["Add repeated float32"] = [](Operands &o) {
        Duplicate(o.at<float>(2), 0.0f, 4 * N);
        PipeBarrier<PIPE_V>();
        BinaryRepeatParams by;
        by.dstBlkStride = 2;
        by.dstRepStride = 16;
        Add(o.at<float>(2), o.at<float>(0), o.at<float>(1), uint64_t{48}, 2, by);
    };
    // bit by bit: lanes 1 and 34 of two repeats, a repeat apart
    all["Duplicate repeated float32"] = [](Operands &o) {
        Duplicate(o.at<float>(2), 0.0f, N);
        PipeBarrier<PIPE_V>();
        uint64_t mask[2] = {uint64_t{1} << 1 | uint64_t{1} << 34, 0};
        Duplicate(o.at<float>(2), 9.0f, mask, 2, 1, 8);
    };
    for (uint8_t pattern = 1; pattern <= 7; ++pattern) {
        all["GatherMask " + std::to_string(pattern)] = [pattern](Operands &o) {
            uint64_t kept = 0;
            Duplicate(o.at<float>(2), 0.0f, N);
            PipeBarrier<PIPE_V>();
            GatherMask(o.at<float>(2), o.at<float>(0), pattern, false, 0,
                       GatherMaskParams{1, 2, 8, 0}, kept);
        };
    }
    // blocks of five numbers with two between them, each in a block of 32 bytes of its own
    all["DataCopyPad float32"] = [](Operands &) {};
    return all;
}

float left[4 * N], right[4 * N], result[4 * N];

std::string message;

}  // namespace

extern "C" {

// `a`, `b` and `out` are 2048 bytes; the message is empty when all went well.
const char *function_run(const char *name, const void *a, const void *b, void *out)
{
    static const std::map<std::string, Function> all = functions();
    emulated::Machine &machine = emulated::Machine::instance();
    machine.memory.forget();
    std::memcpy(left, a, sizeof(left));
    std::memcpy(right, b, sizeof(right));
    std::memset(result, 0, sizeof(result));
    message.clear();
    try {
        machine.launch(name, 1, [name] {
            Operands operands;
            GlobalTensor<float> first, second, third;
            first.SetGlobalBuffer(left, 4 * N);
            second.SetGlobalBuffer(right, 4 * N);
            third.SetGlobalBuffer(result, 4 * N);
            DataCopy(operands.at<float>(0), first, 4 * N);
            DataCopy(operands.at<float>(1), second, 4 * N);
            Duplicate(operands.at<float>(2), 0.0f, 4 * N);
            PipeBarrier<PIPE_ALL>();
            if (std::string(name) == "DataCopyPad float32") {
                DataCopyPad(operands.at<float>(2), first, DataCopyExtParams{3, 20, 8, 1, 0},
                            DataCopyPadExtParams<float>{true, 0, 3, -1.0f});
            } else {
                all.at(name)(operands);
            }
            PipeBarrier<PIPE_ALL>();
            // what a function leaves undefined is not looked at
            std::memset(&emulated::core().defined[operands.at<float>(2).offset()], 1, 2048);
            DataCopy(third, operands.at<float>(2), 4 * N);
        });
    } catch (const std::exception &fault) {
        message = fault.what();
    }
    std::memcpy(out, result, sizeof(result));
    return message.c_str();
}

}  // extern "C"
