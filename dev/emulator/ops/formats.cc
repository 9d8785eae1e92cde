#include "formats.h"

#include <algorithm>

namespace emulator {

float decode_small(const SmallFormat& format, u32 code) {
  int magnitude = int(code) & (format.sign_bit() - 1);
  float sign = int(code) & format.sign_bit() ? -1.0f : 1.0f;
  if (format.has_infinity && magnitude == format.max_code + 1) return sign * INFINITY;
  if (format.nan_code >= 0 && magnitude > format.max_code) return std::bit_cast<float>(0x7fffffffu);
  int exponent = magnitude >> format.mantissa_bits;
  int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  if (!exponent) return sign * std::ldexp(float(mantissa), 1 - format.bias() - format.mantissa_bits);
  return sign * std::ldexp(float(mantissa + (1 << format.mantissa_bits)),
                    exponent - format.bias() - format.mantissa_bits);
}

u32 encode_small(const SmallFormat& format, double value, Rounding rounding, bool saturates) {
  u32 sign = std::signbit(value) ? u32(format.sign_bit()) : 0;
  if (value != value) return format.nan_code >= 0 ? u32(format.nan_code) : u32(format.max_code);
  double size = std::fabs(value);
  u32 infinity = saturates || !format.has_infinity ? u32(format.max_code) : u32(format.max_code) + 1;
  if (std::isinf(size)) return sign | infinity;
  int exponent = size > 0 ? std::max(std::ilogb(size), 1 - format.bias()) : 1 - format.bias();
  double rung = std::ldexp(size, format.mantissa_bits - exponent);
  double whole = std::floor(rung), rest = rung - whole;
  bool is_up = false;
  if (rounding == Rounding::nearest) is_up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1);
  if (rounding == Rounding::away) is_up = rest >= 0.5;
  if (rounding == Rounding::up) is_up = rest > 0 && !sign;
  if (rounding == Rounding::down) is_up = rest > 0 && sign;
  // Codes of one sign are ordered like their numbers, so a carry reaches the next exponent.
  double code = std::ldexp(double(exponent + format.bias() - 1), format.mantissa_bits) + whole + is_up;
  if (code <= format.max_code) return sign | u32(code);
  bool stays = rounding == Rounding::zero || (rounding == Rounding::up && sign) ||
               (rounding == Rounding::down && !sign);
  return sign | (stays ? u32(format.max_code) : infinity);
}

}  // namespace emulator
