// FusedInferAttentionScore as torch_npu calls it, without quantisation, rope parts, shared prefix
// and position shift. What its document forbids is refused in the first phase.
#include <algorithm>
#include <numeric>

#include "attention.h"
#include "memory.h"

using namespace fake;

namespace {

struct Given {
  In query;
  List key, value;
  In mask;
  Ints query_lengths, kv_lengths;
  In table;
  int64_t heads, kv_heads;
  double scale;
  int64_t before, after;
  const char* layout;
  int64_t sparse, inner_precise, block;
  bool want_lse;
  In out, lse;
};

std::string number(int64_t n) { return std::to_string(n); }

// Dims of query by name, whatever the layout.
void read_query(Attention& a, const Given& given, int64_t& length) {
  const View& q = a.query;
  require(q.rank() == (a.layout == "BSND" || a.layout == "BNSD" ? 4 : 3),
          "query is " + q.shape() + " in layout " + a.layout);
  if (a.layout == "TND") {
    a.heads = q.dim(1);
    a.width = q.dim(2);
    length = q.dim(0);
  } else if (a.layout == "BSH") {
    require(given.heads > 0 && q.dim(2) % given.heads == 0,
            "query is " + q.shape() + " for " + number(given.heads) + " heads");
    a.heads = given.heads;
    a.width = q.dim(2) / given.heads;
    a.batches = q.dim(0);
    length = q.dim(1);
  } else {
    a.heads = q.dim(a.layout == "BSND" ? 2 : 1);
    a.width = q.dim(3);
    a.batches = q.dim(0);
    length = q.dim(a.layout == "BSND" ? 1 : 2);
  }
  require(a.heads == given.heads, "num_query_heads is " + number(given.heads) + ", query is " +
                                      q.shape() + " in layout " + a.layout);
}

void check_sizes(const Attention& a, const Given& given, int64_t length) {
  require(a.heads <= 256, number(a.heads) + " query heads, at most 256");
  require(a.kv_heads > 0 && a.heads % a.kv_heads == 0 && a.heads / a.kv_heads <= 64,
          number(a.heads) + " query heads over " + number(a.kv_heads) +
              " of key: must divide, 64 at most share one");
  require(a.batches >= 1 && a.batches <= 65536, number(a.batches) + " batches, at most 65536");
  require(a.width % 16 == 0 && a.width <= 512 && a.width > 0,
          "a head of " + number(a.width) + ", need a multiple of 16, at most 512");
  require(given.inner_precise >= 0 && given.inner_precise <= (length == 1 ? 1 : 3),
          "inner_precise " + number(given.inner_precise));
  if (a.layout != "TND") return;
  const bool alike = a.width == a.value_width;
  require((alike && a.width == 128) || (a.width == 192 && (alike || a.value_width == 128)) ||
              (alike && a.width == 64 && a.heads == a.kv_heads),
          "layout TND with a head of " + number(a.width) +
              ": need 128, 192, or 64 where every query head has its own key head");
}

// Lengths of batches that are not packed: one for all, or at least one a batch.
std::vector<int64_t> lengths(Ints given, int64_t batches, int64_t whole, const char* what) {
  std::vector<int64_t> out(static_cast<size_t>(batches), whole);
  if (given == nullptr) return out;
  const std::vector<int64_t>& values = given->values;
  require(values.size() == 1 || values.size() >= out.size(),
          std::string(what) + " has " + number(static_cast<int64_t>(values.size())) +
              " entries for " + number(batches) + " batches");
  for (size_t i = 0; i < out.size(); ++i) out[i] = values[values.size() == 1 ? 0 : i];
  for (int64_t n : out) {
    require(n >= 0 && n <= whole,
            std::string(what) + " holds " + number(n) + ", the axis has " + number(whole));
  }
  return out;
}

// Packed lengths are running sums; gives starts and lengths.
void unpack(Ints given, int64_t whole, const char* what, std::vector<int64_t>& start,
            std::vector<int64_t>& length) {
  require(given != nullptr, std::string(what) + " must be given in layout TND");
  const std::vector<int64_t>& ends = given->values;
  require(!ends.empty() && ends.size() <= 4096, std::string(what) + " has " +
                                                    number(static_cast<int64_t>(ends.size())) +
                                                    " entries, need 1 to 4096");
  int64_t at = 0;
  for (int64_t end : ends) {
    require(end >= at,
            std::string(what) + " must be running sums: " + number(end) + " after " + number(at));
    start.push_back(at);
    length.push_back(end - at);
    at = end;
  }
  require(at == whole, std::string(what) + " ends at " + number(at) + ", the tensor holds " +
                           number(whole) + " tokens");
}

void read_pages(Attention& a, const Given& given, int64_t length) {
  require(a.table.dtype == ACL_INT32 && a.table.rank() == 2 && a.table.contiguous(),
          "block_table is " + a.table.shape() + ", need contiguous int32 of 2 dims");
  require(a.table.dim(0) == a.batches,
          "block_table is " + a.table.shape() + " for " + number(a.batches) + " batches");
  require(given.kv_lengths != nullptr, "actual_seq_kvlen must be given with pages");
  a.block = given.block;
  if (a.layout == "TND") {
    require(a.block > 0 && a.block % 16 == 0 && a.block <= 1024,
            "block_size " + number(a.block) + ", need a multiple of 16 up to 1024");
  } else if (length == 1) {
    require(a.block > 0 && a.block % 16 == 0 && a.block <= 512,
            "block_size " + number(a.block) + ", need a multiple of 16 up to 512");
  } else {
    require(a.block >= 128 && a.block % 128 == 0 && a.block <= 512,
            "block_size " + number(a.block) + ", need 128, 256, 384 or 512 for several queries");
  }
  const View& k = a.key;
  if (k.rank() == 3) {
    require(k.dim(1) == a.block && k.dim(2) == a.kv_heads * a.width,
            "key is " + k.shape() + ", need [blocks, " + number(a.block) + ", " +
                number(a.kv_heads * a.width) + "]");
    require(k.dim(2) <= 65535, "pages hold tokens of " + number(k.dim(2)) + ", at most 65535");
  } else {
    require(k.rank() == 4 && (a.layout == "BNSD" || a.layout == "TND"),
            "key is " + k.shape() + " in pages for layout " + a.layout);
    require(k.dim(1) == a.kv_heads && k.dim(2) == a.block && k.dim(3) == a.width,
            "key is " + k.shape() + ", need [blocks, heads, block, d]");
  }
  a.value_width = a.width;
  a.kv_length = lengths(given.kv_lengths, a.batches, a.table.dim(1) * a.block, "actual_seq_kvlen");
}

void read_dense(Attention& a, const Given& given, int64_t& whole) {
  const View& k = a.key;
  require(k.rank() == a.query.rank(), "key is " + k.shape() + " for query " + a.query.shape());
  if (a.layout == "TND") {
    require(k.dim(1) == a.kv_heads && k.dim(2) == a.width, "key is " + k.shape());
    a.value_width = a.value.dim(2);
    unpack(given.kv_lengths, k.dim(0), "actual_seq_kvlen", a.kv_start, a.kv_length);
    require(static_cast<int64_t>(a.kv_length.size()) == a.batches,
            "actual_seq_kvlen and actual_seq_qlen differ in number");
    whole = k.dim(0);
    return;
  }
  require(k.dim(0) == a.batches, "key is " + k.shape() + " for " + number(a.batches) + " batches");
  if (a.layout == "BSH") {
    require(k.dim(2) == a.kv_heads * a.width, "key is " + k.shape());
    a.value_width = a.width;
    whole = k.dim(1);
  } else {
    const int seq = a.layout == "BSND" ? 1 : 2;
    require(k.dim(3 - seq) == a.kv_heads && k.dim(3) == a.width,
            "key is " + k.shape() + " for " + number(a.kv_heads) + " heads of " + number(a.width));
    a.value_width = a.value.dim(3);
    whole = k.dim(seq);
  }
  a.kv_length = lengths(given.kv_lengths, a.batches, whole, "actual_seq_kvlen");
}

void check_mask(const Attention& a, int64_t length, int64_t whole) {
  require(a.sparse >= 0 && a.sparse <= 4,
          "sparse_mode " + number(a.sparse) + "; the fake CANN knows 0 to 4, the document also 9");
  if (a.mask.given) {
    require(a.mask.contiguous(), "atten_mask must be contiguous");
    require(a.mask.dtype == ACL_BOOL || a.mask.dtype == ACL_INT8 || a.mask.dtype == ACL_UINT8,
            "atten_mask is " + a.mask.shape() + ", need bool, int8 or uint8");
  }
  if (a.sparse >= 2) {
    Dims need_dims(static_cast<size_t>(a.mask.given ? a.mask.rank() : 2), 1);
    for (size_t i = 0; i < need_dims.size() && i < 2; ++i)
      need_dims[need_dims.size() - 1 - i] = 2048;
    require(a.mask.given && a.mask.rank() >= 2 && a.mask.dims == need_dims,
            "sparse_mode " + number(a.sparse) + " needs the fixed atten_mask [2048, 2048]" +
                (a.mask.given ? ", got " + a.mask.shape() : ""));
    return;
  }
  require(a.sparse != 1 || a.mask.given, "sparse_mode 1 needs an atten_mask");
  if (!a.mask.given) return;
  require(a.layout != "TND", "layout TND takes the fixed mask only");
  if (length == 1) {
    // sparse_mode means nothing then, so a fixed mask would be read as one of the tokens
    require(a.mask.dim(-1) >= whole && a.mask.dim(-1) < whole + 32 &&
                (a.mask.rank() == 2 ? a.mask.dim(0) == a.batches : a.mask.dim(-2) == 1),
            "atten_mask is " + a.mask.shape() + " for one query a batch, need [" +
                number(a.batches) + ", " + number(whole) + "] or [..., 1, " + number(whole) +
                "]: sparse_mode is ignored then; leave the mask out");
    return;
  }
  require(a.mask.rank() >= 2 && a.mask.rank() <= 4 && a.mask.dim(-1) >= whole &&
              a.mask.dim(-2) >= length,
          "atten_mask is " + a.mask.shape() + ", need [..., " + number(length) + ", " +
              number(whole) + "] or more");
}

void check_outputs(const Attention& a, const Given& given) {
  Dims expected = a.query.dims;
  if (a.layout == "BSH") {
    expected[2] = a.heads * a.value_width;
  } else {
    expected.back() = a.value_width;
  }
  require(a.out.dims == expected && a.out.dtype == a.query.dtype && a.out.contiguous(),
          "attention_out is " + a.out.shape() + ", need " + text(expected) + " as query");
  if (!given.want_lse) return;
  const View& q = a.query;
  const int64_t length = a.layout == "BNSD" ? q.dim(2) : q.dim(1);
  const Dims lse =
      a.layout == "TND" ? Dims{q.dim(0), a.heads, 1} : Dims{a.batches, a.heads, length, 1};
  require(a.lse.given && a.lse.dims == lse && a.lse.dtype == ACL_FLOAT && a.lse.contiguous(),
          "softmax_lse is " + a.lse.shape() + ", need float32" + text(lse));
}

Run plan_attention(const Given& given) {
  Attention a;
  a.query = need(given.query, "query");
  require(given.key != nullptr && given.key->items.size() == 1 && given.value != nullptr &&
              given.value->items.size() == 1,
          "the fake CANN knows one tensor of key and one of value");
  a.key = need(given.key->items[0], "key");
  a.value = need(given.value->items[0], "value");
  a.mask = View(given.mask);
  a.table = View(given.table);
  a.out = need(given.out, "attention_out");
  if (given.want_lse) a.lse = need(given.lse, "softmax_lse");
  a.layout = given.layout;
  a.kv_heads = given.kv_heads != 0 ? given.kv_heads : given.heads;
  a.scale = given.scale;
  a.sparse = given.sparse;
  a.before = given.before;
  a.after = given.after;
  require(a.layout == "BSH" || a.layout == "BSND" || a.layout == "BNSD" || a.layout == "TND",
          "input_layout " + a.layout + "; the fake CANN knows BSH, BSND, BNSD and TND");
  require(a.query.dtype == ACL_FLOAT16 || a.query.dtype == ACL_BF16,
          "query is " + a.query.shape() + ", need float16 or bfloat16");
  require(a.key.dtype == a.query.dtype && a.value.dtype == a.query.dtype,
          "key is " + a.key.shape() + ", value " + a.value.shape() + ", need query's dtype");
  require(a.query.contiguous() && a.key.contiguous() && a.value.contiguous(),
          "query, key and value must be contiguous");
  require(a.key.dims == a.value.dims || a.layout == "TND",
          "key is " + a.key.shape() + ", value " + a.value.shape());
  int64_t length = 0;
  read_query(a, given, length);
  require(a.query.size() != 0 && a.key.size() != 0,
          "query is " + a.query.shape() + ", key " + a.key.shape() +
              ": without tokens the document does not say what softmax_lse is; do not call");
  if (a.layout == "TND") {
    unpack(given.query_lengths, length, "actual_seq_qlen", a.query_start, a.query_length);
    a.batches = static_cast<int64_t>(a.query_length.size());
  } else {
    a.query_length = lengths(given.query_lengths, a.batches, length, "actual_seq_qlen");
    // one query a batch: the decode kernel, which masks nothing by itself
    if (length == 1) a.sparse = 0;
  }
  int64_t whole = 0;
  if (a.table.given) {
    read_pages(a, given, length);
    whole = a.table.dim(1) * a.block;
  } else {
    read_dense(a, given, whole);
    require(length != 1 || whole <= 262144, number(whole) + " tokens of key, at most 262144");
  }
  check_sizes(a, given, length);
  check_mask(a, length, whole);
  for (size_t b = 0; b < a.kv_length.size(); ++b) {
    require(a.kv_length[b] > 0 || a.query_length[b] == 0,
            "actual_seq_kvlen of batch " + number(static_cast<int64_t>(b)) +
                " is 0: the document does not say what softmax_lse is then; do not call");
    require(a.sparse != 3 || a.kv_length[b] >= a.query_length[b],
            "sparse_mode 3 with more queries than tokens: some see none");
  }
  check_outputs(a, given);
  const int64_t longest = *std::max_element(a.kv_length.begin(), a.kv_length.end());
  ask_workspace(static_cast<uint64_t>(4096 + 64 * a.batches * longest),
                static_cast<uint64_t>(4096 + 64 * a.batches * whole));
  return [a] {
    // rows that no batch covers are left as they come, and that is no value to rely on
    poison(a.out.data, static_cast<size_t>(a.out.size()) * size_of(a.out.dtype));
    if (a.lse.given) poison(a.lse.data, static_cast<size_t>(a.lse.size()) * 4);
    attend(a);
  };
}

}  // namespace

ACLNN_MOST(aclnnFusedInferAttentionScoreV4,
           (In query, List key, List value, In pse_shift, In atten_mask, Ints actual_seq_qlen,
            Ints actual_seq_kvlen, In dequant_scale1, In quant_scale1, In dequant_scale2,
            In quant_scale_out, In quant_offset_out, In antiquant_scale, In antiquant_offset,
            In block_table, In query_padding_size, In kv_padding_size, In dequant_scale_key,
            In dequant_offset_key, In dequant_scale_value, In dequant_offset_value,
            In key_shared_prefix, In value_shared_prefix, Ints actual_shared_prefix_len,
            In query_rope, In key_rope, In dequant_scale_key_rope, In dequant_scale_query,
            In learnable_sink, int64_t num_query_heads, double softmax_scale, int64_t pre_tokens,
            int64_t next_tokens, char* input_layout, int64_t num_key_value_heads,
            int64_t sparse_mode, int64_t inner_precise, int64_t block_size, int64_t antiquant_mode,
            bool return_softmax_lse, int64_t key_quant_mode, int64_t value_quant_mode,
            int64_t query_quant_mode, Out attention_out, Out softmax_lse),
           (query, key, value, pse_shift, atten_mask, actual_seq_qlen, actual_seq_kvlen,
            dequant_scale1, quant_scale1, dequant_scale2, quant_scale_out, quant_offset_out,
            antiquant_scale, antiquant_offset, block_table, query_padding_size, kv_padding_size,
            dequant_scale_key, dequant_offset_key, dequant_scale_value, dequant_offset_value,
            key_shared_prefix, value_shared_prefix, actual_shared_prefix_len, query_rope, key_rope,
            dequant_scale_key_rope, dequant_scale_query, learnable_sink, num_query_heads,
            softmax_scale, pre_tokens, next_tokens, input_layout, num_key_value_heads, sparse_mode,
            inner_precise, block_size, antiquant_mode, return_softmax_lse, key_quant_mode,
            value_quant_mode, query_quant_mode, attention_out, softmax_lse)) {
  for (In unknown : {pse_shift,
                     dequant_scale1,
                     quant_scale1,
                     dequant_scale2,
                     quant_scale_out,
                     quant_offset_out,
                     antiquant_scale,
                     antiquant_offset,
                     query_padding_size,
                     kv_padding_size,
                     dequant_scale_key,
                     dequant_offset_key,
                     dequant_scale_value,
                     dequant_offset_value,
                     key_shared_prefix,
                     value_shared_prefix,
                     query_rope,
                     key_rope,
                     dequant_scale_key_rope,
                     dequant_scale_query,
                     learnable_sink}) {
    absent(unknown, "a tensor of quantisation, rope, prefix, padding, shift or sink");
  }
  return plan_attention({query, key, value, atten_mask, actual_seq_qlen, actual_seq_kvlen,
                         block_table, num_query_heads, num_key_value_heads, softmax_scale,
                         pre_tokens, next_tokens, input_layout, sparse_mode, inner_precise,
                         block_size, return_softmax_lse, attention_out, softmax_lse});
}
