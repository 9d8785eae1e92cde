// Benchmarks matmuls and attention on a card, without Node: each op by its launcher, timed by events, with
// its result compared to f32 arithmetic on the same numbers. `card.sh` builds and runs it.
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "card_bench.h"
#include "launchers.h"

using namespace cairn;
using namespace cairn::device;

namespace {

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double maximum = 1e-30, difference = 0;
  for (size_t i = 0; i < a.size(); i++) {
    if (std::isnan(a[i]) || std::isnan(b[i])) return NAN;
    maximum = std::max(maximum, double(std::fabs(b[i])));
    difference = std::max(difference, double(std::fabs(a[i] - b[i])));
  }
  return difference / maximum;
}

// Arguments of each form in the order of the op table.
void product(Bench& b, int form, const Tensor& a, const Tensor& w, const Tensor& y, double arithmetic,
    const Tensor* amax) {
  const double dtype = double(int(y.dtype));
  if (form == 0)
    b.run(matmul_nt, {&a, &w, nullptr, nullptr, nullptr, amax}, {&y}, {1, arithmetic, dtype});
  else if (form == 1)
    b.run(matmul_nn, {&a, &w, nullptr, nullptr, nullptr, amax}, {&y}, {1, arithmetic, 0, dtype});
  else b.run(matmul_tn, {&a, &w}, {&y}, {1, arithmetic, dtype});
}

void row(Bench& b, int form, int64_t m, int64_t n, int64_t k, Dtype stored, Arithmetic arithmetic,
    bool checks) {
  const Tensor a = form == 2 ? b.noise(Dtype::bf16, k, m) : b.noise(Dtype::bf16, m, k),
               w = form == 0 ? b.noise(stored, n, k) : b.noise(stored, k, n), y = b.empty(Dtype::bf16, m, n),
               amax = b.noise(Dtype::f32, 1, 1);
  const float one = 1;
  b.card.copy_up(amax.data, &one, 4);
  const double ms = b.time([&] { product(b, form, a, w, y, double(int(arithmetic)), &amax); });
  const char* const forms[] = {"nt", "nn", "tn"};
  std::printf("%s %6ld x %6ld x %6ld %-10s arithmetic %d: %8.3f ms %7.1f TFLOP/s", forms[form], long(m),
      long(n), long(k), kDtypeNames[int(stored)], int(arithmetic), ms,
      2e-9 * double(m) * double(n) * double(k) / ms);
  if (checks) {
    const Tensor exact = b.empty(Dtype::f32, m, n);
    product(b, form, a, w, exact, 0, nullptr);
    b.card.wait("a check");
    std::printf("  apart %.1e", difference(b.numbers(y), b.numbers(exact)));
  }
  std::printf("\n");
  std::fflush(stdout);
  b.release();
}

void attention_row(Bench& b, int64_t tokens, int heads, int kv, int width, bool checks) {
  const auto of = [&](Dtype dtype, int count) { return b.noise(dtype, tokens, int64_t(count) * width); };
  const Tensor q = of(Dtype::bf16, heads), k = of(Dtype::bf16, kv), v = of(Dtype::bf16, kv),
               dy = of(Dtype::bf16, heads), ends = b.ints({0, int32_t(tokens)});
  const Tensor y = b.empty(Dtype::bf16, tokens, heads * width), lse = b.empty(Dtype::f32, heads, tokens),
               dq = b.empty(Dtype::bf16, tokens, heads * width),
               dk = b.empty(Dtype::bf16, tokens, kv * width), dv = b.empty(Dtype::bf16, tokens, kv * width);
  const std::vector<double> attrs{double(heads), double(kv), 1 / std::sqrt(double(width)), 0, 0};
  const double there = b.time([&] { b.run(attention, {&q, &k, &v, &ends}, {&y, &lse}, attrs); }),
               back = b.time([&] {
                 b.run(attention_grad, {&dy, &q, &k, &v, &y, &lse, &ends}, {&dq, &dk, &dv}, attrs);
               });
  // Half of the square, because attention is causal; four products per pair forward and ten backward.
  const double half = double(tokens) * double(tokens) / 2 * heads * width * 1e-9;
  std::printf("attention %ld, %d/%d x %d: %.3f ms %.1f TFLOP/s, gradient %.3f ms %.1f TFLOP/s", long(tokens),
      heads, kv, width, there, 4 * half / there, back, 10 * half / back);
  if (checks) {
    std::vector<Tensor> wide;
    for (const Tensor* t : {&q, &k, &v, &dy}) {
      wide.push_back(b.empty(Dtype::f32, t->dims[0], t->dims[1]));
      std::vector<float> values = b.numbers(*t);
      b.card.copy_up(wide.back().data, values.data(), values.size() * 4);
    }
    const Tensor *fq = &wide[0], *fk = &wide[1], *fv = &wide[2], *fdy = &wide[3];
    const Tensor fy = b.empty(Dtype::f32, tokens, heads * width), flse = b.empty(Dtype::f32, heads, tokens),
                 fdq = b.empty(Dtype::f32, tokens, heads * width),
                 fdk = b.empty(Dtype::f32, tokens, kv * width), fdv = b.empty(Dtype::f32, tokens, kv * width);
    b.run(attention, {fq, fk, fv, &ends}, {&fy, &flse}, attrs);
    b.run(attention_grad, {fdy, fq, fk, fv, &fy, &flse, &ends}, {&fdq, &fdk, &fdv}, attrs);
    b.card.wait("a check");
    std::printf("  apart y %.1e lse %.1e dq %.1e dk %.1e dv %.1e", difference(b.numbers(y), b.numbers(fy)),
        difference(b.numbers(lse), b.numbers(flse)), difference(b.numbers(dq), b.numbers(fdq)),
        difference(b.numbers(dk), b.numbers(fdk)), difference(b.numbers(dv), b.numbers(fdv)));
  }
  std::printf("\n");
  std::fflush(stdout);
  b.release();
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 2) throw std::runtime_error("give the folder of compiled kernels");
    CardOptions options;
    const std::string kernels = count > 2 ? arguments[2] : "";
    if (kernels == "bulk") options.bulk_products = BulkProducts::wide;
    else if (kernels == "bulk-all") options.bulk_products = BulkProducts::all;
    else if (!kernels.empty()) throw std::runtime_error("the kernels are bulk or bulk-all");
    const Driver& driver = driver_at("libcuda.so.1");
    Card card(driver, 0, arguments[1], false, options);
    Bench b(card);
    std::printf("%s, compute capability %d\n", card.info.name.c_str(), card.info.capability);
    for (int form = 0; form < 3; form++) {
      row(b, form, 300, 136, 520, Dtype::bf16, Arithmetic::bf16, true);
      row(b, form, 2048, 1024, 1024, Dtype::bf16, Arithmetic::bf16, true);
    }
    for (const Dtype stored : {Dtype::fp8_tiles, Dtype::fp8_tensor, Dtype::nvfp4, Dtype::mxfp4, Dtype::nf4})
      for (int form = 0; form < 2; form++) row(b, form, 2048, 1024, 1024, stored, Arithmetic::bf16, true);
    attention_row(b, 1000, 4, 2, 64, true);
    attention_row(b, 1000, 4, 2, 128, true);
    for (int form = 0; form < 3; form++)
      row(b, form, 4096, 4096, 4096, Dtype::bf16, Arithmetic::bf16, false);
    // Linears of Qwen3-0.6B and 8B at 4096 tokens.
    for (int form = 0; form < 2; form++) {
      row(b, form, 4096, 2048, 1024, Dtype::bf16, Arithmetic::bf16, false);
      row(b, form, 4096, 3072, 1024, Dtype::bf16, Arithmetic::bf16, false);
      row(b, form, 4096, 1024, 3072, Dtype::bf16, Arithmetic::bf16, false);
      row(b, form, 4096, 4096, 12288, Dtype::bf16, Arithmetic::bf16, false);
      for (const Dtype stored : {Dtype::bf16, Dtype::fp8_tiles, Dtype::nvfp4, Dtype::nf4})
        row(b, form, 4096, 12288, 4096, stored, Arithmetic::bf16, false);
      row(b, form, 4096, 12288, 4096, Dtype::fp8_tensor, Arithmetic::fp8_hybrid, false);
      row(b, form, 4096, 12288, 4096, Dtype::nvfp4, Arithmetic::nvfp4, false);
    }
    row(b, 0, 4096, 16, 4096, Dtype::bf16, Arithmetic::bf16, false);
    row(b, 2, 16, 4096, 4096, Dtype::bf16, Arithmetic::bf16, false);
    row(b, 2, 4096, 16, 4096, Dtype::bf16, Arithmetic::bf16, false);
    attention_row(b, 2048, 16, 8, 128, false);
    attention_row(b, 2048, 32, 8, 128, false);
    attention_row(b, 2048, 32, 8, 64, false);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
