// lora_delta.
#include "../../cuda/lora.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

void lora_delta(DeviceCall& call) {
  const Tensor &x = *call.in[lora_delta_in::x], &a = *call.in[lora_delta_in::a],
               &b = *call.in[lora_delta_in::b];
  const Tensor* addend = call.in[lora_delta_in::addend];
  if (a.dtype != b.dtype) throw std::runtime_error("a and b must be stored alike");
  const int64_t rows = x.dims[0], k = x.dims[1], rank = a.dims[1], n = b.dims[2];
  const cuda::LoraDelta params{x.data, a.data, b.data, data_of<int32_t>(call.in[lora_delta_in::adapters]),
      data_of<float>(call.in[lora_delta_in::ranks]), data_of<void>(addend),
      call.scratch<float>(0, rows * rank), data_of<float>(call.out[lora_delta_out::y]), call.fault_word(),
      rows, k, n, rank, a.dims[0], call.fault("a row names an adapter that does not exist"),
      call.fault("an adapter's rank lies outside its slot"),
      LoraDeltaAttrs::read(call.attrs).arithmetic == Arithmetic::bf16, x.dtype, a.dtype,
      addend ? addend->dtype : Dtype::f32};
  constexpr int kThreads = 256;
  call.launch("lora", "lora_shrink", {rows}, kThreads, params);
  call.launch("lora", "lora_expand", {rows, blocks_of(n, kThreads)}, kThreads, params);
}

}  // namespace cairn::device
