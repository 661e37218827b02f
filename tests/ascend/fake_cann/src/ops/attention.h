// One attention call, its lengths and layout resolved, whatever its interface.
#pragma once

#include <string>
#include <vector>

#include "op.h"

namespace fake {

struct Attention {
  View query, key, value, mask, table, out, lse;
  std::string layout;
  int64_t batches = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t width = 0;        // of a head of query and key
  int64_t value_width = 0;  // of a head of value
  int64_t block = 0;        // tokens of a page; 0 when K and V are dense
  double scale = 1;
  int64_t sparse = 0;
  int64_t before = 0;  // pre_tokens and next_tokens
  int64_t after = 0;
  std::vector<int64_t> query_start;  // TND only
  std::vector<int64_t> query_length;
  std::vector<int64_t> kv_start;  // TND with dense K and V only
  std::vector<int64_t> kv_length;
};

// Softmax of the scaled scores times value, and the natural logarithm of the sum of their
// exponentials, in float32, out rounded once.
void attend(const Attention& call);

}  // namespace fake
