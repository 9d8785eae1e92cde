// The fp8 codes of a product on tensor cores that multiply them: a is rounded to codes, and a weight that is
// not along the sums is transposed, because these tensor cores read fp8 along k only.
#pragma once
#include "../../cuda/matmul_fp8.h"
#include "multiply.h"

namespace cairn::device {

// Scratch of the codes.
int64_t fp8_bytes(const MatmulSpec& p);

// Makes the codes in `space`, and returns the parameters of their product from those of the result and of the
// second pair.
cuda::MatmulFp8 with_fp8_operands(
    DeviceCall& call, const MatmulSpec& p, const cuda::Matmul& result, char* space);

}  // namespace cairn::device
