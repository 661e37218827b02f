// Sums, maxima and log-sum-exp over dims.
#include <algorithm>
#include <cmath>
#include <limits>

#include "op.h"

using namespace fake;

namespace {

// The elements of a reduction: for each output, the offsets of the inputs that it is made of.
struct Groups {
  View in;
  std::vector<std::vector<int64_t>> members;
};

std::vector<bool> marked(const Ints dims, int rank) {
  std::vector<bool> out(static_cast<size_t>(rank), dims == nullptr || dims->values.empty());
  if (dims == nullptr) return out;
  for (int64_t d : dims->values) {
    require(d >= -rank && d < rank, "dim " + std::to_string(d) + " of " + std::to_string(rank));
    out[static_cast<size_t>(d < 0 ? d + rank : d)] = true;
  }
  return out;
}

Groups groups(const View& in, const std::vector<bool>& reduced, bool keep, const View& out) {
  Dims kept;
  View outer = in;
  View inner = in;
  outer.dims.clear();
  outer.strides.clear();
  inner.dims.clear();
  inner.strides.clear();
  for (size_t i = 0; i < in.dims.size(); ++i) {
    View& side = reduced[i] ? inner : outer;
    side.dims.push_back(in.dims[i]);
    side.strides.push_back(in.strides[i]);
    if (!reduced[i]) kept.push_back(in.dims[i]);
    if (reduced[i] && keep) kept.push_back(1);
  }
  require(kept == out.dims, in.shape() + " reduces to " + text(kept) + ", out is " + out.shape());
  Groups made{in, {}};
  const std::vector<int64_t> steps = inner.offsets();
  for (int64_t start : outer.offsets()) {
    made.members.emplace_back(steps);
    for (int64_t& at : made.members.back()) at += start;
  }
  return made;
}

}  // namespace

ACLNN(aclnnReduceSum, (In self, Ints dims, bool keep, aclDataType dtype, Out out),
      (self, dims, keep, dtype, out)) {
  const View from = need(self, "self");
  const View to = need(out, "out");
  require(to.dtype == dtype, "out is " + to.shape() + ", the call sums in " + name_of(dtype));
  const auto reduced = marked(dims, from.rank());
  return [=] {
    const Groups made = groups(from, reduced, keep, to);
    std::vector<double> reals;
    std::vector<int64_t> wholes;
    for (const auto& member : made.members) {
      double real = 0;
      int64_t whole = 0;
      for (int64_t at : member) {
        if (is_whole(from.dtype)) {
          whole += get_whole(from.dtype, from.at(at));
        } else {
          real += get_real(from.dtype, from.at(at));
        }
      }
      reals.push_back(real + static_cast<double>(whole));
      wholes.push_back(whole);
    }
    if (is_whole(from.dtype)) {
      to.set(wholes);
    } else {
      to.set(reals);
    }
  };
}

ACLNN(aclnnAmax, (In self, Ints dims, bool keep, Out out), (self, dims, keep, out)) {
  const View from = need(self, "self");
  const View to = need(out, "out");
  const auto reduced = marked(dims, from.rank());
  return [=] {
    std::vector<double> values;
    for (const auto& member : groups(from, reduced, keep, to).members) {
      double best = -std::numeric_limits<double>::infinity();
      for (int64_t at : member) {
        const double value = get_real(from.dtype, from.at(at));
        best = value != value ? value : (best < value ? value : best);
      }
      values.push_back(best);
    }
    to.set(values);
  };
}

ACLNN(aclnnLogSumExp, (In self, Ints dims, bool keep, Out out), (self, dims, keep, out)) {
  const View from = need(self, "self");
  const View to = need(out, "out");
  require(is_float(from.dtype), "self is " + from.shape() + ", need floating point");
  const auto reduced = marked(dims, from.rank());
  return [=] {
    std::vector<double> values;
    for (const auto& member : groups(from, reduced, keep, to).members) {
      double top = -std::numeric_limits<double>::infinity();
      bool nan = false;
      for (int64_t at : member) {
        const double value = get_real(from.dtype, from.at(at));
        nan = nan || std::isnan(value);
        top = std::max(top, value);
      }
      double total = 0;
      if (std::isfinite(top)) {
        for (int64_t at : member) total += std::exp(get_real(from.dtype, from.at(at)) - top);
      }
      values.push_back(nan ? std::nan("") : std::isfinite(top) ? top + std::log(total) : top);
    }
    to.set(values);
  };
}

ACLNN(aclnnAny, (In self, Ints dims, bool keep, Out out), (self, dims, keep, out)) {
  const View from = need(self, "self");
  const View to = need(out, "out");
  require(to.dtype == ACL_BOOL, "out is " + to.shape() + ", need bool");
  const auto reduced = marked(dims, from.rank());
  return [=] {
    std::vector<int64_t> values;
    for (const auto& member : groups(from, reduced, keep, to).members) {
      const auto holds = [&](int64_t at) { return get_real(from.dtype, from.at(at)) != 0; };
      values.push_back(std::any_of(member.begin(), member.end(), holds));
    }
    to.set(values);
  };
}
