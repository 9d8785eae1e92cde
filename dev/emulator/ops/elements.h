// The formats of tensor-core operands, read from 16 bytes at a time.
#pragma once
#include <array>
#include <cstddef>
#include <cstring>

#include "formats.h"

namespace emulator {

struct ReadBf16 {
  static constexpr int bytes = 2;
  static float read(const std::byte* at) {
    u16 c;
    std::memcpy(&c, at, 2);
    return from_bf16(c);
  }
};
struct ReadF16 {
  static constexpr int bytes = 2;
  static float read(const std::byte* at) {
    u16 c;
    std::memcpy(&c, at, 2);
    return from_f16(c);
  }
};
// A card reads only the upper 19 bits of a tf32 operand.
struct ReadTf32 {
  static constexpr int bytes = 4;
  static float read(const std::byte* at) {
    u32 c;
    std::memcpy(&c, at, 4);
    return std::bit_cast<float>(c & 0xffffe000);
  }
};
template <const SmallFormat& Format>
struct ReadByte {
  static constexpr int bytes = 1;
  static float read(const std::byte* at) {
    static const std::array<float, 256> table = [] {
      std::array<float, 256> made;
      for (u32 code = 0; code < 256; ++code) made[code] = decode_small(Format, code);
      return made;
    }();
    return table[u8(*at)];
  }
};
using ReadE4m3 = ReadByte<kE4m3>;
using ReadE5m2 = ReadByte<kE5m2>;

}  // namespace emulator
