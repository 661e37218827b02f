// Device memory: poisoned when allocated, between red zones that are checked when it is freed and
// whenever the host waits.
#pragma once

#include <cstddef>

namespace fake {

void* allocate(size_t bytes);
void release(void* data);

// Throws when a red zone was written.
void check_red_zones();

// Whether [data, data + bytes) lies in one live allocation.
bool on_device(const void* data, size_t bytes);

// Poison: NaN as float16, bfloat16, float32 and float64, out of any range as an index.
void poison(void* data, size_t bytes);

size_t bytes_in_use();

}  // namespace fake
