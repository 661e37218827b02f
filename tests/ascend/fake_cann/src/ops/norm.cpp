// Norms, gates and rotation of a transformer layer, computed in float32 and rounded once.
#include <cmath>

#include "op.h"

using namespace fake;

namespace {

void check_norm(const View& x, const View& gamma) {
  require(is_float(x.dtype), "x is " + x.shape() + ", need floating point");
  require(gamma.dtype == x.dtype || gamma.dtype == ACL_FLOAT,
          "gamma is " + gamma.shape() + " for x " + x.shape());
  require(gamma.rank() >= 1 && gamma.rank() <= x.rank(), "gamma is " + gamma.shape());
  const Dims tail(x.dims.end() - gamma.rank(), x.dims.end());
  require(tail == gamma.dims, "gamma is " + gamma.shape() + ", x ends in " + text(tail));
}

// y = x / rms(x) * gamma over gamma's dims; also 1 / rms.
void normalise(const std::vector<float>& x, const std::vector<float>& gamma, double epsilon,
               std::vector<float>& y, std::vector<float>& rstd) {
  const size_t n = gamma.size();
  y.resize(x.size());
  rstd.resize(n != 0 ? x.size() / n : 0);
  for (size_t row = 0; row < rstd.size(); ++row) {
    const float* from = &x[row * n];
    float total = 0;
    for (size_t i = 0; i < n; ++i) total += from[i] * from[i];
    rstd[row] = 1.0f / std::sqrt(total / static_cast<float>(n) + static_cast<float>(epsilon));
    for (size_t i = 0; i < n; ++i) y[row * n + i] = from[i] * rstd[row] * gamma[i];
  }
}

// The two halves of a gate: out[..., i] = act(x[..., a + i]) * x[..., b + i].
template <class Act>
Run gate(const View& in, int64_t dim, const View& out, bool left, Act act) {
  require(dim == -1 || dim == in.rank() - 1, "the fake CANN knows gates of the last dim");
  require(in.dim(-1) % 2 == 0 && out.dim(-1) * 2 == in.dim(-1) && in.dtype == out.dtype,
          in.shape() + " does not give " + out.shape());
  return [=] {
    const std::vector<float> x = in.floats();
    const auto n = static_cast<size_t>(out.dim(-1));
    std::vector<float> y(x.size() / 2);
    for (size_t row = 0; n != 0 && row < y.size() / n; ++row) {
      for (size_t i = 0; i < n; ++i) {
        const float first = x[row * 2 * n + i];
        const float second = x[row * 2 * n + n + i];
        y[row * n + i] = left ? act(first) * second : first * act(second);
      }
    }
    out.set(y);
  };
}

// Rotates pairs (x_i, x_{i + d/2}); cos and sin broadcast over x.
Run rotate(In self, In cosine, In sine, int64_t mode, Out out) {
  const View x = need(self, "x");
  const View to = need(out, "out");
  require(mode == 0, "mode " + std::to_string(mode) + "; the fake CANN knows 0, half");
  require(x.rank() == 4, "x is " + x.shape() + ", need 4 dims");
  require(x.dtype == View(cosine).dtype && x.dtype == View(sine).dtype && is_float(x.dtype),
          "x is " + x.shape() + ", cos " + View(cosine).shape() + ": need one dtype");
  require(x.dim(3) % 2 == 0 && x.dim(3) < 896, "x is " + x.shape() + ", need an even d < 896");
  require(x.dim(0) < 1000, "x is " + x.shape() + ", need B < 1000");
  require(x.dims == to.dims, "out is " + to.shape() + " for " + x.shape());
  const View c = need(cosine, "cos").broadcast(x.dims);
  const View s = need(sine, "sin").broadcast(x.dims);
  return [=] {
    const std::vector<float> in = x.floats();
    const std::vector<float> cos = c.floats();
    const std::vector<float> sin = s.floats();
    std::vector<float> y(in.size());
    const auto d = static_cast<size_t>(x.dim(3));
    for (size_t i = 0; i < in.size(); ++i) {
      const size_t column = i % d;
      const float other = column < d / 2 ? -in[i + d / 2] : in[i - d / 2];
      y[i] = in[i] * cos[i] + other * sin[i];
    }
    to.set(y);
  };
}

}  // namespace

ACLNN(aclnnRmsNorm, (In x, In gamma, double epsilon, Out y, Out rstd),
      (x, gamma, epsilon, y, rstd)) {
  const View from = need(x, "x");
  const View scale = need(gamma, "gamma");
  const View to = need(y, "y");
  check_norm(from, scale);
  require(from.dims == to.dims, "y is " + to.shape() + " for " + from.shape());
  return [=, factor = View(rstd)] {
    std::vector<float> normed;
    std::vector<float> factors;
    normalise(from.floats(), scale.floats(), epsilon, normed, factors);
    to.set(normed);
    if (factor.given) factor.set(factors);
  };
}

// x2 += x1, then x1 = norm(x2); the sum is rounded to the dtype before it is normed.
ACLNN(aclnnInplaceAddRmsNorm, (Out x1, Out x2, In gamma, double epsilon, Out rstd),
      (x1, x2, gamma, epsilon, rstd)) {
  const View first = need(x1, "x1");
  const View second = need(x2, "x2");
  const View scale = need(gamma, "gamma");
  check_norm(first, scale);
  require(first.dims == second.dims && first.dtype == second.dtype,
          "x1 is " + first.shape() + ", x2 " + second.shape());
  require(first.contiguous() && second.contiguous(), "x1 and x2 must be contiguous");
  return [=, factor = View(rstd)] {
    std::vector<float> sum = second.floats();
    const std::vector<float> added = first.floats();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
    second.set(sum);
    std::vector<float> normed;
    std::vector<float> factors;
    normalise(second.floats(), scale.floats(), epsilon, normed, factors);
    first.set(normed);
    if (factor.given) factor.set(factors);
  };
}

ACLNN(aclnnSwiGlu, (In x, int64_t dim, Out out), (x, dim, out)) {
  return gate(need(x, "x"), dim, need(out, "out"), true,
              [](float v) { return v / (1.0f + std::exp(-v)); });
}

ACLNN(aclnnGeGluV3, (In x, int64_t dim, int64_t approximate, bool activate_left, Out out, Out gelu),
      (x, dim, approximate, activate_left, out, gelu)) {
  require(approximate == 1, "the fake CANN knows the tanh form, approximate 1");
  const auto act = [](float v) {
    const double cubed = 0.7978845608028654 * (v + 0.044715 * v * v * v);
    return static_cast<float>(0.5 * v * (1 + std::tanh(cubed)));
  };
  const View in = need(x, "x");
  const View activated = need(gelu, "gelu");
  const Run product = gate(in, dim, need(out, "out"), activate_left, act);
  return [=] {
    product();
    const std::vector<float> all = in.floats();
    const auto n = static_cast<size_t>(activated.dim(-1));
    std::vector<float> half(all.size() / 2);
    for (size_t i = 0; n != 0 && i < half.size(); ++i) {
      half[i] = act(all[i / n * 2 * n + i % n + (activate_left ? 0 : n)]);
    }
    activated.set(half);
  };
}

ACLNN(aclnnRotaryPositionEmbedding, (In x, In cos, In sin, int64_t mode, Out out),
      (x, cos, sin, mode, out)) {
  return rotate(x, cos, sin, mode, out);
}

ACLNN(aclnnRotaryPositionEmbeddingV2, (In x, In cos, In sin, int64_t mode, In matrix, Out out),
      (x, cos, sin, mode, matrix, out)) {
  absent(matrix, "rotate");
  return rotate(x, cos, sin, mode, out);
}
