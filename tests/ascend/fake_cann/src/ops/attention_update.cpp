// AttentionUpdate: merges partial attentions by their log-sum-exps.
#include <cmath>
#include <limits>

#include "op.h"

using namespace fake;

ACLNN(aclnnAttentionUpdate, (List lse, List local_out, int64_t update_type, Out out, Out lse_out),
      (lse, local_out, update_type, out, lse_out)) {
  require(lse != nullptr && local_out != nullptr, "lse and local_out must be given");
  const size_t parts = lse->items.size();
  require(parts == local_out->items.size() && parts >= 1 && parts <= 16,
          "lse has " + std::to_string(parts) + " parts, local_out " +
              std::to_string(local_out->items.size()) + ": need as many, 1 to 16");
  require(update_type == 0 || update_type == 1, "update_type " + std::to_string(update_type));
  const View to = need(out, "out");
  const View merged = View(lse_out);
  std::vector<View> logs;
  std::vector<View> outs;
  for (size_t i = 0; i < parts; ++i) {
    logs.emplace_back(lse->items[i]);
    outs.emplace_back(local_out->items[i]);
    const View& log = logs.back();
    const View& part = outs.back();
    require(log.rank() == 1 && log.dtype == ACL_FLOAT, "lse is " + log.shape());
    require(part.rank() == 2 && part.dim(0) == log.dim(0) && part.dims == to.dims &&
                part.dtype == to.dtype,
            "local_out is " + part.shape() + " for lse " + log.shape() + " and out " + to.shape());
  }
  require(to.dtype == ACL_FLOAT || to.dtype == ACL_FLOAT16 || to.dtype == ACL_BF16,
          "out is " + to.shape());
  require(to.dim(1) % 8 == 0 && to.dim(1) >= 8 && to.dim(1) <= 512,
          "a head of " + std::to_string(to.dim(1)) + ", need a multiple of 8 from 8 to 512");
  require(update_type == 0 ||
              (merged.given && merged.dtype == ACL_FLOAT && merged.dims == logs[0].dims),
          "lse_out is " + merged.shape());
  return [=] {
    std::vector<std::vector<float>> log;
    std::vector<std::vector<float>> part;
    for (size_t i = 0; i < parts; ++i) {
      log.push_back(logs[i].floats());
      part.push_back(outs[i].floats());
    }
    const auto rows = static_cast<size_t>(to.dim(0));
    const auto width = static_cast<size_t>(to.dim(1));
    std::vector<float> result(rows * width, 0.0f);
    std::vector<float> total(rows);
    for (size_t r = 0; r < rows; ++r) {
      // as its formula stands: parts that are all -inf give NaN, which the caller must not need
      float top = -std::numeric_limits<float>::infinity();
      for (const auto& l : log) top = std::max(top, l[r]);
      float sum = 0;
      for (const auto& l : log) sum += std::exp(l[r] - top);
      total[r] = top + std::log(sum);
      for (size_t i = 0; i < parts; ++i) {
        const float weight = std::exp(log[i][r] - total[r]);
        for (size_t x = 0; x < width; ++x) {
          result[r * width + x] += weight * part[i][r * width + x];
        }
      }
    }
    to.set(result);
    if (update_type == 1) merged.set(total);
  };
}
