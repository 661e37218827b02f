// The log of calls that tests read: one JSON object a line.
#pragma once

#include <string>
#include <vector>

namespace fake {

struct Stream;

// A launch, when the host makes it.
void note_launch(const std::string& name, const std::string& arguments, const Stream& stream,
                 uint32_t cube_cores, uint32_t vector_cores);

// A launch, when the device runs it.
void note_run(const std::string& name);

void note_failure(const std::string& message);

}  // namespace fake
