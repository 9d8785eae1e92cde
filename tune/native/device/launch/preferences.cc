// Sums over sequences, their gradient, and preference losses.
#include "../../cuda/preferences.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256;
constexpr const char* kOutside = "a segment lies outside the sums";

}  // namespace

void segment_sums(DeviceCall& call) {
  const Tensor &x = *call.in[segment_sums_in::x], &y = *call.out[segment_sums_out::y];
  const cuda::Segments params{data_of<float>(x), data_of<int32_t>(call.in[segment_sums_in::segments]),
      data_of<float>(y), call.fault_word(), x.count, y.count, call.fault(kOutside), 0};
  call.launch("preferences", "segment_sums", {y.count}, kThreads, params);
}

void segment_sums_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[segment_sums_grad_in::dy], &dx = *call.out[segment_sums_grad_out::dx];
  const cuda::Segments params{data_of<float>(dy), data_of<int32_t>(call.in[segment_sums_grad_in::segments]),
      data_of<float>(dx), call.fault_word(), dx.count, dy.count, call.fault(kOutside), 0};
  call.launch("preferences", "segment_sums_grad", {blocks_of(dx.count, kThreads)}, kThreads, params);
}

void dpo_loss(DeviceCall& call) {
  const auto attrs = DpoLossAttrs::read(call.attrs);
  if (attrs.kind < 0 || attrs.kind > 2) throw std::runtime_error("kind must be 0, 1 or 2");
  cuda::PreferenceLoss params{};
  params.scores = data_of<float>(call.in[dpo_loss_in::scores]);
  params.reference = data_of<float>(call.in[dpo_loss_in::reference]);
  params.weights = data_of<float>(call.in[dpo_loss_in::weights]);
  params.lengths = data_of<float>(call.in[dpo_loss_in::lengths]);
  params.loss = data_of<float>(call.out[dpo_loss_out::loss]);
  params.dscores = data_of<float>(call.out[dpo_loss_out::dscores]);
  params.count = call.in[dpo_loss_in::weights]->count;
  params.kind = attrs.kind;
  params.beta = attrs.beta;
  params.smoothing = attrs.label_smoothing;
  call.launch("preferences", "dpo_loss", {1}, kThreads, params);
}

void kto_loss(DeviceCall& call) {
  cuda::PreferenceLoss params{};
  params.scores = data_of<float>(call.in[kto_loss_in::scores]);
  params.reference = data_of<float>(call.in[kto_loss_in::reference]);
  params.weights = data_of<float>(call.in[kto_loss_in::weights]);
  params.baseline = data_of<float>(call.in[kto_loss_in::baseline]);
  params.loss = data_of<float>(call.out[kto_loss_out::loss]);
  params.dscores = data_of<float>(call.out[kto_loss_out::dscores]);
  params.count = call.in[kto_loss_in::weights]->count;
  params.beta = KtoLossAttrs::read(call.attrs).beta;
  call.launch("preferences", "kto_loss", {1}, kThreads, params);
}

void orpo_loss(DeviceCall& call) {
  cuda::PreferenceLoss params{};
  params.scores = data_of<float>(call.in[orpo_loss_in::scores]);
  params.lengths = data_of<float>(call.in[orpo_loss_in::lengths]);
  params.weights = data_of<float>(call.in[orpo_loss_in::weights]);
  params.likelihood = data_of<float>(call.in[orpo_loss_in::likelihood]);
  params.shares = data_of<float>(call.in[orpo_loss_in::shares]);
  params.loss = data_of<float>(call.out[orpo_loss_out::loss]);
  params.dscores = data_of<float>(call.out[orpo_loss_out::dscores]);
  params.dlikelihood = data_of<float>(call.out[orpo_loss_out::dlikelihood]);
  params.count = call.in[orpo_loss_in::weights]->count;
  params.beta = OrpoLossAttrs::read(call.attrs).beta;
  call.launch("preferences", "orpo_loss", {1}, kThreads, params);
}

}  // namespace cairn::device
