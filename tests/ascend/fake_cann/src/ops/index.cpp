// Reading and writing at indices. An index that is out of range fails when the device runs it.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "memory.h"
#include "op.h"

using namespace fake;

namespace {

void check_index(const View& index, const char* what) {
  require(index.dtype == ACL_INT32 || index.dtype == ACL_INT64,
          std::string(what) + " is " + index.shape() + ", need int32 or int64");
}

void in_range(int64_t index, int64_t size, const char* what) {
  if (index < 0 || index >= size) {
    throw Refused(kDevice, std::string(what) + " holds " + std::to_string(index) +
                               ", the axis has " + std::to_string(size) + " elements");
  }
}

// Bits from one view to another of the same dtype and as many elements.
void move(const View& to, const View& from) {
  const auto into = to.offsets();
  const auto out_of = from.offsets();
  const size_t bytes = size_of(to.dtype);
  for (size_t i = 0; i < into.size(); ++i) std::copy_n(from.at(out_of[i]), bytes, to.at(into[i]));
}

// A value where there may already be one of the same launch.
void put(char* to, const char* from, size_t bytes, bool again) {
  if (again && std::memcmp(to, from, bytes) != 0) {
    poison(to, bytes);
  } else {
    std::copy_n(from, bytes, to);
  }
}

size_t axis(int64_t dim, const View& view) {
  require(dim >= -view.rank() && dim < view.rank(),
          "dim " + std::to_string(dim) + " of " + view.shape());
  return static_cast<size_t>(dim < 0 ? dim + view.rank() : dim);
}

}  // namespace

ACLNN(aclnnIndexSelect, (In self, int64_t dim, In index, Out out), (self, dim, index, out)) {
  const View from = need(self, "self");
  const View to = need(out, "out");
  const View rows = need(index, "index");
  check_index(rows, "index");
  const auto d = static_cast<int>(axis(dim, from));
  Dims expected = from.dims;
  expected[static_cast<size_t>(d)] = rows.size();
  require(rows.rank() <= 1 && expected == to.dims && from.dtype == to.dtype,
          from.shape() + " at " + rows.shape() + " does not give " + to.shape());
  return [=] {
    const std::vector<int64_t> chosen = rows.wholes();
    for (size_t i = 0; i < chosen.size(); ++i) {
      in_range(chosen[i], from.dim(d), "index");
      move(to.select(d, static_cast<int64_t>(i)), from.select(d, chosen[i]));
    }
  };
}

ACLNN(aclnnGather, (In self, int64_t dim, In index, Out out), (self, dim, index, out)) {
  const View from = need(self, "self");
  const View to = need(out, "out");
  const View rows = need(index, "index");
  check_index(rows, "index");
  const size_t d = axis(dim, from);
  require(rows.dims == to.dims && rows.rank() == from.rank() && from.dtype == to.dtype,
          from.shape() + " at " + rows.shape() + " does not give " + to.shape());
  return [=] {
    View base = from;  // the row of self that an element of index lies over
    base.dims = rows.dims;
    base.strides[d] = 0;
    const std::vector<int64_t> chosen = rows.wholes();
    const std::vector<int64_t> start = base.offsets();
    const std::vector<int64_t> into = to.offsets();
    for (size_t i = 0; i < chosen.size(); ++i) {
      in_range(chosen[i], from.dims[d], "index");
      std::copy_n(from.at(start[i] + chosen[i] * from.strides[d]), size_of(to.dtype),
                  to.at(into[i]));
    }
  };
}

// Rows of self at indices become rows of updates. Which of two equal indices stays is not said by
// its document, so a row that is named twice, with different updates, is poisoned.
ACLNN(aclnnScatterNdUpdate, (Out self, In indices, In updates), (self, indices, updates)) {
  const View to = need(self, "self");
  const View at = need(indices, "indices");
  const View from = need(updates, "updates");
  check_index(at, "indices");
  require(to.dtype == from.dtype, to.shape() + " is updated with " + from.shape());
  require(to.dtype == ACL_FLOAT || to.dtype == ACL_FLOAT16 || to.dtype == ACL_BF16 ||
              to.dtype == ACL_BOOL || to.dtype == ACL_INT64 || to.dtype == ACL_INT8,
          to.shape() + ": need float32, float16, bfloat16, bool, int64 or int8");
  require(at.rank() >= 2 && at.dim(-1) >= 1 && at.dim(-1) <= to.rank(),
          "indices are " + at.shape() + ", need [..., n] with n axes of " + to.shape());
  const auto depth = static_cast<int>(at.dim(-1));
  Dims expected(at.dims.begin(), at.dims.end() - 1);
  expected.insert(expected.end(), to.dims.begin() + depth, to.dims.end());
  require(expected == from.dims, "updates are " + from.shape() + ", need " + text(expected));
  return [=] {
    const std::vector<int64_t> coordinates = at.wholes();
    const size_t points = coordinates.size() / static_cast<size_t>(depth);
    const std::vector<int64_t> all = from.offsets();
    const size_t each = points != 0 ? all.size() / points : 0;
    std::unordered_set<int64_t> seen;
    for (size_t p = 0; p < points; ++p) {
      View slot = to;
      int64_t flat = 0;
      for (int a = 0; a < depth; ++a) {
        const int64_t index = coordinates[p * static_cast<size_t>(depth) + static_cast<size_t>(a)];
        in_range(index, slot.dim(0), "indices");
        flat = flat * slot.dim(0) + index;
        slot = slot.select(0, index);
      }
      const bool twice = !seen.insert(flat).second;
      const std::vector<int64_t> into = slot.offsets();
      for (size_t i = 0; i < each; ++i) {
        put(slot.at(into[i]), from.at(all[p * each + i]), size_of(to.dtype), twice);
      }
    }
  };
}

// self[index[i, j], j] = src[i, j] along dim. Where indices meet with different values, no one says
// which stays: such an element is poisoned.
ACLNN(aclnnScatter, (In self, int64_t dim, In index, In src, int64_t reduction, Out out),
      (self, dim, index, src, reduction, out)) {
  const View before = need(self, "self");
  const View to = need(out, "out");
  const View rows = need(index, "index");
  const View from = need(src, "src");
  check_index(rows, "index");
  const size_t d = axis(dim, to);
  require(reduction == 0, "the fake CANN knows scatter without a reduction");
  require(before.dims == to.dims && before.dtype == to.dtype && from.dtype == to.dtype &&
              from.rank() == to.rank() && rows.rank() == to.rank(),
          from.shape() + " is scattered into " + to.shape());
  for (size_t i = 0; i < rows.dims.size(); ++i) {
    require(rows.dims[i] <= from.dims[i] && (i == d || rows.dims[i] <= to.dims[i]),
            "index is " + rows.shape() + " for " + from.shape() + " into " + to.shape());
  }
  return [=] {
    if (before.data != to.data) move(to, before);
    View base = to;
    View part = from;
    base.dims = rows.dims;
    part.dims = rows.dims;
    base.strides[d] = 0;
    const std::vector<int64_t> chosen = rows.wholes();
    const std::vector<int64_t> start = base.offsets();
    const std::vector<int64_t> read = part.offsets();
    std::unordered_set<int64_t> seen;
    for (size_t i = 0; i < chosen.size(); ++i) {
      in_range(chosen[i], to.dims[d], "index");
      const int64_t at = start[i] + chosen[i] * to.strides[d];
      put(to.at(at), from.at(read[i]), size_of(to.dtype), !seen.insert(at).second);
    }
  };
}

ACLNN(aclnnInplaceScatter, (Out self, int64_t dim, In index, In src, int64_t reduction),
      (self, dim, index, src, reduction)) {
  return aclnnScatterPlan(self, dim, index, src, reduction, self);
}

// Rows of source become rows of self along dim. As with ScatterNdUpdate, a row that is named twice,
// with different sources, is poisoned.
ACLNN(aclnnInplaceIndexCopy, (Out self, int64_t dim, In index, In source),
      (self, dim, index, source)) {
  const View to = need(self, "self");
  const View rows = need(index, "index");
  const View from = need(source, "source");
  check_index(rows, "index");
  const auto d = static_cast<int>(axis(dim, to));
  Dims expected = to.dims;
  expected[static_cast<size_t>(d)] = rows.size();
  require(rows.rank() <= 1 && expected == from.dims && from.dtype == to.dtype,
          from.shape() + " at " + rows.shape() + " does not go into " + to.shape());
  return [=] {
    const std::vector<int64_t> chosen = rows.wholes();
    std::unordered_set<int64_t> seen;
    for (size_t i = 0; i < chosen.size(); ++i) {
      in_range(chosen[i], to.dim(d), "index");
      const bool twice = !seen.insert(chosen[i]).second;
      const View slot = to.select(d, chosen[i]);
      const View row = from.select(d, static_cast<int64_t>(i));
      const std::vector<int64_t> into = slot.offsets();
      const std::vector<int64_t> out_of = row.offsets();
      for (size_t e = 0; e < into.size(); ++e) {
        put(slot.at(into[e]), row.at(out_of[e]), size_of(to.dtype), twice);
      }
    }
  };
}
