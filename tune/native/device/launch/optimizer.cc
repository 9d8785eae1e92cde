// clip_factor, adamw, adamw_8bit.
#include "../../cuda/optimizer.h"

#include "../../cpu/dynamic_map.h"
#include "launchers.h"

namespace cairn::device {

namespace {
constexpr int kThreads = 256;
}

void clip_factor(DeviceCall& call) {
  const cuda::ClipFactor params{data_of<float>(call.in[clip_factor_in::sum_squares]),
      data_of<float>(call.in[clip_factor_in::count]), data_of<float>(call.out[clip_factor_out::factor]),
      data_of<float>(call.out[clip_factor_out::norm]), ClipFactorAttrs::read(call.attrs).max_norm};
  call.launch("optimizer", "clip_factor", {1}, 1, params);
}

void adamw(DeviceCall& call) {
  const Tensor& g = *call.in[adamw_in::g];
  const auto attrs = AdamwAttrs::read(call.attrs);
  const cuda::Adamw params{data_of<float>(call.in[adamw_in::p]), g.data, data_of<float>(call.in[adamw_in::m]),
      data_of<float>(call.in[adamw_in::v]), data_of<float>(call.in[adamw_in::factor]),
      data_of<float>(call.in[adamw_in::schedule]), data_of<float>(call.out[adamw_out::p_next]),
      data_of<float>(call.out[adamw_out::m_next]), data_of<float>(call.out[adamw_out::v_next]), g.count,
      attrs.beta1, attrs.beta2, attrs.eps, attrs.weight_decay, g.dtype};
  call.launch("optimizer", "adamw", {blocks_of(g.count, kThreads * 4)}, kThreads, params);
}

void adamw_8bit(DeviceCall& call) {
  const Tensor &g = *call.in[adamw_8bit_in::g], &m = *call.out[adamw_8bit_out::m_next],
               &v = *call.out[adamw_8bit_out::v_next];
  const auto attrs = Adamw8bitAttrs::read(call.attrs);
  const auto scales_of = [](const Tensor& t) {
    return reinterpret_cast<float*>(t.data + layout_of(t.dtype, t.count, 1, t.count).offset[1]);
  };
  cuda::Adamw8 params{data_of<float>(call.out[adamw_8bit_out::p_next]), g.data, data_of<uint8_t>(m),
      data_of<uint8_t>(v), scales_of(m), scales_of(v), data_of<float>(call.in[adamw_8bit_in::factor]),
      data_of<float>(call.in[adamw_8bit_in::schedule]), g.count, attrs.beta1, attrs.beta2, attrs.eps,
      attrs.weight_decay, g.dtype, {}, {}};
  dynamic_map(true, params.m_map);
  dynamic_map(false, params.v_map);
  call.launch("optimizer", "adamw_8bit", {blocks_of(g.count, kDynamicBlock)}, int(kDynamicBlock), params);
}

}  // namespace cairn::device
