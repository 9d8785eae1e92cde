// Parameters of unit.cu.
#pragma once
#include <cstdint>

namespace cairn::cuda {

// gate = a·bᵀ + a2·b2ᵀ with the first of each pair of operands, up with the second; y = gate · σ(gate) · up.
//
// All numbers are bf16. Rows of operands are a multiple of eight numbers and start at a multiple of 16 bytes,
// and n is even. Without a second product, k2 is 0.
struct UnitProducts {
  const uint16_t* a;
  const uint16_t* b[2];
  const uint16_t* a2[2];
  const uint16_t* b2[2];
  int32_t m, n, k, k2[2], padding;
  uint16_t* gate;
  uint16_t* up;
  uint16_t* y;
};

}  // namespace cairn::cuda
