#include "tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "failure.h"

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

template <class Visit>
void each(const View& view, Visit visit) {
  const std::vector<int64_t> at = view.offsets();
  for (size_t i = 0; i < at.size(); ++i) visit(i, view.at(at[i]));
}

}  // namespace

size_t size_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_BOOL: case ACL_INT8: case ACL_UINT8: return 1;
    case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
    case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
    case ACL_DOUBLE: case ACL_INT64: case ACL_UINT64: return 8;
    default: no_dtype(dtype);
  }
}

const char* name_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT: return "float32";
    case ACL_FLOAT16: return "float16";
    case ACL_BF16: return "bfloat16";
    case ACL_DOUBLE: return "float64";
    case ACL_BOOL: return "bool";
    case ACL_INT8: return "int8";
    case ACL_UINT8: return "uint8";
    case ACL_INT16: return "int16";
    case ACL_UINT16: return "uint16";
    case ACL_INT32: return "int32";
    case ACL_UINT32: return "uint32";
    case ACL_INT64: return "int64";
    case ACL_UINT64: return "uint64";
    default: return "another dtype";
  }
}

bool is_float(aclDataType d) {
  return d == ACL_FLOAT || d == ACL_FLOAT16 || d == ACL_BF16 || d == ACL_DOUBLE;
}

bool is_whole(aclDataType d) {
  return d == ACL_BOOL || d == ACL_INT8 || d == ACL_UINT8 || d == ACL_INT16 || d == ACL_UINT16 ||
         d == ACL_INT32 || d == ACL_UINT32 || d == ACL_INT64 || d == ACL_UINT64;
}

std::string text(const Dims& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i != 0 ? ", " : "") + std::to_string(dims[i]);
  return out + "]";
}

int64_t count(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

double get_real(aclDataType dtype, const void* at) {
  switch (dtype) {
    case ACL_FLOAT: return load<float>(at);
    case ACL_FLOAT16: return float_of_half(load<uint16_t>(at));
    case ACL_BF16: return float_of_bfloat(load<uint16_t>(at));
    case ACL_DOUBLE: return load<double>(at);
    default: return static_cast<double>(get_whole(dtype, at));
  }
}

int64_t get_whole(aclDataType dtype, const void* at) {
  switch (dtype) {
    case ACL_BOOL: return load<uint8_t>(at) != 0;
    case ACL_INT8: return load<int8_t>(at);
    case ACL_UINT8: return load<uint8_t>(at);
    case ACL_INT16: return load<int16_t>(at);
    case ACL_UINT16: return load<uint16_t>(at);
    case ACL_INT32: return load<int32_t>(at);
    case ACL_UINT32: return load<uint32_t>(at);
    case ACL_INT64: return load<int64_t>(at);
    case ACL_UINT64: return static_cast<int64_t>(load<uint64_t>(at));
    default:
      if (!is_float(dtype)) no_dtype(dtype);
      return static_cast<int64_t>(get_real(dtype, at));
  }
}

void set_real(aclDataType dtype, void* at, double value) {
  switch (dtype) {
    case ACL_FLOAT: return store(at, static_cast<float>(value));
    case ACL_FLOAT16: return store(at, half_of(static_cast<float>(value)));
    case ACL_BF16: return store(at, bfloat_of(static_cast<float>(value)));
    case ACL_DOUBLE: return store(at, value);
    case ACL_BOOL: return store(at, static_cast<uint8_t>(value != 0));
    default: return set_whole(dtype, at, static_cast<int64_t>(value));
  }
}

void set_whole(aclDataType dtype, void* at, int64_t value) {
  switch (dtype) {
    case ACL_BOOL: return store(at, static_cast<uint8_t>(value != 0));
    case ACL_INT8: return store(at, static_cast<int8_t>(value));
    case ACL_UINT8: return store(at, static_cast<uint8_t>(value));
    case ACL_INT16: return store(at, static_cast<int16_t>(value));
    case ACL_UINT16: return store(at, static_cast<uint16_t>(value));
    case ACL_INT32: return store(at, static_cast<int32_t>(value));
    case ACL_UINT32: return store(at, static_cast<uint32_t>(value));
    case ACL_INT64: return store(at, value);
    case ACL_UINT64: return store(at, static_cast<uint64_t>(value));
    default: return set_real(dtype, at, static_cast<double>(value));
  }
}

View::View(const aclTensor* tensor) {
  if (tensor == nullptr) return;
  dims = tensor->dims;
  strides = tensor->strides;
  dtype = tensor->dtype;
  data = static_cast<char*>(tensor->data);
  if (data != nullptr) data += tensor->offset * static_cast<int64_t>(size_of(dtype));
  given = true;
}

bool View::contiguous() const {
  int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    const auto k = static_cast<size_t>(i);
    if (dims[k] == 0) return true;
    if (dims[k] != 1 && strides[k] != expected) return false;
    expected *= dims[k];
  }
  return true;
}

View View::broadcast(const Dims& to) const {
  View out = *this;
  const size_t extra = to.size() - dims.size();
  require(to.size() >= dims.size(), shape() + " does not broadcast to " + text(to));
  out.dims = to;
  out.strides.assign(to.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == to[extra + i]) {
      out.strides[extra + i] = strides[i];
    } else {
      require(dims[i] == 1, shape() + " does not broadcast to " + text(to));
    }
  }
  return out;
}

View View::transposed(int a, int b) const {
  View out = *this;
  std::swap(out.dims[static_cast<size_t>(a)], out.dims[static_cast<size_t>(b)]);
  std::swap(out.strides[static_cast<size_t>(a)], out.strides[static_cast<size_t>(b)]);
  return out;
}

View View::select(int dim, int64_t index) const {
  View out = *this;
  out.data = at(index * strides[static_cast<size_t>(dim)]);
  out.dims.erase(out.dims.begin() + dim);
  out.strides.erase(out.strides.begin() + dim);
  return out;
}

std::vector<int64_t> View::offsets() const {
  std::vector<int64_t> out(static_cast<size_t>(size()));
  if (out.empty()) return out;
  Dims at(dims.size(), 0);
  int64_t offset = 0;
  for (size_t i = 0;; ++i) {
    out[i] = offset;
    if (i + 1 == out.size()) return out;
    for (size_t d = dims.size(); d-- > 0;) {
      offset += strides[d];
      if (++at[d] < dims[d]) break;
      offset -= strides[d] * dims[d];
      at[d] = 0;
    }
  }
}

std::vector<double> View::reals() const {
  std::vector<double> out(static_cast<size_t>(size()));
  each(*this, [&](size_t i, char* at) { out[i] = get_real(dtype, at); });
  return out;
}

std::vector<float> View::floats() const {
  std::vector<float> out(static_cast<size_t>(size()));
  each(*this, [&](size_t i, char* at) { out[i] = static_cast<float>(get_real(dtype, at)); });
  return out;
}

std::vector<int64_t> View::wholes() const {
  std::vector<int64_t> out(static_cast<size_t>(size()));
  each(*this, [&](size_t i, char* at) { out[i] = get_whole(dtype, at); });
  return out;
}

void View::set(const std::vector<double>& values) const {
  each(*this, [&](size_t i, char* at) { set_real(dtype, at, values[i]); });
}

void View::set(const std::vector<float>& values) const {
  each(*this, [&](size_t i, char* at) { set_real(dtype, at, values[i]); });
}

void View::set(const std::vector<int64_t>& values) const {
  each(*this, [&](size_t i, char* at) { set_whole(dtype, at, values[i]); });
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    require(x == y || x == 1 || y == 1, text(a) + " and " + text(b) + " do not broadcast");
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

}  // namespace fake

extern "C" {

aclTensor* aclCreateTensor(const int64_t* dims, uint64_t rank, aclDataType dtype,
                           const int64_t* strides, int64_t offset, aclFormat format,
                           const int64_t* storage, uint64_t storage_rank, void* data) {
  auto* made = new aclTensor;
  made->dims.assign(dims, dims + rank);
  made->strides = strides != nullptr ? fake::Dims(strides, strides + rank)
                                     : fake::row_major(made->dims);
  made->offset = offset;
  made->dtype = dtype;
  made->format = format;
  if (storage != nullptr) made->storage.assign(storage, storage + storage_rank);
  made->data = data;
  return made;
}

int aclDestroyTensor(const aclTensor* tensor) {
  delete tensor;
  return 0;
}

aclScalar* aclCreateScalar(void* value, aclDataType dtype) {
  auto* made = new aclScalar;
  made->dtype = dtype;
  made->real = fake::get_real(dtype, value);
  made->whole = fake::get_whole(dtype, value);
  return made;
}

int aclDestroyScalar(const aclScalar* scalar) {
  delete scalar;
  return 0;
}

aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t n) {
  return new aclIntArray{fake::Dims(values, values + n)};
}

int aclDestroyIntArray(const aclIntArray* array) {
  delete array;
  return 0;
}

aclFloatArray* aclCreateFloatArray(const float* values, uint64_t n) {
  return new aclFloatArray{std::vector<float>(values, values + n)};
}

int aclDestroyFloatArray(const aclFloatArray* array) {
  delete array;
  return 0;
}

aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t n) {
  return new aclBoolArray{std::vector<bool>(values, values + n)};
}

int aclDestroyBoolArray(const aclBoolArray* array) {
  delete array;
  return 0;
}

aclTensorList* aclCreateTensorList(const aclTensor* const* items, uint64_t n) {
  return new aclTensorList{std::vector<const aclTensor*>(items, items + n)};
}

// The tensors of a list go with it.
int aclDestroyTensorList(const aclTensorList* list) {
  for (const aclTensor* tensor : list->items) delete tensor;
  delete list;
  return 0;
}

aclScalarList* aclCreateScalarList(const aclScalar* const* items, uint64_t n) {
  return new aclScalarList{std::vector<const aclScalar*>(items, items + n)};
}

int aclDestroyScalarList(const aclScalarList* list) {
  for (const aclScalar* scalar : list->items) delete scalar;
  delete list;
  return 0;
}

int aclGetViewShape(const aclTensor* tensor, int64_t** dims, uint64_t* rank) {
  *rank = tensor->dims.size();
  *dims = new int64_t[tensor->dims.size()];
  for (size_t i = 0; i < tensor->dims.size(); ++i) (*dims)[i] = tensor->dims[i];
  return 0;
}

}  // extern "C"
