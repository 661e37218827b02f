// The cores of a launch, run one after the other between the points where they all meet, in an
// order that the caller chooses. Each core has a stack of its own, so that it can stop in SyncAll.
#pragma once

#include <ucontext.h>

#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core.h"

namespace emulated {

// In which order cores run: shuffled by a seed, or, with `exact`, the seed-th of all orders.
struct Order {
    uint64_t seed = 0;
    bool exact = false;
};

class Machine {
public:
    static Machine &instance()
    {
        static Machine machine;
        return machine;
    }

    // Runs a kernel on `count` cores.
    // Throws: Fault for the first hazard.
    void launch(const std::string &kernel, int count, const std::function<void()> &body)
    {
        memory.begin();
        body_ = &body;
        cores_.clear();
        contexts_.clear();
        contexts_.resize(count);
        alive_.assign(count, true);
        arrived_.assign(count, false);
        failure_ = nullptr;
        random_.seed(order.seed);
        choice_ = order.seed;
        for (int index = 0; index < count; ++index) {
            cores_.push_back(std::make_unique<Core>(index, kernel, memory));
            cores_.back()->count = count;
            prepare(index);
        }
        while (phase(kernel)) {
        }
        current_ = -1;
        reserved = 0;
        for (const auto &core : cores_) {
            reserved = std::max<int64_t>(reserved, core->used);
        }
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

    Core &core()
    {
        if (current_ < 0) {
            throw Fault("AscendC was called outside of a kernel");
        }
        return *cores_[current_];
    }

    // Where a core waits for the others.
    void meet()
    {
        const int mine = current_;
        arrived_[mine] = true;
        swapcontext(&contexts_[mine].context, &scheduler_);
    }

    GlobalMemory memory;
    Order order;
    int64_t reserved = 0;  // bytes of the unified buffer, by the core that took most

private:
    static constexpr size_t STACK = 256 * 1024;

    struct Context {
        ucontext_t context;
        std::unique_ptr<char[]> stack;
    };

    void prepare(int index)
    {
        Context &one = contexts_[index];
        one.stack = std::make_unique<char[]>(STACK);
        getcontext(&one.context);
        one.context.uc_stack.ss_sp = one.stack.get();
        one.context.uc_stack.ss_size = STACK;
        one.context.uc_link = &scheduler_;
        makecontext(&one.context, &Machine::enter, 0);
    }

    static void enter()
    {
        Machine &machine = instance();
        const int mine = machine.current_;
        try {
            (*machine.body_)();
            machine.cores_[mine]->finish();
        } catch (...) {
            machine.failure_ = std::current_exception();
        }
        machine.alive_[mine] = false;
    }

    // Lets each core run until it meets the others or ends. False when nothing is left to run.
    bool phase(const std::string &kernel)
    {
        std::vector<int> turn;
        for (size_t index = 0; index < alive_.size(); ++index) {
            if (alive_[index]) {
                turn.push_back(static_cast<int>(index));
            }
        }
        if (turn.empty()) {
            return false;
        }
        arrange(turn);
        for (const int index : turn) {
            arrived_[index] = false;
            current_ = index;
            swapcontext(&scheduler_, &contexts_[index].context);
            if (failure_) {
                return false;
            }
        }
        size_t waiting = 0;
        for (const int index : turn) {
            waiting += arrived_[index] ? 1 : 0;
        }
        if (waiting != 0 && waiting != alive_.size()) {
            failure_ = std::make_exception_ptr(
                Fault(kernel + ": " + std::to_string(waiting) + " of " +
                      std::to_string(alive_.size()) + " cores wait in SyncAll for ever"));
            return false;
        }
        for (auto &core : cores_) {
            core->epoch += 1;
        }
        return waiting != 0;
    }

    void arrange(std::vector<int> &turn)
    {
        if (!order.exact) {
            std::shuffle(turn.begin(), turn.end(), random_);
            return;
        }
        // the digits of the number in factorial base, phase after phase
        for (size_t left = turn.size(); left > 1; --left) {
            std::swap(turn[left - 1], turn[choice_ % left]);
            choice_ /= left;
        }
    }

    const std::function<void()> *body_ = nullptr;
    std::vector<std::unique_ptr<Core>> cores_;
    std::vector<Context> contexts_;
    std::vector<bool> alive_;
    std::vector<bool> arrived_;
    std::exception_ptr failure_;
    std::mt19937_64 random_;
    uint64_t choice_ = 0;
    ucontext_t scheduler_;
    int current_ = -1;
};

inline Core &core()
{
    return Machine::instance().core();
}

}  // namespace emulated
