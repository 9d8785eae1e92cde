// quantize into each stored dtype.
#include "../../cuda/quantize.h"

#include "../../cpu/dynamic_map.h"
#include "../../cuda/spans.h"
#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256;

// The largest magnitude of all of x, for formats with a scale of the whole tensor.
void find_amax(DeviceCall& call, cuda::Quantize& params) {
  params.spans = blocks_of(params.count, cuda::kSpan);
  params.partial = call.scratch<float>(0, params.spans + 1);
  params.amax = call.scratch<float>(1, 1);
  call.launch("quantize", "quantize_spans", {params.spans}, kThreads, params);
  call.launch("quantize", "quantize_amax", {1}, kThreads, params);
}

void nf4(DeviceCall& call, cuda::Quantize& params) {
  const int64_t blocks = params.count / kNf4Block;
  params.scales = call.scratch<float>(0, blocks);
  call.launch("quantize", "quantize_nf4", {blocks_of(blocks, kThreads)}, kThreads, params);
  call.launch("quantize", "quantize_nf4_offset", {1}, kThreads, params);
  cuda::QuantizeScales scales{params, {}};
  dynamic_map(true, scales.map);
  call.launch("quantize", "quantize_nf4_scales", {blocks_of(blocks, kNf4Group)}, int(kNf4Group), scales);
}

}  // namespace

void quantize(DeviceCall& call) {
  const Tensor &x = *call.in[quantize_in::x], &y = *call.out[quantize_out::y];
  const cuda::Stored stored = stored_of(y);
  cuda::Quantize params{};
  params.x = x.data;
  for (int i = 0; i < 5; i++) params.part[i] = const_cast<void*>(stored.part[i]);
  params.rows = x.dims[0];
  params.columns = x.dims[1];
  params.count = x.count;
  params.dtype = x.dtype;
  const auto launch = [&](const char* kernel, int64_t items) {
    call.launch("quantize", kernel, {blocks_of(items, kThreads)}, kThreads, params);
  };
  switch (y.dtype) {
    case Dtype::bf16_vnni:
      return launch("quantize_bf16_vnni", blocks_of(x.dims[0], kVnniRows) * kVnniRows * x.dims[1] / 2);
    case Dtype::fp8_tiles:
      return call.launch("quantize", "quantize_fp8_tiles",
          {blocks_of(x.dims[0], kFp8Tile) * blocks_of(x.dims[1], kFp8Tile)}, kThreads, params);
    case Dtype::fp8_tensor:
      find_amax(call, params);
      return launch("quantize_fp8_tensor", x.count);
    case Dtype::nvfp4:
      find_amax(call, params);
      return launch("quantize_nvfp4", x.count / kNvfp4Block);
    case Dtype::mxfp4:
      return launch("quantize_mxfp4", x.count / kMxfp4Block);
    case Dtype::nf4:
      return nf4(call, params);
    default:
      return cast(call);
  }
}

}  // namespace cairn::device
