// The NVFP4 codes and scales of a product on tensor cores that multiply them: a is rounded to codes, and a
// stored weight along the sums is read as it is.
#pragma once
#include "../../cuda/matmul_fp4.h"
#include "multiply.h"

namespace cairn::device {

// Scratch of the codes and scales of a.
int64_t fp4_bytes(const MatmulSpec& p);

// Makes them in `space`, and returns the parameters of their product from those of the result and of the
// second pair.
cuda::MatmulFp4 with_fp4_operands(
    DeviceCall& call, const MatmulSpec& p, const cuda::Matmul& result, char* space);

}  // namespace cairn::device
