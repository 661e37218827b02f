#include "tensor.h"

#include <algorithm>

#include "failure.h"

namespace fake {
namespace {

template <class Visit>
void each(const View& view, Visit visit) {
  const std::vector<int64_t> at = view.offsets();
  for (size_t i = 0; i < at.size(); ++i) visit(i, view.at(at[i]));
}

}  // namespace

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
  made->strides =
      strides != nullptr ? fake::Dims(strides, strides + rank) : fake::row_major(made->dims);
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
