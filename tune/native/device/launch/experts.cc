// route, expert_order, expert_rows, expert_adapters, combine, expert_bias_grad, balance and their gradients.
#include "../../cuda/experts.h"

#include <stdexcept>

#include "../../cuda/rows.h"
#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256, kRowsOfBlock = kThreads / 32, kMaxExperts = 1024, kRowsPerSum = 64;
constexpr const char* kNoExpert = "a choice is of no expert";

}  // namespace

void route(DeviceCall& call) {
  const Tensor& logits = *call.in[route_in::logits];
  const auto attrs = RouteAttrs::read(call.attrs);
  if (attrs.top_k > logits.dims[1])
    throw std::runtime_error("there are fewer experts than choices of a token");
  if (logits.dims[1] > kMaxExperts) throw std::runtime_error("there are more than 1024 experts");
  cuda::Route p{};
  p.logits = logits.data;
  p.weights = data_of<float>(call.out[route_out::weights]);
  p.ids = data_of<int32_t>(call.out[route_out::ids]);
  p.softmax_over_all = attrs.softmax_over_all;
  p.sigmoid = attrs.sigmoid;
  p.tokens = int32_t(logits.dims[0]);
  p.experts = int32_t(logits.dims[1]);
  p.top_k = attrs.top_k;
  p.dtype = logits.dtype;
  call.launch("experts", "route", {blocks_of(p.tokens, kRowsOfBlock)}, kThreads, p);
}

void route_grad(DeviceCall& call) {
  const Tensor &logits = *call.in[route_grad_in::logits], &ids = *call.in[route_grad_in::ids];
  cuda::Route p{};
  p.logits = logits.data;
  p.weights = data_of<float>(call.in[route_grad_in::weights]);
  p.ids = data_of<int32_t>(ids);
  p.dweights = data_of<float>(call.in[route_grad_in::dweights]);
  p.dlogits = call.out[route_grad_out::dlogits]->data;
  p.fault = call.fault_word();
  p.fault_code = call.fault(kNoExpert);
  const auto attrs = RouteGradAttrs::read(call.attrs);
  p.softmax_over_all = attrs.softmax_over_all;
  p.sigmoid = attrs.sigmoid;
  p.tokens = int32_t(logits.dims[0]);
  p.experts = int32_t(logits.dims[1]);
  p.top_k = int32_t(ids.dims[1]);
  p.dtype = logits.dtype;
  call.launch("experts", "route_grad", {blocks_of(p.tokens, kRowsOfBlock)}, kThreads, p);
}

void expert_order(DeviceCall& call) {
  const Tensor& ids = *call.in[expert_order_in::ids];
  const int32_t experts = ExpertOrderAttrs::read(call.attrs).experts;
  const cuda::ExpertOrder p{data_of<int32_t>(ids), call.scratch<int32_t>(0, experts),
      data_of<int32_t>(call.out[expert_order_out::ends]),
      data_of<int32_t>(call.out[expert_order_out::tokens]),
      data_of<int32_t>(call.out[expert_order_out::places]), call.fault_word(), call.fault(kNoExpert),
      int32_t(ids.count), experts, int32_t(ids.dims[1])};
  call.launch("experts", "count_choices", {experts}, kThreads, p);
  call.launch("experts", "place_choices", {experts}, 32, p);
}

void expert_rows(DeviceCall& call) {
  const Tensor &x = *call.in[expert_rows_in::x], &tokens = *call.in[expert_rows_in::tokens];
  call.launch("rows", "gather_rows", {tokens.count}, kThreads,
      cuda::GatherRows{x.data, data_of<int32_t>(tokens), call.out[expert_rows_out::y]->data,
          call.fault_word(), tokens.count, x.dims[1], x.dims[0], call.fault("a row lies outside x"),
          x.dtype});
}

void expert_adapters(DeviceCall& call) {
  const Tensor &tokens = *call.in[expert_adapters_in::tokens], &ends = *call.in[expert_adapters_in::ends],
               &adapters = *call.in[expert_adapters_in::adapters];
  const cuda::ExpertAdapters p{data_of<int32_t>(adapters), data_of<int32_t>(tokens), data_of<int32_t>(ends),
      data_of<int32_t>(call.out[expert_adapters_out::y]), call.fault_word(),
      call.fault("a row is of no token"), int32_t(tokens.count), int32_t(ends.count),
      ExpertAdaptersAttrs::read(call.attrs).slots, int32_t(adapters.count), 0};
  call.launch("experts", "expert_adapters", {blocks_of(tokens.count, kThreads)}, kThreads, p);
}

void combine(DeviceCall& call) {
  const Tensor &z = *call.in[combine_in::z], &places = *call.in[combine_in::places],
               &y = *call.out[combine_out::y];
  const Tensor* addend = call.in[combine_in::addend];
  cuda::Combine p{};
  p.z = z.data;
  p.places = data_of<int32_t>(places);
  p.weights = data_of<float>(call.in[combine_in::weights]);
  if (addend) p.addend = addend->data, p.addend_dtype = addend->dtype;
  p.y = y.data;
  p.fault = call.fault_word();
  p.fault_code = call.fault("a place lies outside z");
  p.columns = z.dims[1];
  p.top_k = int32_t(places.dims[1]);
  p.rows = int32_t(z.dims[0]);
  p.z_dtype = z.dtype;
  p.y_dtype = y.dtype;
  call.launch("experts", "combine", {places.dims[0]}, kThreads, p);
}

void combine_grad(DeviceCall& call) {
  const Tensor &z = *call.in[combine_grad_in::z], &places = *call.in[combine_grad_in::places],
               &dy = *call.in[combine_grad_in::dy];
  cuda::Combine p{};
  p.z = z.data;
  p.places = data_of<int32_t>(places);
  p.weights = data_of<float>(call.in[combine_grad_in::weights]);
  p.dy = dy.data;
  p.dz = call.out[combine_grad_out::dz]->data;
  p.dweights = data_of<float>(call.out[combine_grad_out::dweights]);
  p.fault = call.fault_word();
  p.fault_code = call.fault("a place lies outside z");
  p.columns = z.dims[1];
  p.top_k = int32_t(places.dims[1]);
  p.rows = int32_t(z.dims[0]);
  p.z_dtype = z.dtype;
  p.y_dtype = dy.dtype;
  call.launch("experts", "combine_grad", {places.count}, kThreads, p);
}

void expert_bias_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[expert_bias_grad_in::dy], &ends = *call.in[expert_bias_grad_in::ends];
  const cuda::ExpertBiasGrad p{dy.data, data_of<int32_t>(ends),
      data_of<float>(call.out[expert_bias_grad_out::dbias]), int32_t(ends.count), int32_t(dy.dims[1]),
      int32_t(dy.dims[0]), dy.dtype};
  call.launch("experts", "expert_bias_grad", {blocks_of(dy.dims[1], kThreads), ends.count}, kThreads, p);
}

void balance_sums(DeviceCall& call) {
  const Tensor &logits = *call.in[balance_sums_in::logits], &ids = *call.in[balance_sums_in::ids];
  cuda::Balance p{};
  p.logits = logits.data;
  p.ids = data_of<int32_t>(ids);
  p.counted = data_of<int32_t>(call.in[balance_sums_in::counted]);
  p.sums = data_of<float>(call.out[balance_sums_out::sums]);
  p.tokens = int32_t(logits.dims[0]);
  p.experts = int32_t(logits.dims[1]);
  p.top_k = int32_t(ids.dims[1]);
  p.spans = int32_t(blocks_of(p.tokens, kRowsPerSum));
  p.dtype = logits.dtype;
  p.partial = call.scratch<float>(0, int64_t(p.spans) * 2 * p.experts + 1);
  call.launch("experts", "balance_spans", {p.spans}, 32, p);
  call.launch("experts", "balance_sums", {blocks_of(2 * p.experts, kThreads)}, kThreads, p);
}

void balance_sums_grad(DeviceCall& call) {
  const Tensor& logits = *call.in[balance_sums_grad_in::logits];
  cuda::Balance p{};
  p.logits = logits.data;
  p.counted = data_of<int32_t>(call.in[balance_sums_grad_in::counted]);
  p.dsums = data_of<float>(call.in[balance_sums_grad_in::dsums]);
  p.dlogits = call.out[balance_sums_grad_out::dlogits]->data;
  p.tokens = int32_t(logits.dims[0]);
  p.experts = int32_t(logits.dims[1]);
  p.dtype = logits.dtype;
  call.launch("experts", "balance_sums_grad", {blocks_of(p.tokens, kRowsOfBlock)}, kThreads, p);
}

void balance_loss(DeviceCall& call) {
  const auto attrs = BalanceLossAttrs::read(call.attrs);
  const Tensor& sums = *call.in[balance_loss_in::sums];
  const cuda::BalanceLoss p{data_of<float>(sums), data_of<float>(call.in[balance_loss_in::scale]),
      data_of<float>(call.out[balance_loss_out::loss]), data_of<float>(call.out[balance_loss_out::dsums]),
      int32_t(sums.dims[1]), attrs.top_k, attrs.coefficient, 0};
  call.launch("experts", "balance_loss", {1}, 1, p);
}

}  // namespace cairn::device
