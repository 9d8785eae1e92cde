// Arithmetic of f16, bf16 and their pairs. An operation is computed exactly in f32 or f64, and rounded once.
#include "formats.h"
#include "lanes.h"

namespace emulator {
namespace {

struct Bf16 {
  static float read(u16 code) { return from_bf16(code); }
  // From f64, so that a fused operation is rounded once: to f32 with the last bit sticky, then to bf16.
  static u16 write(double value) {
    float narrow = float(value);
    u32 bits = std::bit_cast<u32>(narrow);
    if (double(narrow) != value && value == value && (bits & 0x7f800000) != 0x7f800000) {
      bool is_beyond = std::fabs(double(narrow)) > std::fabs(value);
      bits = (is_beyond ? bits - 1 : bits) | 1;
      narrow = std::bit_cast<float>(bits);
    }
    return to_bf16(narrow);
  }
  static constexpr u16 nan = 0x7fff;
};
struct F16 {
  static float read(u16 code) { return from_f16(code); }
  static u16 write(double value) { return to_f16(value); }
  static constexpr u16 nan = 0x7fff;
};

struct Add {
  double operator()(double a, double b) const { return a + b; }
};
struct Sub {
  double operator()(double a, double b) const { return a - b; }
};
struct Mul {
  double operator()(double a, double b) const { return a * b; }
};
struct Fma {
  double operator()(double a, double b, double c) const { return std::fma(a, b, c); }
};
struct FmaRelu {
  double operator()(double a, double b, double c) const {
    double r = std::fma(a, b, c);
    return r < 0 ? 0 : r;
  }
};
struct Exp2 {
  double operator()(double a) const { return std::exp2(a); }
};
struct Tanh {
  double operator()(double a) const { return std::tanh(a); }
};

template <class Format, class F>
struct One {
  template <class... T>
  u16 operator()(T... a) const {
    return Format::write(F{}(double(Format::read(u16(a)))...));
  }
};
template <class Format, bool IsMax, bool KeepsNan>
struct Pick {
  u16 operator()(u16 a, u16 b) const {
    float x = Format::read(a), y = Format::read(b);
    if (x != x || y != y) {
      if (KeepsNan || (x != x && y != y)) return Format::nan;
      return x != x ? b : a;
    }
    bool a_is_less = x < y || (x == y && (a >> 15) > (b >> 15));
    return a_is_less != IsMax ? a : b;
  }
};
struct Neg {
  u16 operator()(u16 a) const { return a ^ 0x8000; }
};
struct Abs {
  u16 operator()(u16 a) const { return a & 0x7fff; }
};

template <class F>
struct Pair {
  template <class... T>
  u32 operator()(T... a) const {
    return u32(u16(F{}(u16(a)...))) | u32(u16(F{}(u16(a >> 16)...))) << 16;
  }
};

template <class F, size_t Operands>
void add(PlainTable& table, const std::string& name, const std::string& type) {
  if constexpr (Operands == 2) {
    table[name + "." + type] = {map1<F, u16, u16>, "hh"};
    table[name + "." + type + "x2"] = {map1<Pair<F>, u32, u32>, "ww"};
  } else if constexpr (Operands == 3) {
    table[name + "." + type] = {map2<F, u16, u16, u16>, "hhh"};
    table[name + "." + type + "x2"] = {map2<Pair<F>, u32, u32, u32>, "www"};
  } else {
    table[name + "." + type] = {map3<F, u16, u16, u16, u16>, "hhhh"};
    table[name + "." + type + "x2"] = {map3<Pair<F>, u32, u32, u32, u32>, "wwww"};
  }
}

template <class Format>
void add_format(PlainTable& table, const std::string& type) {
  for (const char* rounding : {"", ".rn"}) {
    std::string name = rounding;
    add<One<Format, Add>, 3>(table, "add" + name, type);
    add<One<Format, Sub>, 3>(table, "sub" + name, type);
    add<One<Format, Mul>, 3>(table, "mul" + name, type);
  }
  add<One<Format, Fma>, 4>(table, "fma.rn", type);
  add<One<Format, FmaRelu>, 4>(table, "fma.rn.relu", type);
  add<Pick<Format, false, false>, 3>(table, "min", type);
  add<Pick<Format, true, false>, 3>(table, "max", type);
  add<Pick<Format, false, true>, 3>(table, "min.NaN", type);
  add<Pick<Format, true, true>, 3>(table, "max.NaN", type);
  add<Neg, 2>(table, "neg", type);
  add<Abs, 2>(table, "abs", type);
  add<One<Format, Exp2>, 2>(table, "ex2.approx", type);
  add<One<Format, Exp2>, 2>(table, "ex2.approx.ftz", type);
  add<One<Format, Tanh>, 2>(table, "tanh.approx", type);
}

}  // namespace

void add_half_ops(PlainTable& table) {
  add_format<F16>(table, "f16");
  add_format<Bf16>(table, "bf16");
}

}  // namespace emulator
