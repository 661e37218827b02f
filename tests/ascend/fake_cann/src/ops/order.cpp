// Sorting and searching.
#include <algorithm>
#include <numeric>

#include "op.h"

using namespace fake;

namespace {

bool last_dim(int64_t dim, const View& view) { return dim == -1 || dim == view.rank() - 1; }

// Places of a row's elements in order, equal ones as they stood; NaN is the largest.
template <class T>
std::vector<int64_t> ordered(const T* row, size_t n, bool descending) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const T x = row[a];
    const T y = row[b];
    if (x != x || y != y) return descending ? x != x && y == y : x == x && y != y;
    return descending ? x > y : x < y;
  });
  return order;
}

template <class T>
void sort_rows(const std::vector<T>& all, size_t n, size_t kept, bool descending,
               const View& values, const View& indices) {
  std::vector<T> best;
  std::vector<int64_t> places;
  for (size_t row = 0; n != 0 && row < all.size() / n; ++row) {
    const std::vector<int64_t> order = ordered(&all[row * n], n, descending);
    for (size_t i = 0; i < kept; ++i) {
      places.push_back(order[i]);
      best.push_back(all[row * n + static_cast<size_t>(order[i])]);
    }
  }
  values.set(best);
  indices.set(places);
}

Run sorting(const View& from, size_t kept, bool descending, const View& values,
            const View& indices) {
  require(values.dims == indices.dims && values.dtype == from.dtype && indices.dtype == ACL_INT64,
          "values are " + values.shape() + ", indices " + indices.shape() + " of " + from.shape());
  return [=] {
    const auto n = static_cast<size_t>(from.dim(-1));
    if (is_whole(from.dtype)) {
      sort_rows(from.wholes(), n, kept, descending, values, indices);
    } else {
      sort_rows(from.reals(), n, kept, descending, values, indices);
    }
  };
}

}  // namespace

ACLNN(aclnnSort, (In self, bool stable, int64_t dim, bool descending, Out values, Out indices),
      (self, stable, dim, descending, values, indices)) {
  const View from = need(self, "self");
  require(last_dim(dim, from), "the fake CANN knows sorting of the last dim");
  return sorting(from, static_cast<size_t>(from.dim(-1)), descending, need(values, "values"),
                 need(indices, "indices"));
}

ACLNN(aclnnSearchSorted,
      (In sorted_sequence, In self, bool out_int32, bool right, In sorter, Out out),
      (sorted_sequence, self, out_int32, right, sorter, out)) {
  absent(sorter, "sorter");
  const View order = need(sorted_sequence, "sorted_sequence");
  const View wanted = need(self, "self");
  const View to = need(out, "out");
  require(order.rank() == 1, "the fake CANN knows one sequence, got " + order.shape());
  require(order.dtype == wanted.dtype, order.shape() + " is searched for " + wanted.shape());
  require(to.dims == wanted.dims && to.dtype == (out_int32 ? ACL_INT32 : ACL_INT64),
          "out is " + to.shape() + " for " + wanted.shape());
  return [=] {
    std::vector<int64_t> found;
    const auto search = [&](const auto& sequence, const auto& values) {
      for (const auto& value : values) {
        const auto at = right ? std::upper_bound(sequence.begin(), sequence.end(), value)
                              : std::lower_bound(sequence.begin(), sequence.end(), value);
        found.push_back(at - sequence.begin());
      }
    };
    if (is_whole(order.dtype)) {
      search(order.wholes(), wanted.wholes());
    } else {
      search(order.reals(), wanted.reals());
    }
    to.set(found);
  };
}
