// One small kernel for each hazard that the emulator knows: right as it stands, wrong when told so.
#include "hazards_of/copies.h"
#include "hazards_of/cores.h"
#include "hazards_of/flags.h"
#include "hazards_of/numbers.h"
#include "hazards_of/pipes.h"
#include "hazards_of/places.h"
#include "hazards_of/queues.h"

namespace {

std::vector<Hazard> hazards()
{
    std::vector<Hazard> all;
    const List add{all};
    hazards_of_places(add);
    hazards_of_copies(add);
    hazards_of_queues(add);
    hazards_of_pipes(add);
    hazards_of_flags(add);
    hazards_of_cores(add);
    hazards_of_numbers(add);
    return all;
}

const std::vector<Hazard> &known()
{
    static const std::vector<Hazard> all = hazards();
    return all;
}

std::string message;

}  // namespace

extern "C" {

const char *hazard_name(int at)
{
    return at < static_cast<int>(known().size()) ? known()[at].name : nullptr;
}

// Runs a kernel, right or wrong; the emulator's message, empty when it found nothing.
const char *hazard_run(int at, int is_wrong)
{
    emulated::Machine &machine = emulated::Machine::instance();
    machine.memory.forget();
    for (uint32_t i = 0; i < N; ++i) {
        input[i] = static_cast<float>(i);
    }
    machine.memory.add("input", input, sizeof(input), false, false);
    machine.memory.add("output", output, sizeof(output), true, false);
    machine.memory.add("scratch", scratch, sizeof(scratch), true, true);
    wrong = is_wrong != 0;
    message.clear();
    try {
        machine.launch(known()[at].name, known()[at].cores, known()[at].kernel);
    } catch (const std::exception &fault) {
        message = fault.what();
    }
    return message.c_str();
}

}  // extern "C"
