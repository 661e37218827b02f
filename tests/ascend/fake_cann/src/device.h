// What the faked device is: a row of the SoC table, chosen by XGR_FAKE_SOC.
#pragma once

#include <cstdint>
#include <string>

namespace fake {

struct Soc {
  const char* name;
  uint32_t cube_cores;
  uint32_t vector_cores;
};

const Soc& soc();

// Cores that a call made by this thread now may use.
uint32_t cube_cores_now();
uint32_t vector_cores_now();

constexpr size_t kDeviceBytes = size_t{8} << 30;
constexpr int64_t kL2Bytes = int64_t{192} << 20;

}  // namespace fake
