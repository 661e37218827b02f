// Matrix products, accumulated in float32.
#include "op.h"

using namespace fake;

namespace {

// c[m, n] = a[m, k] b[k, n], row-major; the inner loop is one that a compiler vectorises.
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, int64_t m,
                           int64_t k, int64_t n) {
  std::vector<float> c(static_cast<size_t>(m * n), 0.0f);
  for (int64_t i = 0; i < m; ++i) {
    float* row = &c[static_cast<size_t>(i * n)];
    for (int64_t j = 0; j < k; ++j) {
      const float left = a[static_cast<size_t>(i * k + j)];
      const float* right = &b[static_cast<size_t>(j * n)];
      for (int64_t x = 0; x < n; ++x) row[x] += left * right[x];
    }
  }
  return c;
}

void check(const View& a, const View& b, const View& out) {
  require(a.rank() == 2 && b.rank() == 2 && out.rank() == 2, "need matrices");
  require(a.dim(1) == b.dim(0) && out.dim(0) == a.dim(0) && out.dim(1) == b.dim(1),
          a.shape() + " times " + b.shape() + " does not give " + out.shape());
  require(a.dtype == b.dtype, a.shape() + " and " + b.shape() + " differ in dtype");
  require(a.dtype == ACL_FLOAT || a.dtype == ACL_FLOAT16 || a.dtype == ACL_BF16,
          a.shape() + ": the cube unit has float32, float16 and bfloat16");
  require(out.dtype == a.dtype || out.dtype == ACL_FLOAT,
          "out is " + out.shape() + " for " + a.shape());
}

Run matmul(In self, In other, Out out) {
  const View a = need(self, "self");
  const View b = need(other, "mat2");
  const View to = need(out, "out");
  check(a, b, to);
  return [=] { to.set(product(a.floats(), b.floats(), a.dim(0), a.dim(1), b.dim(1))); };
}

}  // namespace

ACLNN(aclnnMm, (In self, In mat2, Out out, int8_t cube_math_type),
      (self, mat2, out, cube_math_type)) {
  return matmul(self, mat2, out);
}

ACLNN(aclnnMatmul, (In self, In mat2, Out out, int8_t cube_math_type),
      (self, mat2, out, cube_math_type)) {
  return matmul(self, mat2, out);
}

ACLNN(aclnnAddmm, (In self, In mat1, In mat2, Num beta, Num alpha, Out out, int8_t cube_math_type),
      (self, mat1, mat2, beta, alpha, out, cube_math_type)) {
  const View a = need(mat1, "mat1");
  const View b = need(mat2, "mat2");
  const View to = need(out, "out");
  check(a, b, to);
  const View bias = need(self, "self").broadcast(to.dims);
  const auto by = static_cast<float>(beta->real);
  const auto times = static_cast<float>(alpha->real);
  return [=] {
    std::vector<float> values = product(a.floats(), b.floats(), a.dim(0), a.dim(1), b.dim(1));
    if (by != 0) {
      const std::vector<float> added = bias.floats();
      for (size_t i = 0; i < values.size(); ++i) values[i] = times * values[i] + by * added[i];
    } else if (times != 1) {
      for (float& value : values) value *= times;
    }
    to.set(values);
  };
}
