// Copies, casts, fills and sequences.
#include "op.h"

using namespace fake;

namespace {

Run copying(View to, View from) {
  require(to.given && from.given, "needs two tensors");
  const View source = from.broadcast(to.dims);
  return [to, source] {
    if (to.dtype == source.dtype && is_float(to.dtype)) {
      // bits, so that a NaN keeps its payload
      const auto into = to.offsets();
      const auto out_of = source.offsets();
      const size_t bytes = size_of(to.dtype);
      std::vector<char> held(into.size() * bytes);
      for (size_t i = 0; i < into.size(); ++i) {
        std::copy_n(source.at(out_of[i]), bytes, &held[i * bytes]);
      }
      for (size_t i = 0; i < into.size(); ++i) std::copy_n(&held[i * bytes], bytes, to.at(into[i]));
    } else if (is_whole(source.dtype)) {
      to.set(source.wholes());
    } else {
      to.set(source.reals());
    }
  };
}

void fill(const View& out, const aclScalar* value) {
  if (is_whole(out.dtype)) {
    const int64_t whole = is_whole(value->dtype) ? value->whole : static_cast<int64_t>(value->real);
    out.set(std::vector<int64_t>(static_cast<size_t>(out.size()), whole));
  } else {
    out.set(std::vector<double>(static_cast<size_t>(out.size()), value->real));
  }
}

}  // namespace

ACLNN(aclnnInplaceCopy, (Out self, In source), (self, source)) { return copying(self, source); }

ACLNN(aclnnCast, (In self, aclDataType dtype, Out out), (self, dtype, out)) {
  const View to = need(out, "out");
  require(to.dtype == dtype, "out is " + to.shape() + ", the call casts to " + name_of(dtype));
  return copying(to, need(self, "self"));
}

ACLNN(aclnnInplaceFillScalar, (Out self, Num value), (self, value)) {
  return [to = need(self, "self"), scalar = *value] { fill(to, &scalar); };
}

ACLNN(aclnnInplaceFillTensor, (Out self, In value), (self, value)) {
  return copying(need(self, "self"), need(value, "value"));
}

ACLNN(aclnnInplaceZero, (Out self), (self)) {
  return
      [to = need(self, "self")] { to.set(std::vector<int64_t>(static_cast<size_t>(to.size()))); };
}

ACLNN(aclnnInplaceOne, (Out self), (self)) {
  return [to = need(self, "self")] {
    to.set(std::vector<int64_t>(static_cast<size_t>(to.size()), 1));
  };
}

ACLNN(aclnnArange, (Num start, Num end, Num step, Out out), (start, end, step, out)) {
  const View to = need(out, "out");
  require(to.rank() == 1, "out is " + to.shape() + ", need one dim");
  return [to, from = *start, by = *step] {
    std::vector<double> values(static_cast<size_t>(to.size()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = from.real + by.real * static_cast<double>(i);
    to.set(values);
  };
}

ACLNN(aclnnCat, (List tensors, int64_t dim, Out out), (tensors, dim, out)) {
  const View to = need(out, "out");
  std::vector<View> parts;
  for (const aclTensor* tensor : tensors->items) {
    if (View(tensor).size() != 0) parts.emplace_back(tensor);
  }
  const auto axis = static_cast<size_t>(dim < 0 ? dim + to.rank() : dim);
  int64_t total = 0;
  for (const View& part : parts) {
    require(part.rank() == to.rank(), part.shape() + " is concatenated to " + to.shape());
    total += part.dims[axis];
  }
  require(parts.empty() || total == to.dims[axis], "the parts do not fill " + to.shape());
  return [to, parts, axis] {
    View slot = to;
    int64_t start = 0;
    for (const View& part : parts) {
      slot.dims = part.dims;
      slot.data = to.at(start * to.strides[axis]);
      if (is_whole(part.dtype)) {
        slot.set(part.wholes());
      } else {
        slot.set(part.reals());
      }
      start += part.dims[axis];
    }
  };
}
