#include <algorithm>
#include <cmath>
#include <limits>

#include "attention.h"

namespace fake {
namespace {

// Where head vectors of one batch lie: token t of head h begins at base + t * token + h * head.
struct Rows {
  View view;
  int64_t base = 0;
  int64_t token = 0;
  int64_t head = 0;
  // pages, when there are any
  std::vector<int64_t> pages;
  int64_t block = 0;
  int64_t page = 0;

  std::vector<float> read(int64_t t, int64_t h, int64_t width) const {
    int64_t at = base + h * head;
    if (block != 0) {
      at += pages[static_cast<size_t>(t / block)] * page + t % block * token;
    } else {
      at += t * token;
    }
    std::vector<float> out(static_cast<size_t>(width));
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<float>(get_real(view.dtype, view.at(at + static_cast<int64_t>(i))));
    }
    return out;
  }
};

Rows dense(const View& view, const std::string& layout, int64_t batch, int64_t start,
           int64_t width) {
  Rows rows;
  rows.view = view;
  if (layout == "TND") {
    rows.token = view.strides[0];
    rows.head = view.strides[1];
    rows.base = start * rows.token;
  } else if (layout == "BSH") {
    rows.base = batch * view.strides[0];
    rows.token = view.strides[1];
    rows.head = width;
  } else if (layout == "BSND") {
    rows.base = batch * view.strides[0];
    rows.token = view.strides[1];
    rows.head = view.strides[2];
  } else {  // BNSD
    rows.base = batch * view.strides[0];
    rows.head = view.strides[1];
    rows.token = view.strides[2];
  }
  return rows;
}

Rows paged(const View& view, const Attention& call, int64_t batch, int64_t width) {
  Rows rows;
  rows.view = view;
  rows.block = call.block;
  rows.page = view.strides[0];
  if (view.rank() == 3) {  // [blocks, tokens, heads * d]
    rows.token = view.strides[1];
    rows.head = width;
  } else {  // [blocks, heads, tokens, d]
    rows.head = view.strides[1];
    rows.token = view.strides[2];
  }
  const int64_t length = call.kv_length[static_cast<size_t>(batch)];
  for (int64_t i = 0; i * call.block < length; ++i) {
    const View entry = call.table.select(0, batch).select(0, i);
    const int64_t id = get_whole(entry.dtype, entry.data);
    if (id < 0 || id >= view.dim(0)) {
      throw Refused(kDevice, "block_table holds page " + std::to_string(id) + " of " +
                                 std::to_string(view.dim(0)));
    }
    rows.pages.push_back(id);
  }
  return rows;
}

// The fixed mask of sparse modes 2 to 4: everything above the diagonal is dropped.
void check_triangle(const View& mask) {
  const int64_t n = mask.dim(-1);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if ((mask.data[i * n + j] != 0) != (j > i)) {
        throw Refused(kDevice, "atten_mask must be 1 above the diagonal and 0 elsewhere; at [" +
                                   std::to_string(i) + ", " + std::to_string(j) + "] it is not");
      }
    }
  }
}

bool masked(const Attention& call, int64_t batch, int64_t i, int64_t j, int64_t queries,
            int64_t tokens) {
  switch (call.sparse) {
    case 2:
      return j > i;
    case 3:
      return j > i + tokens - queries;
    case 4: {
      const int64_t diagonal = i + tokens - queries;
      return j > diagonal + call.after || j < diagonal - call.before;
    }
    default:
      break;
  }
  if (!call.mask.given) return false;
  View row = call.mask;
  if (row.rank() == 2 && queries == 1 && row.dim(0) == call.batches) {
    const View entry = row.select(0, batch).select(0, j);
    return get_whole(entry.dtype, entry.data) != 0;
  }
  if (row.rank() == 4) row = row.select(0, row.dim(0) == 1 ? 0 : batch).select(0, 0);
  if (row.rank() == 3) row = row.select(0, row.dim(0) == 1 ? 0 : batch);
  const View entry = row.select(0, i).select(0, j);
  return get_whole(entry.dtype, entry.data) != 0;
}

void write(const View& out, int64_t at, const std::vector<float>& row) {
  for (size_t i = 0; i < row.size(); ++i) {
    set_real(out.dtype, out.at(at + static_cast<int64_t>(i)), row[i]);
  }
}

struct Batch {
  const Attention& call;
  int64_t index;
  Rows query, key, value, out;
  std::vector<std::vector<float>> keys, values;  // of one kv head

  void load(int64_t kv_head) {
    const int64_t tokens = call.kv_length[static_cast<size_t>(index)];
    keys.clear();
    values.clear();
    for (int64_t t = 0; t < tokens; ++t) {
      keys.push_back(key.read(t, kv_head, call.width));
      values.push_back(value.read(t, kv_head, call.value_width));
    }
  }

  void attend_row(int64_t head, int64_t i) const {
    const int64_t queries = call.query_length[static_cast<size_t>(index)];
    const auto tokens = static_cast<int64_t>(keys.size());
    const std::vector<float> q = query.read(i, head, call.width);
    std::vector<float> scores(keys.size(), -std::numeric_limits<float>::infinity());
    float top = -std::numeric_limits<float>::infinity();
    bool nan = false;
    for (int64_t j = 0; j < tokens; ++j) {
      if (masked(call, index, i, j, queries, tokens)) continue;
      const std::vector<float>& k = keys[static_cast<size_t>(j)];
      float total = 0;
      for (size_t x = 0; x < q.size(); ++x) total += q[x] * k[x];
      total *= static_cast<float>(call.scale);
      scores[static_cast<size_t>(j)] = total;
      nan = nan || std::isnan(total);
      top = std::max(top, total);
    }
    if (!nan && std::isinf(top)) {
      throw Refused(kDevice, "a query sees no token: its document does not say what comes out");
    }
    float sum = 0;
    std::vector<float> result(static_cast<size_t>(call.value_width), 0.0f);
    for (size_t j = 0; j < scores.size(); ++j) {
      const float weight = std::exp(scores[j] - top);
      if (weight == 0) continue;
      sum += weight;
      for (size_t x = 0; x < result.size(); ++x) result[x] += weight * values[j][x];
    }
    for (float& x : result) x /= sum;
    write(out.view, out.base + i * out.token + head * out.head, result);
    if (call.lse.given && call.lse.size() != 0) {
      const View& lse = call.lse;
      const int64_t at = call.layout == "TND"
                             ? (call.query_start[static_cast<size_t>(index)] + i) * lse.strides[0] +
                                   head * lse.strides[1]
                             : index * lse.strides[0] + head * lse.strides[1] + i * lse.strides[2];
      set_real(lse.dtype, lse.at(at), nan ? std::nan("") : top + std::log(sum));
    }
  }
};

}  // namespace

void attend(const Attention& call) {
  if (call.sparse >= 2) check_triangle(call.mask);
  const int64_t shared = call.heads / call.kv_heads;
  for (int64_t b = 0; b < call.batches; ++b) {
    const bool packed = call.layout == "TND";
    const int64_t start = packed ? call.query_start[static_cast<size_t>(b)] : 0;
    const int64_t kv_start = packed && call.block == 0 ? call.kv_start[static_cast<size_t>(b)] : 0;
    Batch batch{call,
                b,
                dense(call.query, call.layout, b, start, call.width),
                call.block != 0 ? paged(call.key, call, b, call.width)
                                : dense(call.key, call.layout, b, kv_start, call.width),
                call.block != 0 ? paged(call.value, call, b, call.value_width)
                                : dense(call.value, call.layout, b, kv_start, call.value_width),
                dense(call.out, call.layout, b, start, call.value_width),
                {},
                {}};
    for (int64_t g = 0; g < call.kv_heads; ++g) {
      batch.load(g);
      for (int64_t h = g * shared; h < (g + 1) * shared; ++h) {
        for (int64_t i = 0; i < call.query_length[static_cast<size_t>(b)]; ++i) {
          batch.attend_row(h, i);
        }
      }
    }
  }
}

}  // namespace fake
