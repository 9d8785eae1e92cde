// Scalar codecs, bit-identical to those of tune/ops/src/codecs. Everything here has internal linkage: kernels
// include it under several instruction sets, and the linker must never replace one copy by another.
#pragma once
#include <cstdint>
#include <cstring>

#include "device_code.h"

namespace cairn {
namespace {

struct bf16 {
  uint16_t bits;
};

CAIRN_DEVICE inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

CAIRN_DEVICE inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

CAIRN_DEVICE inline float decode_bf16(uint16_t code) { return float_of(uint32_t(code) << 16); }

CAIRN_DEVICE inline uint16_t encode_bf16(float value) {
  uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Codes of one sign are ordered like their numbers, so a carry out of the mantissa lands on the next
// exponent.
struct Minifloat {
  int mantissa_bits, bias, sign_bit, max_code, nan_code, inf_code;
};
CAIRN_DEVICE constexpr Minifloat kE4m3{3, 7, 0x80, 0x7e, 0x7f, -1};
CAIRN_DEVICE constexpr Minifloat kE5m2{2, 15, 0x80, 0x7b, 0x7f, 0x7c};
CAIRN_DEVICE constexpr Minifloat kE2m1{1, 1, 0x8, 0x7, -1, -1};

CAIRN_DEVICE inline float power_of_two(int exponent) { return float_of(uint32_t(exponent + 127) << 23); }

CAIRN_DEVICE inline float decode_minifloat(const Minifloat& format, int code) {
  float sign = code & format.sign_bit ? -1.0f : 1.0f;
  int magnitude = code & (format.sign_bit - 1);
  if (magnitude == format.inf_code) return sign * float_of(0x7f800000);
  if (magnitude > format.max_code) return float_of(0x7fc00000);
  int exponent = magnitude >> format.mantissa_bits;
  int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  if (exponent == 0) return sign * float(mantissa) * power_of_two(1 - format.bias - format.mantissa_bits);
  return sign * float(mantissa + (1 << format.mantissa_bits)) *
         power_of_two(exponent - format.bias - format.mantissa_bits);
}

// `uniform` in [0, 1) rounds stochastically. A negative one rounds to nearest, ties to even.
CAIRN_DEVICE inline int encode_minifloat(const Minifloat& format, float value, float uniform = -1) {
  uint32_t bits = bits_of(value);
  int sign = bits >> 31 ? format.sign_bit : 0;
  uint32_t size_bits = bits & 0x7fffffff;
  if (size_bits > 0x7f800000) return format.nan_code;
  if (size_bits == 0x7f800000) return sign | format.max_code;
  int exponent = int(size_bits >> 23) - 127;
  if (exponent < 1 - format.bias) exponent = 1 - format.bias;
  float rung = float_of(size_bits) * power_of_two(format.mantissa_bits - exponent);
  int whole = int(rung);
  float rest = rung - float(whole);
  bool up = uniform < 0 ? rest > 0.5f || (rest == 0.5f && (whole & 1)) : uniform < rest;
  int code =
      (exponent + format.bias) * (1 << format.mantissa_bits) + whole + up - (1 << format.mantissa_bits);
  return sign | (code < format.max_code ? code : format.max_code);
}

CAIRN_DEVICE inline float decode_e8m0(int code) {
  if (code == 255) return float_of(0x7fc00000);
  return code == 0 ? float_of(0x00400000) : float_of(uint32_t(code) << 23);
}

// The largest power of two not above the value.
CAIRN_DEVICE inline int encode_e8m0(float value) {
  if (!(value > 0)) return value == 0 ? 0 : 255;
  uint32_t bits = bits_of(value);
  int code = int(bits >> 23);
  if (code == 255) return 254;
  return code;
}

CAIRN_DEVICE constexpr float kE2m1Table[16] = {
    0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

CAIRN_DEVICE constexpr float kNf4Table[16] = {
    -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
    -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f, 0.07958029955625534f,
    0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f, 0.44070982933044434f,
    0.5626170039176941f, 0.7229568362236023f, 1.0f};

// Index of the nearest entry of an ascending table. Halfway between two it is the lower.
CAIRN_DEVICE inline int encode_nearest(const float* table, int size, float value) {
  int low = 0, high = size - 1;
  while (low < high) {
    int middle = (low + high) >> 1;
    if (value > (table[middle] + table[middle + 1]) / 2) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace
}  // namespace cairn
