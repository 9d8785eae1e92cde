// The choice of experts for each token, the grouping of rows by expert, and the combination of the experts'
// outputs.
#include <stdexcept>

#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

inline float exp_one(float x) { return exp(splat(x))[0]; }

// Throws unless every number of a tensor is in [0, below).
inline void check_below(const Tensor& t, int64_t below, const char* what) {
  for (int64_t i = 0; i < t.count; i++)
    if (ints_of(t)[i] < 0 || ints_of(t)[i] >= below) throw std::runtime_error(what);
}

}  // namespace

// Finds choices one by one, each the largest remaining logit. Equal logits, and NaN, are ordered by id.
void route(Call& call) {
  const Tensor& logits = *call.in[route_in::logits];
  const auto attrs = RouteAttrs::read(call.attrs);
  const int64_t experts = logits.dims[1], top_k = attrs.top_k;
  if (top_k > experts) throw std::runtime_error("there are fewer experts than choices of a token");
  parallel_spans(call, logits.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *scratch = row_slot(call, thread, 0, experts), *taken = row_slot(call, thread, 1, experts);
    for (int64_t t = first; t < last; t++) {
      const float* row = read_row(logits, t * experts, experts, scratch);
      float* weights = floats_of(*call.out[route_out::weights]) + t * top_k;
      int32_t* ids = reinterpret_cast<int32_t*>(call.out[route_out::ids]->data) + t * top_k;
      std::memset(taken, 0, size_t(experts) * 4);
      for (int64_t j = 0; j < top_k; j++) {
        int64_t best = -1;
        for (int64_t e = 0; e < experts; e++)
          if (taken[e] == 0 && (best < 0 || row[e] > row[best])) best = e;
        taken[best] = 1;
        ids[j] = int32_t(best);
      }
      if (attrs.sigmoid) {
        for (int64_t j = 0; j < top_k; j++) weights[j] = 1.0f / (1.0f + exp_one(-row[ids[j]]));
        continue;
      }
      float sum = 0;
      const float maximum = row[ids[0]];
      for (int64_t j = 0; j < top_k; j++) weights[j] = exp_one(row[ids[j]] - maximum);
      if (attrs.softmax_over_all)
        for (int64_t e = 0; e < experts; e++) sum += exp_one(row[e] - maximum);
      else
        for (int64_t j = 0; j < top_k; j++) sum += weights[j];
      for (int64_t j = 0; j < top_k; j++) weights[j] /= sum;
    }
  });
}

void route_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 2, call.in[route_in::logits]->dims[1]);
}

void route_grad(Call& call) {
  const Tensor &logits = *call.in[route_grad_in::logits], &ids = *call.in[route_grad_in::ids],
               &dlogits = *call.out[route_grad_out::dlogits];
  const auto attrs = RouteGradAttrs::read(call.attrs);
  const int64_t experts = logits.dims[1], top_k = ids.dims[1];
  check_below(ids, experts, "a choice is of no expert");
  parallel_spans(call, logits.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *scratch = row_slot(call, thread, 0, experts), *out = row_slot(call, thread, 1, experts);
    for (int64_t t = first; t < last; t++) {
      const float *dw = floats_of(*call.in[route_grad_in::dweights]) + t * top_k,
                  *w = floats_of(*call.in[route_grad_in::weights]) + t * top_k;
      const int32_t* id = ints_of(ids) + t * top_k;
      float pull = 0;
      for (int64_t j = 0; j < top_k; j++) pull += w[j] * dw[j];
      std::memset(out, 0, size_t(experts) * 4);
      if (attrs.sigmoid) {
        for (int64_t j = 0; j < top_k; j++) out[id[j]] = w[j] * (1.0f - w[j]) * dw[j];
      } else if (attrs.softmax_over_all) {
        const float* row = read_row(logits, t * experts, experts, scratch);
        const float maximum = row[id[0]];
        float sum = 0;
        for (int64_t e = 0; e < experts; e++) sum += exp_one(row[e] - maximum);
        for (int64_t e = 0; e < experts; e++) out[e] = -exp_one(row[e] - maximum) / sum * pull;
        for (int64_t j = 0; j < top_k; j++) out[id[j]] += w[j] * dw[j];
      } else {
        for (int64_t j = 0; j < top_k; j++) out[id[j]] = w[j] * (dw[j] - pull);
      }
      write_row(dlogits, t * experts, experts, out);
    }
  });
}

void route_grad_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 2, call.in[route_grad_in::logits]->dims[1]);
}

// A counting sort.
void expert_order(Call& call) {
  const Tensor& ids = *call.in[expert_order_in::ids];
  const int64_t experts = ExpertOrderAttrs::read(call.attrs).experts, top_k = ids.dims[1];
  const auto out = [&](int i) { return reinterpret_cast<int32_t*>(call.out[i]->data); };
  int32_t *ends = out(expert_order_out::ends), *tokens = out(expert_order_out::tokens),
          *places = out(expert_order_out::places);
  check_below(ids, experts, "a choice is of no expert");
  std::memset(ends, 0, size_t(experts) * 4);
  for (int64_t i = 0; i < ids.count; i++) ends[ints_of(ids)[i]]++;
  int32_t sum = 0;
  for (int64_t e = 0; e < experts; e++) {
    const int32_t own = ends[e];
    ends[e] = sum;
    sum += own;
  }
  // Each count advances from an expert's first row to its end.
  for (int64_t i = 0; i < ids.count; i++) {
    const int32_t place = ends[ints_of(ids)[i]]++;
    places[i] = place;
    tokens[place] = int32_t(i / top_k);
  }
}

void expert_rows(Call& call) {
  const Tensor &x = *call.in[expert_rows_in::x], &tokens = *call.in[expert_rows_in::tokens];
  const size_t bytes = size_t(x.dims[1]) * element_size(x.dtype);
  check_below(tokens, x.dims[0], "a row lies outside x");
  parallel_spans(call, tokens.count, kRowsPerTask, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; i++)
      std::memcpy(call.out[expert_rows_out::y]->data + size_t(i) * bytes,
          x.data + size_t(ints_of(tokens)[i]) * bytes, bytes);
  });
}

void expert_adapters(Call& call) {
  const Tensor &adapters = *call.in[expert_adapters_in::adapters],
               &tokens = *call.in[expert_adapters_in::tokens], &ends = *call.in[expert_adapters_in::ends];
  const int32_t slots = ExpertAdaptersAttrs::read(call.attrs).slots;
  int32_t* y = reinterpret_cast<int32_t*>(call.out[expert_adapters_out::y]->data);
  check_below(tokens, adapters.count, "a row is of no token");
  int64_t place = 0;
  for (int64_t e = 0; e < ends.count; e++)
    for (; place < min64(ints_of(ends)[e], tokens.count); place++) {
      const int32_t adapter = ints_of(adapters)[ints_of(tokens)[place]];
      y[place] = adapter < 0 ? -1 : int32_t(e) * slots + adapter;
    }
}

void combine(Call& call) {
  const Tensor &z = *call.in[combine_in::z], &places = *call.in[combine_in::places],
               &y = *call.out[combine_out::y];
  const Tensor *weights = call.in[combine_in::weights], *addend = call.in[combine_in::addend];
  const int64_t columns = z.dims[1], top_k = places.dims[1];
  check_below(places, z.dims[0], "a place lies outside z");
  parallel_spans(call, places.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *scratch = row_slot(call, thread, 0, columns), *sums = row_slot(call, thread, 1, columns);
    for (int64_t t = first; t < last; t++) {
      std::memset(sums, 0, size_t(columns) * 4);
      for (int64_t j = 0; j < top_k; j++) {
        const float* row = read_row(z, int64_t(ints_of(places)[t * top_k + j]) * columns, columns, scratch);
        const float w = weights ? floats_of(*weights)[t * top_k + j] : 1;
        for (int64_t i = 0; i < columns; i++) sums[i] += w * row[i];
      }
      if (addend) {
        const float* more = read_row(*addend, t * columns, columns, scratch);
        for (int64_t i = 0; i < columns; i++) sums[i] += more[i];
      }
      write_row(y, t * columns, columns, sums);
    }
  });
}

void combine_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 2, call.in[combine_in::z]->dims[1]);
}

void combine_grad(Call& call) {
  const Tensor &dy = *call.in[combine_grad_in::dy], &z = *call.in[combine_grad_in::z],
               &places = *call.in[combine_grad_in::places], &dz = *call.out[combine_grad_out::dz];
  const float* weights = floats_of(*call.in[combine_grad_in::weights]);
  float* dweights = floats_of(*call.out[combine_grad_out::dweights]);
  const int64_t columns = z.dims[1], top_k = places.dims[1];
  check_below(places, z.dims[0], "a place lies outside z");
  parallel_spans(call, places.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *dy_scratch = row_slot(call, thread, 0, columns), *z_scratch = row_slot(call, thread, 1, columns),
          *out = row_slot(call, thread, 2, columns);
    for (int64_t t = first; t < last; t++) {
      const float* d = read_row(dy, t * columns, columns, dy_scratch);
      for (int64_t j = 0; j < top_k; j++) {
        const int64_t choice = t * top_k + j, at = int64_t(ints_of(places)[choice]) * columns;
        dweights[choice] = dot(d, read_row(z, at, columns, z_scratch), columns);
        for (int64_t i = 0; i < columns; i++) out[i] = weights[choice] * d[i];
        write_row(dz, at, columns, out);
      }
    }
  });
}

void combine_grad_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 3, call.in[combine_grad_in::z]->dims[1]);
}

}  // namespace cairn::CAIRN_ISA
