// head_loss and token_logps: logits exist for `chunk` rows at a time.
#include "../../cuda/head.h"

#include <algorithm>
#include <stdexcept>

#include "launchers.h"
#include "multiply.h"

namespace cairn::device {

namespace {

// Slots of the scratch besides those of products.
enum : int { kLogits = 0, kRows = 1, kGrads = 2, kLive = 3 };
constexpr int kThreads = 256;
constexpr const char* kOutside = "a target lies outside the vocabulary";

int64_t size_of(Dtype dtype) { return dtype == Dtype::bf16 ? 2 : 4; }
char* row_of(const Tensor& t, int64_t row) { return t.data + row * t.dims[1] * size_of(t.dtype); }

struct Head {
  const Tensor &x, &weight, &targets;
  Arithmetic arithmetic;
  int64_t chunk;
  float scale, cap;  // of logits

  // A scale of 0 means none.
  Head(const Tensor& x, const Tensor& weight, const Tensor& targets, Arithmetic arithmetic, int64_t chunk,
      float scale, float cap)
      : x(x), weight(weight), targets(targets), arithmetic(arithmetic), chunk(chunk),
        scale(scale == 0 ? 1 : scale), cap(cap) {
    if (chunk < 1) throw std::runtime_error("chunk must be at least 1");
  }
  int64_t tokens() const { return x.dims[0]; }
  int64_t columns() const { return x.dims[1]; }
  int64_t vocab() const { return weight.dims[0]; }
  int64_t max_rows() const { return std::min(chunk, tokens()); }
  int64_t rows_from(int64_t first) const { return std::min(chunk, tokens() - first); }
  Dtype logits_dtype() const { return arithmetic == Arithmetic::bf16 ? Dtype::bf16 : Dtype::f32; }
  int64_t row_bytes() const { return columns() * size_of(x.dtype); }

  // logits = x·weightᵀ; rows · weight; and the product of the logits' gradients that gives the weight's.
  MatmulSpec logits(const void* rows_of_x, int64_t rows, void* to) const {
    return {Form::nt, rows, vocab(),
        {{floats_at(rows_of_x, x.dtype, rows, columns()), matrix_of(weight)}, {}}, arithmetic, scale, nullptr,
        nullptr, to, logits_dtype()};
  }
  MatmulSpec back(const void* grads, int64_t rows, void* to) const {
    return {Form::nn, rows, columns(),
        {{floats_at(grads, logits_dtype(), rows, vocab()), matrix_of(weight)}, {}}, arithmetic, scale,
        nullptr, nullptr, to, x.dtype};
  }
  MatmulSpec weight_grad(
      const void* grads, const void* rows_of_x, int64_t rows, const Tensor* so_far, const Tensor& to) const {
    return {Form::tn, vocab(), columns(),
        {{floats_at(grads, logits_dtype(), rows, vocab()),
             floats_at(rows_of_x, x.dtype, rows, columns())},
            {}},
        arithmetic, scale, nullptr, so_far, to.data, to.dtype};
  }
};

void run_head_loss(DeviceCall& call, const Head& h, const Tensor* dweight) {
  const Tensor &losses = *call.out[head_loss_out::losses], &dx = *call.out[head_loss_out::dx];
  char* logits = call.scratch(kLogits, h.max_rows() * h.vocab() * size_of(h.logits_dtype()));
  // The first chunk is the longest; the last may be divided differently.
  const int64_t last = std::max<int64_t>(0, h.tokens() - 1) / h.chunk * h.chunk;
  const MatmulSpec ways[] = {h.logits(h.x.data, h.max_rows(), logits), h.back(logits, h.max_rows(), dx.data),
      h.logits(h.x.data, h.rows_from(last), logits), h.back(logits, h.rows_from(last), dx.data),
      h.weight_grad(logits, h.x.data, h.max_rows(), nullptr, dweight ? *dweight : dx),
      h.weight_grad(logits, h.x.data, h.rows_from(last), nullptr, dweight ? *dweight : dx)};
  const Workspace workspace =
      dweight ? workspace_of(call, {&ways[0], &ways[1], &ways[2], &ways[3], &ways[4], &ways[5]})
              : workspace_of(call, {&ways[0], &ways[1], &ways[2], &ways[3]});
  for (int64_t first = 0; first < h.tokens(); first += h.chunk) {
    const int64_t rows = h.rows_from(first);
    multiply(call, h.logits(row_of(h.x, first), rows, logits), workspace);
    cuda::LogitRows params{};
    params.logits = logits;
    params.targets = data_of<int32_t>(h.targets);
    params.losses = data_of<float>(losses);
    params.fault = call.fault_word();
    params.fault_code = call.fault(kOutside);
    params.first = int32_t(first);
    params.vocab = int32_t(h.vocab());
    params.cap = h.cap;
    params.dtype = h.logits_dtype();
    call.launch("head", "loss_rows", {rows}, kThreads, params);
    multiply(call, h.back(logits, rows, row_of(dx, first)), workspace);
    if (dweight)
      multiply(call, h.weight_grad(logits, row_of(h.x, first), rows, first > 0 ? dweight : nullptr, *dweight),
          workspace);
  }
  call.launch("head", "sum_losses", {1}, kThreads,
      cuda::LossSum{data_of<float>(losses), data_of<float>(call.out[head_loss_out::loss]), h.tokens()});
}

// Rows with a target, found on the card: their number is data, so chunks beyond them do nothing.
struct LiveHead {
  const int32_t* live;
  const int32_t* count;
  char *rows, *logits, *grads;
  Workspace workspace;
  cuda::LogitRows params{};

  LiveHead(DeviceCall& call, const Head& h, bool has_grad) {
    int32_t* found = call.scratch<int32_t>(kLive, h.tokens() + 1);
    live = found;
    count = found + h.tokens();
    rows = call.scratch(kRows, h.max_rows() * h.row_bytes());
    logits = call.scratch(kLogits, h.max_rows() * h.vocab() * size_of(h.logits_dtype()));
    grads = has_grad ? call.scratch(kGrads, h.max_rows() * h.row_bytes()) : nullptr;
    const MatmulSpec forward = logits_of(h, 0), back = grads_of(h, 0);
    workspace = has_grad ? workspace_of(call, {&forward, &back}) : workspace_of(call, {&forward});
    params.logits = logits;
    params.targets = data_of<int32_t>(h.targets);
    params.live = live;
    params.live_count = count;
    params.vocab = int32_t(h.vocab());
    params.cap = h.cap;
    params.dtype = h.logits_dtype();
    call.launch("head", "find_live_rows", {1}, 32,
        cuda::LiveRows{params.targets, found, found + h.tokens(), call.fault_word(), call.fault(kOutside),
            int32_t(h.tokens()), params.vocab, 0});
  }

  MatmulSpec logits_of(const Head& h, int64_t first) const {
    MatmulSpec p = h.logits(rows, h.max_rows(), logits);
    p.live_rows = count;
    p.first_row = int32_t(first);
    return p;
  }
  MatmulSpec grads_of(const Head& h, int64_t first) const {
    MatmulSpec p = h.back(logits, h.max_rows(), grads);
    p.live_rows = count;
    p.first_row = int32_t(first);
    return p;
  }

  cuda::MovedRows moved(const Head& h, const void* from, void* to, int64_t first) const {
    return {static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to), live, count, h.row_bytes() / 2,
        int32_t(first), 0};
  }

  void make_logits(DeviceCall& call, const Head& h, int64_t first) {
    call.launch("head", "gather_live", {h.max_rows()}, kThreads, moved(h, h.x.data, rows, first));
    multiply(call, logits_of(h, first), workspace);
    params.first = int32_t(first);
  }
};

}  // namespace

void head_loss(DeviceCall& call) {
  const auto attrs = HeadLossAttrs::read(call.attrs);
  run_head_loss(call,
      {*call.in[head_loss_in::x], *call.in[head_loss_in::weight], *call.in[head_loss_in::targets],
          attrs.arithmetic, attrs.chunk, attrs.scale, attrs.softcap},
      nullptr);
}

void head_loss_trained(DeviceCall& call) {
  const auto attrs = HeadLossTrainedAttrs::read(call.attrs);
  run_head_loss(call,
      {*call.in[head_loss_trained_in::x], *call.in[head_loss_trained_in::weight],
          *call.in[head_loss_trained_in::targets], attrs.arithmetic, attrs.chunk, attrs.scale, attrs.softcap},
      call.out[head_loss_trained_out::dweight]);
}

void token_logps(DeviceCall& call) {
  const auto attrs = TokenLogpsAttrs::read(call.attrs);
  const Head h(*call.in[token_logps_in::x], *call.in[token_logps_in::weight],
      *call.in[token_logps_in::targets], attrs.arithmetic, attrs.chunk, attrs.scale, attrs.softcap);
  const Tensor &logps = *call.out[token_logps_out::logps], &lse = *call.out[token_logps_out::lse];
  call.clear(logps.data, h.tokens() * 4);
  call.clear(lse.data, h.tokens() * 4);
  LiveHead live(call, h, false);
  live.params.logps = data_of<float>(logps);
  live.params.lse = data_of<float>(lse);
  for (int64_t first = 0; first < h.tokens(); first += h.chunk) {
    live.make_logits(call, h, first);
    call.launch("head", "score_rows", {h.max_rows()}, kThreads, live.params);
  }
}

void token_logps_grad(DeviceCall& call) {
  const auto attrs = TokenLogpsGradAttrs::read(call.attrs);
  const Head h(*call.in[token_logps_grad_in::x], *call.in[token_logps_grad_in::weight],
      *call.in[token_logps_grad_in::targets], attrs.arithmetic, attrs.chunk, attrs.scale, attrs.softcap);
  const Tensor& dx = *call.out[token_logps_grad_out::dx];
  call.clear(dx.data, h.tokens() * h.row_bytes());
  LiveHead live(call, h, true);
  live.params.dlogps = data_of<float>(call.in[token_logps_grad_in::dlogps]);
  live.params.lse = data_of<float>(call.in[token_logps_grad_in::lse]);
  for (int64_t first = 0; first < h.tokens(); first += h.chunk) {
    live.make_logits(call, h, first);
    call.launch("head", "grad_rows", {h.max_rows()}, kThreads, live.params);
    multiply(call, live.grads_of(h, first), live.workspace);
    call.launch("head", "scatter_live", {h.max_rows()}, kThreads, live.moved(h, live.grads, dx.data, first));
  }
}

}  // namespace cairn::device
