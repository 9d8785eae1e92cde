// The number formats below f32, one value at a time. The rounding modes of a card: to nearest (ties to even),
// to zero, down and up.
#pragma once
#include <bit>
#include <cmath>

#include "../ptx/syntax.h"

namespace emulator {

enum class Rounding : u8 { nearest, zero, down, up, away };

inline float from_bf16(u16 code) { return std::bit_cast<float>(u32(code) << 16); }

inline u16 to_bf16(float value) {
  u32 bits = std::bit_cast<u32>(value);
  if (value != value) return 0x7fff;
  return u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline u16 to_bf16(float value, Rounding rounding) {
  if (rounding == Rounding::nearest || value != value) return to_bf16(value);
  u32 bits = std::bit_cast<u32>(value);
  bool is_up = (rounding == Rounding::up && !(bits >> 31)) || (rounding == Rounding::down && bits >> 31);
  return u16((bits + (is_up && (bits & 0x7f800000) != 0x7f800000 ? 0xffff : 0)) >> 16);
}

/// A format with a sign, an exponent of `exponent_bits` and a mantissa of `mantissa_bits`.
struct SmallFormat {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  int max_code;  // without the sign
  int nan_code;  // -1 if every code is a number
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int sign_bit() const { return 1 << (exponent_bits + mantissa_bits); }
};
constexpr SmallFormat kF16{5, 10, true, 0x7bff, 0x7fff}, kE4m3{4, 3, false, 0x7e, 0x7f},
    kE5m2{5, 2, true, 0x7b, 0x7f}, kE2m1{2, 1, false, 0x7, -1}, kE2m3{2, 3, false, 0x1f, -1},
    kE3m2{3, 2, false, 0x1f, -1};

float decode_small(const SmallFormat& format, u32 code);
/// `saturates`: a number that is too large becomes the largest finite one instead of infinity.
u32 encode_small(const SmallFormat& format, double value, Rounding rounding, bool saturates);

inline float from_f16(u16 code) { return decode_small(kF16, code); }
inline u16 to_f16(double value, Rounding rounding = Rounding::nearest) {
  return u16(encode_small(kF16, value, rounding, false));
}

/// f32 rounded to the 10 bits of mantissa of tf32: to nearest, ties away from zero.
inline u32 to_tf32(float value) {
  u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7f800000) == 0x7f800000) return bits;
  return (bits + 0x1000) & 0xffffe000;
}

}  // namespace emulator
