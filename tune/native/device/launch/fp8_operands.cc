#include "fp8_operands.h"

#include "../../cuda/codes.h"
#include "matmul_plan.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256;
constexpr int64_t kSide = 128, kPack = 8;

int64_t stride_of(int64_t codes) { return align_up(codes, kRun); }
int64_t bytes_of_left(const Matrix& a) { return align_up(a.rows * stride_of(a.columns), 256); }

uint8_t* round_left(DeviceCall& call, const MatmulSpec& p, uint8_t* to) {
  const Matrix& a = p.pair[0].a;
  const cuda::RoundCodes params{a.stored.part[0], to, data_of<float>(p.a_amax), a.rows, a.columns,
      stride_of(a.columns), a.stored.dtype, grid_of(p)};
  call.launch("codes", p.is_gradient ? "round_e5m2_codes" : "round_e4m3_codes",
      {blocks_of(a.rows * params.stride / kPack, kThreads)}, kThreads, params);
  return to;
}

// Rows of the copy are columns of the weight.
uint8_t* transpose(DeviceCall& call, const Matrix& b, uint8_t* to) {
  const cuda::TransposeCodes params{static_cast<const uint8_t*>(b.stored.part[0]), to, int32_t(b.rows),
      int32_t(b.columns), stride_of(b.rows)};
  call.launch("codes", "transpose_codes", {blocks_of(b.rows, kSide) * blocks_of(b.columns, kSide)}, kThreads,
      params);
  return to;
}

const uint16_t* pairs(const uint8_t* codes) { return reinterpret_cast<const uint16_t*>(codes); }

}  // namespace

int64_t fp8_bytes(const MatmulSpec& p) {
  const Matrix& b = p.pair[0].b;
  const int64_t copied = p.form == Form::nn ? align_up(b.columns * stride_of(b.rows), 256) : 0;
  return bytes_of_left(p.pair[0].a) + copied;
}

cuda::MatmulFp8 with_fp8_operands(
    DeviceCall& call, const MatmulSpec& p, const cuda::Matmul& result, char* space) {
  cuda::MatmulFp8 made{result, nullptr, 0, 0};
  uint8_t* const scratch = reinterpret_cast<uint8_t*>(space);
  const Matrix &a = p.pair[0].a, &b = p.pair[0].b;
  made.of.a[0] = pairs(round_left(call, p, scratch));
  made.of.lda[0] = stride_of(a.columns) / 2;
  if (p.form == Form::nn) {
    made.of.b[0] = pairs(transpose(call, b, scratch + bytes_of_left(a)));
    made.of.ldb[0] = stride_of(b.rows) / 2;
  } else {
    made.of.b[0] = static_cast<const uint16_t*>(b.stored.part[0]);
    made.of.ldb[0] = b.columns / 2;
  }
  if (b.stored.dtype == Dtype::fp8_tiles) {
    const int64_t across = blocks_of(b.columns, kSide);
    made.scales = static_cast<const float*>(b.stored.part[1]);
    made.of_columns = p.form == Form::nt ? across : 1;
    made.of_step = p.form == Form::nt ? 1 : across;
  }
  return made;
}

}  // namespace cairn::device
