#include "fp4_operands.h"

#include "../../cuda/codes.h"
#include "matmul_plan.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256;

int64_t blocks_of_left(const Matrix& a) { return a.rows * a.columns / kNvfp4Block; }
int64_t bytes_of_codes(const Matrix& a) { return align_up(a.rows * a.columns / 2, 256); }

}  // namespace

int64_t fp4_bytes(const MatmulSpec& p) {
  const Matrix& a = p.pair[0].a;
  return bytes_of_codes(a) + align_up(blocks_of_left(a), 256);
}

cuda::MatmulFp4 with_fp4_operands(
    DeviceCall& call, const MatmulSpec& p, const cuda::Matmul& result, char* space) {
  const Matrix &a = p.pair[0].a, &b = p.pair[0].b;
  uint8_t* const codes = reinterpret_cast<uint8_t*>(space);
  uint8_t* const scales = codes + bytes_of_codes(a);
  const cuda::RoundBlocks rounded{
      a.stored.part[0], codes, scales, data_of<float>(p.a_amax), blocks_of_left(a), a.stored.dtype, 0};
  call.launch("codes", "round_nvfp4_codes", {blocks_of(rounded.blocks, kThreads)}, kThreads, rounded);
  cuda::MatmulFp4 made{
      result, {scales, static_cast<const uint8_t*>(b.stored.part[1])}, b.columns / kNvfp4Block};
  made.of.a[0] = reinterpret_cast<const uint16_t*>(codes);
  made.of.b[0] = static_cast<const uint16_t*>(b.stored.part[0]);
  made.of.lda[0] = made.of.ldb[0] = b.columns / 4;
  return made;
}

}  // namespace cairn::device
