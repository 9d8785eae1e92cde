// attention, attention_grad, sinks_grad: on tensor cores if heads are bf16, consist of whole chunks of 16
// bytes and have at most 128 numbers, and scores are not capped; otherwise in f32. Kernels for warpgroups do
// all that those of smaller tiles do.
#include "../../cuda/attention.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kRows = 64, kThreads = 128, kQueries = 32, kPlainRows = 4, kDeltaRows = 32, kMaxWidth = 256,
              kDeltaSlot = 0;
// Sizes that the kernels for warpgroups have in cuda/heads_groups.h too.
constexpr int kGroupRows = 128, kGroupThreads = 256, kStepRows = 64, kBuffers = 3;

// Checked sizes of both variants.
cuda::Attention attention_of(const Tensor& q, const Tensor& k, const Tensor& cu_seqlens, int32_t heads,
    int32_t kv_heads, float scale, float cap, int32_t window) {
  if (heads % kv_heads) throw std::runtime_error("heads must be a multiple of kv_heads");
  if (window < 0) throw std::runtime_error("a window must not be negative");
  cuda::Attention p{};
  p.cu_seqlens = data_of<int32_t>(cu_seqlens);
  p.documents = int32_t(cu_seqlens.dims[0] - 1);
  p.tokens = int32_t(q.dims[0]);
  p.heads = heads;
  p.kv_heads = kv_heads;
  p.width = int32_t(q.dims[1] / heads);
  p.window = window;
  p.scale = scale;
  p.cap = cap;
  p.dtype = q.dtype;
  p.q_stride = int32_t(q.dims[1]);
  p.k_stride = int32_t(k.dims[1]);
  if (p.width > kMaxWidth) throw std::runtime_error("heads are wider than 256");
  return p;
}

bool is_for_tiles(const cuda::Attention& p) {
  return p.dtype == Dtype::bf16 && p.width % 8 == 0 && p.width <= 128 && p.cap == 0;
}

// Maximum tiles of documents' rows: each tile that is not full ends a document.
int64_t max_tiles(const cuda::Attention& p, int rows) {
  return std::min<int64_t>(p.tokens, p.tokens / rows + p.documents);
}

int padded_width(const cuda::Attention& p) { return p.width <= 64 ? 64 : 128; }
std::string name_of(const char* pass, const cuda::Attention& p) {
  return std::string(pass) + (padded_width(p) == 64 ? "_64" : "_128");
}

bool is_for_groups(const DeviceCall& call) {
  return call.device().capability == 90 && !call.device().is_classic;
}

void launch_plain(DeviceCall& call, const char* kernel, const cuda::Attention& p, int64_t heads) {
  call.launch("attention_plain", kernel, {blocks_of(p.tokens, kPlainRows), heads}, kThreads, p,
      kPlainRows * 2 * p.width * 4);
}

}  // namespace

void attention(DeviceCall& call) {
  const auto attrs = AttentionAttrs::read(call.attrs);
  const Tensor &q = *call.in[attention_in::q], &k = *call.in[attention_in::k];
  const Tensor* sinks = call.in[attention_in::sinks];
  cuda::Attention p = attention_of(
      q, k, *call.in[attention_in::cu_seqlens], attrs.heads, attrs.kv_heads, attrs.scale, attrs.softcap,
      attrs.window);
  p.q = q.data;
  p.k = k.data;
  p.v = call.in[attention_in::v]->data;
  p.y = call.out[attention_out::y]->data;
  p.lse = data_of<float>(call.out[attention_out::lse]);
  if (sinks) p.sinks = sinks->data, p.sinks_dtype = sinks->dtype;
  if (!is_for_tiles(p)) return launch_plain(call, "attention_plain", p, p.heads);
  const int row = padded_width(p) * 2;
  if (is_for_groups(call))
    return call.launch("attention_wgmma", name_of("attention_wgmma", p).c_str(),
        {p.heads, max_tiles(p, kGroupRows)}, kGroupThreads, p, (kGroupRows + 4 * kStepRows) * row);
  call.launch("attention", name_of("attention", p).c_str(), {p.heads, max_tiles(p, kRows)}, kThreads, p,
      3 * kRows * row);
}

void attention_grad(DeviceCall& call) {
  const auto attrs = AttentionGradAttrs::read(call.attrs);
  const auto in = [&](int i) -> const Tensor& { return *call.in[i]; };
  cuda::Attention p = attention_of(in(attention_grad_in::q), in(attention_grad_in::k),
      in(attention_grad_in::cu_seqlens), attrs.heads, attrs.kv_heads, attrs.scale, attrs.softcap,
      attrs.window);
  p.q = in(attention_grad_in::q).data;
  p.k = in(attention_grad_in::k).data;
  p.v = in(attention_grad_in::v).data;
  p.y = in(attention_grad_in::y).data;
  p.dy = in(attention_grad_in::dy).data;
  p.lse = data_of<float>(in(attention_grad_in::lse));
  p.dq = call.out[attention_grad_out::dq]->data;
  p.dk = call.out[attention_grad_out::dk]->data;
  p.dv = call.out[attention_grad_out::dv]->data;
  p.delta = call.scratch<float>(kDeltaSlot, int64_t(p.heads) * p.tokens);
  if (!is_for_tiles(p)) {
    launch_plain(call, "attention_delta_plain", p, p.heads);
    launch_plain(call, "attention_dq_plain", p, p.heads);
    return launch_plain(call, "attention_dkv_plain", p, p.kv_heads);
  }
  call.launch(
      "attention_grad", "attention_delta", {blocks_of(p.tokens, kDeltaRows), p.heads}, kThreads, p);
  const int row = padded_width(p) * 2;
  if (is_for_groups(call)) {
    const int shared = (2 * kGroupRows + kBuffers * 2 * kStepRows) * row;
    const int64_t tiles = max_tiles(p, kGroupRows);
    call.launch("attention_grad_wgmma", name_of("attention_dq_wgmma", p).c_str(), {p.heads, tiles},
        kGroupThreads, p, shared);
    call.launch("attention_grad_wgmma", name_of("attention_dkv_wgmma", p).c_str(), {p.kv_heads, tiles},
        kGroupThreads, p, shared + kBuffers * 2 * kStepRows * 4);
    return;
  }
  const int64_t tiles = max_tiles(p, kRows);
  call.launch("attention_grad", name_of("attention_dq", p).c_str(), {p.heads, tiles}, kThreads, p,
      6 * kRows * row);
  call.launch("attention_grad", name_of("attention_dkv", p).c_str(), {p.kv_heads, tiles}, kThreads, p,
      2 * kRows * row + 2 * kQueries * (2 * row + 8));
}

void sinks_grad(DeviceCall& call) {
  const auto in = [&](int i) -> const Tensor& { return *call.in[i]; };
  const Tensor &y = in(sinks_grad_in::y), &sinks = in(sinks_grad_in::sinks);
  const int32_t heads = SinksGradAttrs::read(call.attrs).heads;
  const cuda::SinksGrad p{in(sinks_grad_in::dy).data, y.data, data_of<float>(in(sinks_grad_in::lse)),
      sinks.data, data_of<float>(call.out[sinks_grad_out::dsinks]), int32_t(y.dims[0]), heads,
      int32_t(y.dims[1] / heads), y.dtype, sinks.dtype, 0};
  call.launch("attention_plain", "sinks_grad", {heads}, 256, p);
}

}  // namespace cairn::device
