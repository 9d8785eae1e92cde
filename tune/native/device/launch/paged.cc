// paged_write and paged_attention.
#include "../../cuda/paged.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 128;
// Rows up to which each slice of a row's keys has a block of its own; more rows occupy the card by
// themselves. The result is the same.
constexpr int64_t kSlicedRows = 64;
// Slots of the scratch.
enum : int { kSpanOfRow = 0, kPartial = 1 };

int64_t numbers_a_word(Dtype dtype) { return dtype == Dtype::bf16 ? 2 : 1; }

void check_cache(Dtype dtype, int64_t rows, int64_t columns, int64_t block) {
  if (block < 1 || block % 16 || rows % block)
    throw std::runtime_error("a cache must be whole blocks, and a block whole sixteens of rows");
  if (columns % numbers_a_word(dtype)) throw std::runtime_error("a row of a cache must be whole words");
}

}  // namespace

void paged_write(DeviceCall& call) {
  const Tensor &k = *call.in[paged_write_in::k], &keys = *call.out[paged_write_out::keys];
  const int64_t block = PagedWriteAttrs::read(call.attrs).block;
  check_cache(keys.dtype, keys.dims[0], k.dims[1], block);
  const cuda::PagedWrite params{k.data, call.in[paged_write_in::v]->data,
      data_of<int32_t>(call.in[paged_write_in::slots]), keys.data, call.out[paged_write_out::values]->data,
      call.fault_word(), k.dims[0], keys.dims[0], int32_t(k.dims[1]), int32_t(block),
      call.fault("a slot lies outside the cache"), k.dtype, keys.dtype};
  call.launch("paged", "paged_write", {k.dims[0]}, kThreads, params);
}

void paged_attention(DeviceCall& call) {
  const Tensor &q = *call.in[paged_attention_in::q], &k = *call.in[paged_attention_in::k],
               &tables = *call.in[paged_attention_in::tables], &spans = *call.in[paged_attention_in::spans];
  const Tensor* sinks = call.in[paged_attention_in::sinks];
  const auto attrs = PagedAttentionAttrs::read(call.attrs);
  const int64_t tokens = q.dims[0], width = q.dims[1] / attrs.heads;
  if (attrs.heads % attrs.kv_heads) throw std::runtime_error("heads must be a multiple of kv_heads");
  if (width % numbers_a_word(q.dtype)) throw std::runtime_error("a head must be whole words");
  if (width > cuda::kMaxHeadWidth) throw std::runtime_error("a head must have at most 256 numbers");
  check_cache(q.dtype, k.dims[0], k.dims[1], attrs.block);

  cuda::PagedAttention p{};
  p.q = q.data;
  p.k = k.data;
  p.v = call.in[paged_attention_in::v]->data;
  p.sinks = data_of<void>(sinks);
  p.tables = data_of<int32_t>(tables);
  p.spans = data_of<int32_t>(spans);
  p.y = call.out[paged_attention_out::y]->data;
  p.fault = call.fault_word();
  p.tokens = tokens;
  p.cache_rows = k.dims[0];
  p.span_count = int32_t(spans.dims[0]);
  p.blocks = int32_t(tables.dims[1]);
  p.block = attrs.block;
  p.heads = attrs.heads;
  p.kv_heads = attrs.kv_heads;
  p.width = int32_t(width);
  p.window = attrs.window;
  p.slices = int32_t(blocks_of(tables.dims[1] * attrs.block, cuda::kSliceKeys));
  p.outside_rows = call.fault("a span lies outside the rows");
  p.outside_table = call.fault("a span has more keys than its table");
  p.outside_cache = call.fault("a table names a block outside the cache");
  p.scale = attrs.scale;
  p.cap = attrs.softcap;
  p.dtype = q.dtype;
  p.sinks_dtype = sinks ? sinks->dtype : Dtype::f32;

  p.span_of_row = call.scratch<int32_t>(kSpanOfRow, tokens);
  call.clear(p.span_of_row, tokens * 4);
  call.launch("paged", "paged_spans", {spans.dims[0]}, kThreads, p);
  const int64_t tiles = attrs.kv_heads * blocks_of(attrs.heads / attrs.kv_heads, cuda::kPagedHeads);
  const int shared =
      int(cuda::kPagedHeads * (width + cuda::kPagedWarps * (width + 2)) * int64_t(sizeof(float)));
  if (p.slices == 1 || tokens > kSlicedRows) {
    call.launch("paged", "paged_whole", {tokens, tiles}, kThreads, p, shared);
    return;
  }
  p.partial = call.scratch<float>(kPartial, tokens * attrs.heads * p.slices * (width + 2));
  call.launch("paged", "paged_slices", {tokens, tiles, p.slices}, kThreads, p, shared);
  call.launch("paged", "paged_merge", {tokens, tiles}, kThreads, p);
}

}  // namespace cairn::device
