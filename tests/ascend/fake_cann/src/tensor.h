// The argument objects of aclnn calls and typed access to what they point at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"

struct aclTensor {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // in elements
  int64_t offset = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_ND;
  std::vector<int64_t> storage;
  void* data = nullptr;
};

struct aclScalar {
  aclDataType dtype = ACL_DT_UNDEFINED;
  double real = 0;
  int64_t whole = 0;
};

struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<bool> values;
};
struct aclTensorList {
  std::vector<const aclTensor*> items;
};
struct aclScalarList {
  std::vector<const aclScalar*> items;
};

namespace fake {

using Dims = std::vector<int64_t>;

size_t size_of(aclDataType dtype);
const char* name_of(aclDataType dtype);
bool is_float(aclDataType dtype);
bool is_whole(aclDataType dtype);  // integers and bool
std::string text(const Dims& dims);
int64_t count(const Dims& dims);

// One element as a number; integers of up to 53 bits are exact, see get_whole for the rest.
double get_real(aclDataType dtype, const void* at);
int64_t get_whole(aclDataType dtype, const void* at);
// Rounds to nearest even, as the vector unit does.
void set_real(aclDataType dtype, void* at, double value);
void set_whole(aclDataType dtype, void* at, int64_t value);

// A tensor argument by value: a call may outlive the object that it was made with.
struct View {
  Dims dims;
  Dims strides;
  aclDataType dtype = ACL_DT_UNDEFINED;
  char* data = nullptr;  // of the first element
  bool given = false;

  View() = default;
  View(const aclTensor* tensor);  // NOLINT: a null pointer is an argument that is not given

  int64_t size() const { return count(dims); }
  int64_t dim(int i) const { return dims[static_cast<size_t>(i < 0 ? rank() + i : i)]; }
  int rank() const { return static_cast<int>(dims.size()); }
  bool contiguous() const;
  std::string shape() const { return std::string(name_of(dtype)) + text(dims); }

  char* at(int64_t element) const { return data + element * static_cast<int64_t>(size_of(dtype)); }
  // The same elements seen with other dims, by NumPy's rules of broadcasting.
  View broadcast(const Dims& to) const;
  View transposed(int a, int b) const;
  // Drops a dim at one of its indices.
  View select(int dim, int64_t index) const;

  // Element offsets of all elements in row-major order of dims.
  std::vector<int64_t> offsets() const;

  std::vector<double> reals() const;
  std::vector<float> floats() const;
  std::vector<int64_t> wholes() const;
  void set(const std::vector<double>& values) const;
  void set(const std::vector<float>& values) const;
  void set(const std::vector<int64_t>& values) const;
};

Dims broadcast(const Dims& a, const Dims& b);
Dims row_major(const Dims& dims);

}  // namespace fake
