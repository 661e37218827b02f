// Arithmetic and selection, element by element. Floating point is computed in float64 and rounded
// once, which for +, -, * and / of float32 is what float32 arithmetic gives.
#include <cmath>

#include "op.h"

using namespace fake;

namespace {

template <class Real, class Whole>
Run binary(const View& out, const View& a, const View& b, Real real, Whole whole) {
  require(broadcast(a.dims, b.dims) == out.dims,
          a.shape() + " and " + b.shape() + " do not give " + out.shape());
  const View x = a.broadcast(out.dims);
  const View y = b.broadcast(out.dims);
  return [=] {
    if (is_whole(x.dtype) && is_whole(y.dtype)) {
      std::vector<int64_t> values = x.wholes();
      const std::vector<int64_t> others = y.wholes();
      for (size_t i = 0; i < values.size(); ++i) values[i] = whole(values[i], others[i]);
      out.set(values);
    } else {
      std::vector<double> values = x.reals();
      const std::vector<double> others = y.reals();
      for (size_t i = 0; i < values.size(); ++i) values[i] = real(values[i], others[i]);
      out.set(values);
    }
  };
}

template <class Real, class Whole>
Run unary(const View& out, const View& in, Real real, Whole whole) {
  require(in.dims == out.dims, in.shape() + " does not give " + out.shape());
  return [=] {
    if (is_whole(in.dtype)) {
      std::vector<int64_t> values = in.wholes();
      for (int64_t& value : values) value = whole(value);
      out.set(values);
    } else {
      std::vector<double> values = in.reals();
      for (double& value : values) value = real(value);
      out.set(values);
    }
  };
}

// A scalar of a float makes a whole tensor real; torch has then chosen a real `out`.
template <class Op>
Run with_scalar(const View& out, const View& in, const aclScalar* scalar, Op op) {
  require(in.dims == out.dims, in.shape() + " does not give " + out.shape());
  return [=, s = *scalar] {
    if (is_whole(in.dtype) && is_whole(s.dtype)) {
      std::vector<int64_t> values = in.wholes();
      for (int64_t& value : values) value = static_cast<int64_t>(op(value, s.whole));
      out.set(values);
    } else {
      std::vector<double> values = in.reals();
      for (double& value : values) value = static_cast<double>(op(value, s.real));
      out.set(values);
    }
  };
}

Run sum(In a, In b, Num alpha, Out out, int sign) {
  const double real = sign * alpha->real;
  const int64_t whole = sign * alpha->whole;
  return binary(
      need(out, "out"), need(a, "self"), need(b, "other"),
      [=](double x, double y) { return x + real * y; },
      [=](int64_t x, int64_t y) { return x + whole * y; });
}

Run sum_scalar(In a, Num b, Num alpha, Out out, int sign) {
  aclScalar scaled = *b;
  scaled.real *= sign * alpha->real;
  scaled.whole *= sign * alpha->whole;
  return with_scalar(need(out, "out"), need(a, "self"), &scaled,
                     [](auto x, auto y) { return x + y; });
}

template <class Op>
Run both(In a, In b, Out out, Op op) {
  return binary(need(out, "out"), need(a, "self"), need(b, "other"), op, op);
}

template <class Op>
Run compare(In a, In b, Out out, Op op) {
  require(need(out, "out").dtype == ACL_BOOL, "out is " + View(out).shape() + ", need bool");
  return both(a, b, out, op);
}

template <class Op>
Run compare_scalar(In a, Num b, Out out, Op op) {
  const View to = need(out, "out");
  require(to.dtype == ACL_BOOL, "out is " + to.shape() + ", need bool");
  return with_scalar(to, need(a, "self"), b, op);
}

const auto kPlus = [](auto x, auto y) { return x + y; };
const auto kTimes = [](auto x, auto y) { return x * y; };

// NaN stays NaN, whichever side it is on.
const auto kGreater = [](auto x, auto y) { return y != y ? y : (x < y ? y : x); };
const auto kLesser = [](auto x, auto y) { return y != y ? y : (x > y ? y : x); };

}  // namespace

ACLNN(aclnnAdd, (In self, In other, Num alpha, Out out), (self, other, alpha, out)) {
  return sum(self, other, alpha, out, 1);
}
ACLNN(aclnnAdds, (In self, Num other, Num alpha, Out out), (self, other, alpha, out)) {
  return sum_scalar(self, other, alpha, out, 1);
}
ACLNN(aclnnInplaceAdd, (Out self, In other, Num alpha), (self, other, alpha)) {
  return sum(self, other, alpha, self, 1);
}
ACLNN(aclnnInplaceAdds, (Out self, Num other, Num alpha), (self, other, alpha)) {
  return sum_scalar(self, other, alpha, self, 1);
}
ACLNN(aclnnSub, (In self, In other, Num alpha, Out out), (self, other, alpha, out)) {
  return sum(self, other, alpha, out, -1);
}
ACLNN(aclnnSubs, (In self, Num other, Num alpha, Out out), (self, other, alpha, out)) {
  return sum_scalar(self, other, alpha, out, -1);
}
ACLNN(aclnnInplaceSub, (Out self, In other, Num alpha), (self, other, alpha)) {
  return sum(self, other, alpha, self, -1);
}
ACLNN(aclnnInplaceSubs, (Out self, Num other, Num alpha), (self, other, alpha)) {
  return sum_scalar(self, other, alpha, self, -1);
}
ACLNN(aclnnMul, (In self, In other, Out out), (self, other, out)) {
  return both(self, other, out, kTimes);
}
ACLNN(aclnnMuls, (In self, Num other, Out out), (self, other, out)) {
  return with_scalar(need(out, "out"), need(self, "self"), other, kTimes);
}
ACLNN(aclnnInplaceMul, (Out self, In other), (self, other)) {
  return both(self, other, self, kTimes);
}
ACLNN(aclnnInplaceMuls, (Out self, Num other), (self, other)) {
  return with_scalar(need(self, "self"), need(self, "self"), other, kTimes);
}
ACLNN(aclnnMaximum, (In self, In other, Out out), (self, other, out)) {
  return both(self, other, out, kGreater);
}
ACLNN(aclnnMinimum, (In self, In other, Out out), (self, other, out)) {
  return both(self, other, out, kLesser);
}

ACLNN(aclnnClamp, (In self, Num low, Num high, Out out), (self, low, high, out)) {
  aclScalar bottom;
  aclScalar top;
  bottom.real = -HUGE_VAL;
  bottom.whole = INT64_MIN;
  top.real = HUGE_VAL;
  top.whole = INT64_MAX;
  if (low != nullptr) bottom = *low;
  if (high != nullptr) top = *high;
  return unary(
      need(out, "out"), need(self, "self"),
      [=](double x) { return x < bottom.real ? bottom.real
                             : x > top.real  ? top.real
                                             : x; },
      [=](int64_t x) { return x < bottom.whole ? bottom.whole
                              : x > top.whole  ? top.whole
                                               : x; });
}
ACLNN(aclnnClampMin, (In self, Num low, Out out), (self, low, out)) {
  return with_scalar(need(out, "out"), need(self, "self"), low,
                     [](auto x, auto y) { return x < y ? y : x; });
}
ACLNN(aclnnClampMax, (In self, Num high, Out out), (self, high, out)) {
  return with_scalar(need(out, "out"), need(self, "self"), high,
                     [](auto x, auto y) { return x > y ? y : x; });
}

#define COMPARISON(NAME, OP)                                                        \
  ACLNN(aclnn##NAME##Tensor, (In self, In other, Out out), (self, other, out)) {    \
    return compare(self, other, out, [](auto x, auto y) { return x OP y; });        \
  }                                                                                 \
  ACLNN(aclnn##NAME##Scalar, (In self, Num other, Out out), (self, other, out)) {   \
    return compare_scalar(self, other, out, [](auto x, auto y) { return x OP y; }); \
  }
COMPARISON(Ge, >=)
COMPARISON(Gt, >)
COMPARISON(Le, <=)
COMPARISON(Lt, <)
COMPARISON(Eq, ==)
COMPARISON(Ne, !=)
#undef COMPARISON

ACLNN(aclnnLogicalAnd, (In self, In other, Out out), (self, other, out)) {
  return compare(self, other, out, [](auto x, auto y) { return x != 0 && y != 0; });
}
ACLNN(aclnnLogicalOr, (In self, In other, Out out), (self, other, out)) {
  return compare(self, other, out, [](auto x, auto y) { return x != 0 || y != 0; });
}
ACLNN(aclnnLogicalNot, (In self, Out out), (self, out)) {
  const auto negated = [](auto x) { return x == 0; };
  return unary(need(out, "out"), need(self, "self"), negated, negated);
}

// Bits of integers; bool is one bit.
#define BITWISE(NAME, OP)                                                                    \
  ACLNN(aclnn##NAME##Tensor, (In self, In other, Out out), (self, other, out)) {             \
    require(is_whole(need(self, "self").dtype) && is_whole(need(other, "other").dtype),      \
            View(self).shape() + " and " + View(other).shape() + ": need integers or bool"); \
    return binary(                                                                           \
        need(out, "out"), View(self), View(other), [](double x, double) { return x; },       \
        [](int64_t x, int64_t y) { return x OP y; });                                        \
  }                                                                                          \
  ACLNN(aclnn##NAME##Scalar, (In self, Num other, Out out), (self, other, out)) {            \
    require(is_whole(need(self, "self").dtype) && is_whole(other->dtype),                    \
            View(self).shape() + ": need integers or bool");                                 \
    return unary(                                                                            \
        need(out, "out"), View(self), [](double x) { return x; },                            \
        [y = other->whole](int64_t x) { return x OP y; });                                   \
  }
BITWISE(BitwiseAnd, &)
BITWISE(BitwiseOr, |)
BITWISE(BitwiseXor, ^)
#undef BITWISE

ACLNN(aclnnBitwiseNot, (In self, Out out), (self, out)) {
  const View in = need(self, "self");
  require(is_whole(in.dtype), "self is " + in.shape() + ", need integers or bool");
  const bool one_bit = in.dtype == ACL_BOOL;
  return unary(
      need(out, "out"), in, [](double x) { return x; },
      [=](int64_t x) { return one_bit ? static_cast<int64_t>(x == 0) : ~x; });
}

ACLNN(aclnnRightShift, (In self, In other, Out out), (self, other, out)) {
  require(is_whole(need(self, "self").dtype) && is_whole(need(other, "other").dtype),
          View(self).shape() + ": need integers");
  return binary(
      need(out, "out"), View(self), View(other), [](double x, double) { return x; },
      [](int64_t x, int64_t y) { return x >> y; });
}

// Rounds towards minus infinity.
ACLNN(aclnnFloorDivides, (In self, Num other, Out out), (self, other, out)) {
  const int64_t by = other->whole;
  require(!is_whole(other->dtype) || by != 0, "divides by 0");
  return unary(
      need(out, "out"), need(self, "self"),
      [real = other->real](double x) { return std::floor(x / real); },
      [=](int64_t x) { return x / by - static_cast<int64_t>(x % by != 0 && (x < 0) != (by < 0)); });
}

#define FUNCTION(NAME, BODY)                                                               \
  ACLNN(aclnn##NAME, (In self, Out out), (self, out)) {                                    \
    const View in = need(self, "self");                                                    \
    require(is_float(in.dtype), "self is " + in.shape() + ", need floating point");        \
    return unary(                                                                          \
        need(out, "out"), in, [](double x) { return BODY; }, [](int64_t x) { return x; }); \
  }
FUNCTION(Cos, std::cos(x))
FUNCTION(Sin, std::sin(x))
FUNCTION(Exp, std::exp(x))
FUNCTION(Log, std::log(x))
#undef FUNCTION

ACLNN(aclnnNeg, (In self, Out out), (self, out)) {
  const auto negative = [](auto x) { return -x; };
  return unary(need(out, "out"), need(self, "self"), negative, negative);
}
ACLNN(aclnnIsNan, (In self, Out out), (self, out)) {
  const auto is_nan = [](auto x) { return x != x; };
  return unary(need(out, "out"), need(self, "self"), is_nan, is_nan);
}

ACLNN(aclnnSWhere, (In condition, In self, In other, Out out), (condition, self, other, out)) {
  const View to = need(out, "out");
  const View chosen = need(condition, "condition").broadcast(to.dims);
  const View a = need(self, "self").broadcast(to.dims);
  const View b = need(other, "other").broadcast(to.dims);
  require(chosen.dtype == ACL_BOOL, "condition is " + chosen.shape() + ", need bool");
  require(a.dtype == b.dtype && a.dtype == to.dtype,
          "chooses between " + a.shape() + " and " + b.shape() + " into " + to.shape());
  return [=] {
    const std::vector<int64_t> first = chosen.wholes();
    if (is_whole(to.dtype)) {
      std::vector<int64_t> values = b.wholes();
      const std::vector<int64_t> others = a.wholes();
      for (size_t i = 0; i < values.size(); ++i) values[i] = first[i] != 0 ? others[i] : values[i];
      to.set(values);
    } else {
      std::vector<double> values = b.reals();
      const std::vector<double> others = a.reals();
      for (size_t i = 0; i < values.size(); ++i) values[i] = first[i] != 0 ? others[i] : values[i];
      to.set(values);
    }
  };
}

ACLNN(aclnnInplaceMaskedFillScalar, (Out self, In mask, Num value), (self, mask, value)) {
  const View to = need(self, "self");
  const View covered = need(mask, "mask").broadcast(to.dims);
  require(covered.dtype == ACL_BOOL, "mask is " + covered.shape() + ", need bool");
  return [=, fill = *value] {
    const std::vector<int64_t> drop = covered.wholes();
    const std::vector<int64_t> at = to.offsets();
    for (size_t i = 0; i < at.size(); ++i) {
      if (drop[i] == 0) continue;
      if (is_whole(to.dtype)) {
        set_whole(to.dtype, to.at(at[i]), fill.whole);
      } else {
        set_real(to.dtype, to.at(at[i]), fill.real);
      }
    }
  };
}
