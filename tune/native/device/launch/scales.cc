// amax, its history, and sum_squares.
#include "../../cuda/scales.h"

#include "../../cuda/spans.h"
#include "launchers.h"

namespace cairn::device {

namespace {

// kBlocksOfPart blocks share the spans of a part: adapters of rank 16 have one to twelve.
constexpr int kThreads = 256, kBlocksOfPart = 8;

void reduce(DeviceCall& call, const char* spans_kernel, const char* last_kernel) {
  const Tensor& x = *call.in[0];
  const int64_t spans = blocks_of(x.count, cuda::kSpan);
  const cuda::Reduce params{
      x.data, call.scratch<float>(0, spans + 1), data_of<float>(call.out[0]), x.count, spans, x.dtype};
  call.launch("scales", spans_kernel, {spans}, kThreads, params);
  call.launch("scales", last_kernel, {1}, kThreads, params);
}

void sum_parts(DeviceCall& call, const Tensor& x, const Tensor& ends) {
  const int64_t parts = ends.dims[0];
  const cuda::SquaresOfParts params{x.data, data_of<int32_t>(ends),
      call.scratch<float>(0, blocks_of(x.count, cuda::kSpan) + parts), call.scratch<float>(1, parts),
      call.counters(1), data_of<float>(call.out[sum_squares_out::y]), call.fault_word(), x.count, parts,
      call.fault("parts must ascend within x"), x.dtype};
  call.launch("scales", "squares_of_parts", {parts, kBlocksOfPart}, kThreads, params);
  call.launch("scales", "sum_of_parts", {parts}, kThreads, params);
}

}  // namespace

void amax(DeviceCall& call) { reduce(call, "amax", "amax_of_spans"); }
void sum_squares(DeviceCall& call) {
  const Tensor* parts = call.in[sum_squares_in::parts];
  if (parts) sum_parts(call, *call.in[sum_squares_in::x], *parts);
  else reduce(call, "sum_squares", "sum_of_spans");
}

void delayed_amax(DeviceCall& call) {
  const Tensor& history = *call.in[delayed_amax_in::history];
  const cuda::History params{data_of<float>(history), data_of<float>(call.in[delayed_amax_in::amax]),
      data_of<float>(call.out[delayed_amax_out::y]), history.count};
  call.launch("scales", "delayed_amax", {1}, 1, params);
}

void observe_amax(DeviceCall& call) {
  const Tensor& y = *call.out[observe_amax_out::y];
  const cuda::History params{
      nullptr, data_of<float>(call.in[observe_amax_in::amax]), data_of<float>(y), y.count};
  call.launch("scales", "observe_amax", {1}, 1, params);
}

void roll_amax(DeviceCall& call) {
  const Tensor& y = *call.out[roll_amax_out::y];
  const cuda::History params{nullptr, nullptr, data_of<float>(y), y.count};
  call.launch("scales", "roll_amax", {1}, 1, params);
}

}  // namespace cairn::device
