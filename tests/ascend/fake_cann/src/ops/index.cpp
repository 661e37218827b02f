// Reading and writing at indices. An index that is out of range fails when the device runs it.
#include <algorithm>
#include <numeric>

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

// Rows of self at indices become rows of updates. Which of two equal indices wins is not said by
// its document, so equal ones with different updates are refused.
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
    View rows = from;  // updates as [points, rest...]
    const std::vector<int64_t> all = from.offsets();
    const size_t each = points != 0 ? all.size() / points : 0;
    std::vector<int64_t> seen;
    for (size_t p = 0; p < points; ++p) {
      View slot = to;
      int64_t flat = 0;
      for (int a = 0; a < depth; ++a) {
        const int64_t index = coordinates[p * static_cast<size_t>(depth) + static_cast<size_t>(a)];
        in_range(index, slot.dim(0), "indices");
        flat = flat * slot.dim(0) + index;
        slot = slot.select(0, index);
      }
      if (std::find(seen.begin(), seen.end(), flat) != seen.end()) {
        throw Refused(kDevice, "indices name one row twice: which update stays is not defined");
      }
      seen.push_back(flat);
      const std::vector<int64_t> into = slot.offsets();
      for (size_t i = 0; i < each; ++i) {
        std::copy_n(from.at(all[p * each + i]), size_of(to.dtype), slot.at(into[i]));
      }
    }
  };
}

ACLNN(aclnnTopk, (In self, int64_t k, int64_t dim, bool largest, bool sorted, Out values, Out indices),
      (self, k, dim, largest, sorted, values, indices)) {
  const View from = need(self, "self");
  const View best = need(values, "values");
  const View where = need(indices, "indices");
  const size_t d = axis(dim, from);
  require(d + 1 == from.dims.size(), "the fake CANN knows topk of the last dim");
  require(k >= 0 && k <= from.dim(-1), "k is " + std::to_string(k) + " of " + from.shape());
  return [=] {
    const auto n = static_cast<size_t>(from.dim(-1));
    const std::vector<double> all = from.reals();
    std::vector<double> kept;
    std::vector<int64_t> places;
    for (size_t row = 0; n != 0 && row < all.size() / n; ++row) {
      const double* x = &all[row * n];
      std::vector<int64_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const double u = x[a];
        const double v = x[b];
        if (u != u || v != v) return u != u && v == v;  // NaN is the largest
        return largest ? u > v : u < v;
      });
      for (int64_t i = 0; i < k; ++i) {
        places.push_back(order[static_cast<size_t>(i)]);
        kept.push_back(x[order[static_cast<size_t>(i)]]);
      }
    }
    best.set(kept);
    where.set(places);
  };
}
