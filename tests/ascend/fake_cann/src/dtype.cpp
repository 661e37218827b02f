// Element types: sizes, names, reading and rounding of one element.
#include <cmath>
#include <cstring>
#include <limits>

#include "failure.h"
#include "tensor.h"

namespace fake {
namespace {

uint16_t bfloat_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float float_of_bfloat(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

float float_of_half(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  float value;
  if (exponent == 31) {
    value = mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                          : std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

uint16_t half_of(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7E00;
  const float size = std::fabs(value);
  if (size >= 65520.0f) return sign | 0x7C00;
  if (size < std::ldexp(1.0f, -14)) {
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(size, 24)));
  }
  int exponent;
  const float fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  const auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));
  // a mantissa that rounds up to 2048 carries into the exponent by itself
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + (mantissa - 1024));
}

template <class T>
T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

[[noreturn]] void no_dtype(aclDataType dtype) {
  refuse(std::string("the fake CANN computes nothing in ") + name_of(dtype));
}

}  // namespace

size_t size_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
      return 4;
    case ACL_DOUBLE:
    case ACL_INT64:
    case ACL_UINT64:
      return 8;
    default:
      no_dtype(dtype);
  }
}

const char* name_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT:
      return "float32";
    case ACL_FLOAT16:
      return "float16";
    case ACL_BF16:
      return "bfloat16";
    case ACL_DOUBLE:
      return "float64";
    case ACL_BOOL:
      return "bool";
    case ACL_INT8:
      return "int8";
    case ACL_UINT8:
      return "uint8";
    case ACL_INT16:
      return "int16";
    case ACL_UINT16:
      return "uint16";
    case ACL_INT32:
      return "int32";
    case ACL_UINT32:
      return "uint32";
    case ACL_INT64:
      return "int64";
    case ACL_UINT64:
      return "uint64";
    default:
      return "another dtype";
  }
}

bool is_float(aclDataType d) {
  return d == ACL_FLOAT || d == ACL_FLOAT16 || d == ACL_BF16 || d == ACL_DOUBLE;
}

bool is_whole(aclDataType d) {
  return d == ACL_BOOL || d == ACL_INT8 || d == ACL_UINT8 || d == ACL_INT16 || d == ACL_UINT16 ||
         d == ACL_INT32 || d == ACL_UINT32 || d == ACL_INT64 || d == ACL_UINT64;
}

double get_real(aclDataType dtype, const void* at) {
  switch (dtype) {
    case ACL_FLOAT:
      return load<float>(at);
    case ACL_FLOAT16:
      return float_of_half(load<uint16_t>(at));
    case ACL_BF16:
      return float_of_bfloat(load<uint16_t>(at));
    case ACL_DOUBLE:
      return load<double>(at);
    default:
      return static_cast<double>(get_whole(dtype, at));
  }
}

int64_t get_whole(aclDataType dtype, const void* at) {
  switch (dtype) {
    case ACL_BOOL:
      return load<uint8_t>(at) != 0;
    case ACL_INT8:
      return load<int8_t>(at);
    case ACL_UINT8:
      return load<uint8_t>(at);
    case ACL_INT16:
      return load<int16_t>(at);
    case ACL_UINT16:
      return load<uint16_t>(at);
    case ACL_INT32:
      return load<int32_t>(at);
    case ACL_UINT32:
      return load<uint32_t>(at);
    case ACL_INT64:
      return load<int64_t>(at);
    case ACL_UINT64:
      return static_cast<int64_t>(load<uint64_t>(at));
    default:
      if (!is_float(dtype)) no_dtype(dtype);
      return static_cast<int64_t>(get_real(dtype, at));
  }
}

void set_real(aclDataType dtype, void* at, double value) {
  switch (dtype) {
    case ACL_FLOAT:
      return store(at, static_cast<float>(value));
    case ACL_FLOAT16:
      return store(at, half_of(static_cast<float>(value)));
    case ACL_BF16:
      return store(at, bfloat_of(static_cast<float>(value)));
    case ACL_DOUBLE:
      return store(at, value);
    case ACL_BOOL:
      return store(at, static_cast<uint8_t>(value != 0));
    default:
      return set_whole(dtype, at, static_cast<int64_t>(value));
  }
}

void set_whole(aclDataType dtype, void* at, int64_t value) {
  switch (dtype) {
    case ACL_BOOL:
      return store(at, static_cast<uint8_t>(value != 0));
    case ACL_INT8:
      return store(at, static_cast<int8_t>(value));
    case ACL_UINT8:
      return store(at, static_cast<uint8_t>(value));
    case ACL_INT16:
      return store(at, static_cast<int16_t>(value));
    case ACL_UINT16:
      return store(at, static_cast<uint16_t>(value));
    case ACL_INT32:
      return store(at, static_cast<int32_t>(value));
    case ACL_UINT32:
      return store(at, static_cast<uint32_t>(value));
    case ACL_INT64:
      return store(at, value);
    case ACL_UINT64:
      return store(at, static_cast<uint64_t>(value));
    default:
      return set_real(dtype, at, static_cast<double>(value));
  }
}

}  // namespace fake
