// Arithmetic of f32 and f64. Approximate functions use the host's library, which is more exact than a card.
#include <cfenv>
#include <limits>
#include <type_traits>

#include "lanes.h"

namespace emulator {
namespace {

// A card's NaN result always has these bits.
template <class T>
inline T canonical(T value) {
  if constexpr (sizeof(T) == 4) return value != value ? std::bit_cast<float>(0x7fffffffu) : value;
  else return value != value ? std::bit_cast<double>(0x7fffffffffffffffull) : value;
}
// Flushes subnormal numbers to a zero of their sign.
inline float flush(float value) {
  u32 bits = std::bit_cast<u32>(value);
  return std::bit_cast<float>(bits & 0x7f800000 ? bits : bits & 0x80000000);
}
inline double flush(double value) { return value; }

template <class F, bool Flushes>
struct Rounded {
  template <class... T>
  auto operator()(T... a) const {
    if constexpr (Flushes) return flush(canonical(F{}(flush(a)...)));
    else return canonical(F{}(a...));
  }
};
// Sign operations leave a NaN unchanged.
template <class F, bool Flushes>
struct Signed {
  template <class T>
  T operator()(T a) const {
    return Flushes ? flush(F{}(a)) : F{}(a);
  }
};

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
template <class F>
struct Saturated {
  template <class... T>
  auto operator()(T... a) const {
    auto value = F{}(a...);
    using R = decltype(value);
    return value > 0 ? (value < 1 ? value : R(1)) : R(0);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a) return b;
    return a < b || b != b || (a == b && std::signbit(a)) ? a : b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a) return b;
    return a > b || b != b || (a == b && !std::signbit(a)) ? a : b;
  }
};
struct MinNan {
  template <class T>
  T operator()(T a, T b) const {
    return a != a ? a : b != b ? b : Min{}(a, b);
  }
};
struct MaxNan {
  template <class T>
  T operator()(T a, T b) const {
    return a != a ? a : b != b ? b : Max{}(a, b);
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return -a;
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return std::fabs(a);
  }
};
// copysign.f32 d, a, b has the sign of a and the magnitude of b.
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Rcp {
  template <class T>
  T operator()(T a) const {
    return T(1) / a;
  }
};
struct Rsqrt {
  template <class T>
  T operator()(T a) const {
    return T(1.0 / std::sqrt(double(a)));
  }
};
struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct Log2 {
  float operator()(float a) const { return std::log2(a); }
};
struct Sin {
  float operator()(float a) const { return std::sin(a); }
};
struct Cos {
  float operator()(float a) const { return std::cos(a); }
};
struct Tanh {
  float operator()(float a) const { return std::tanh(a); }
};

template <int Mode, Handler Run>
void round_as(Warp& w, const Instruction& i) {
  std::fesetround(Mode);
  Run(w, i);
  std::fesetround(FE_TONEAREST);
}

template <class T>
const char* shape(size_t operands) {
  static const char* const of32[] = {"", "", "ww", "www", "wwww"};
  static const char* const of64[] = {"", "", "dd", "ddd", "dddd"};
  return (sizeof(T) == 4 ? of32 : of64)[operands];
}

template <class F, class T, size_t Operands>
constexpr Handler handler() {
  if constexpr (Operands == 2) return map1<F, T, T>;
  else if constexpr (Operands == 3) return map2<F, T, T, T>;
  else return map3<F, T, T, T, T>;
}

/// name.type, and name.ftz.type if it exists.
template <class F, class T, size_t Operands>
void add_flushing(PlainTable& table, const std::string& name, const std::string& type) {
  table[name + "." + type] = {handler<Rounded<F, false>, T, Operands>(), shape<T>(Operands)};
  if constexpr (sizeof(T) == 4)
    table[name + ".ftz." + type] = {handler<Rounded<F, true>, T, Operands>(), shape<T>(Operands)};
}

template <int Mode, class F, class T, size_t Operands>
void add_mode(PlainTable& table, const std::string& name, const std::string& type) {
  table[name + "." + type] = {round_as<Mode, handler<Rounded<F, false>, T, Operands>()>, shape<T>(Operands)};
  if constexpr (sizeof(T) == 4)
    table[name + ".ftz." + type] = {
        round_as<Mode, handler<Rounded<F, true>, T, Operands>()>, shape<T>(Operands)};
}

/// An operation in every rounding mode.
template <class F, class T, size_t Operands>
void add_rounding(PlainTable& table, const std::string& name, const std::string& type) {
  add_flushing<F, T, Operands>(table, name + ".rn", type);
  add_mode<FE_TOWARDZERO, F, T, Operands>(table, name + ".rz", type);
  add_mode<FE_DOWNWARD, F, T, Operands>(table, name + ".rm", type);
  add_mode<FE_UPWARD, F, T, Operands>(table, name + ".rp", type);
}

template <class T>
void add_type(PlainTable& table, const std::string& type) {
  add_rounding<Add, T, 3>(table, "add", type);
  add_rounding<Sub, T, 3>(table, "sub", type);
  add_rounding<Mul, T, 3>(table, "mul", type);
  add_rounding<Fma, T, 4>(table, "fma", type);
  add_rounding<Fma, T, 4>(table, "mad", type);
  add_rounding<Div, T, 3>(table, "div", type);
  add_rounding<Rcp, T, 2>(table, "rcp", type);
  add_rounding<Sqrt, T, 2>(table, "sqrt", type);
  // Without a rounding mode it rounds to nearest.
  add_flushing<Add, T, 3>(table, "add", type);
  add_flushing<Sub, T, 3>(table, "sub", type);
  add_flushing<Mul, T, 3>(table, "mul", type);
  add_flushing<Min, T, 3>(table, "min", type);
  add_flushing<Max, T, 3>(table, "max", type);
  add_flushing<Rsqrt, T, 2>(table, "rsqrt.approx", type);
  table["neg." + type] = {map1<Signed<Neg, false>, T, T>, shape<T>(2)};
  table["abs." + type] = {map1<Signed<Abs, false>, T, T>, shape<T>(2)};
  table["copysign." + type] = {map2<CopySign, T, T, T>, shape<T>(3)};
}

}  // namespace

void add_float_ops(PlainTable& table) {
  add_type<float>(table, "f32");
  add_type<double>(table, "f64");
  table["neg.ftz.f32"] = {map1<Signed<Neg, true>, float, float>, "ww"};
  table["abs.ftz.f32"] = {map1<Signed<Abs, true>, float, float>, "ww"};
  table["rcp.approx.ftz.f64"] = {map1<Rounded<Rcp, false>, double, double>, "dd"};
  table["rsqrt.approx.ftz.f64"] = {map1<Rounded<Rsqrt, false>, double, double>, "dd"};
  add_flushing<MinNan, float, 3>(table, "min.NaN", "f32");
  add_flushing<MaxNan, float, 3>(table, "max.NaN", "f32");
  table["min.ftz.NaN.f32"] = table["min.NaN.ftz.f32"];
  table["max.ftz.NaN.f32"] = table["max.NaN.ftz.f32"];
  add_flushing<Div, float, 3>(table, "div.full", "f32");
  add_flushing<Div, float, 3>(table, "div.approx", "f32");
  add_flushing<Rcp, float, 2>(table, "rcp.approx", "f32");
  add_flushing<Sqrt, float, 2>(table, "sqrt.approx", "f32");
  add_flushing<Exp2, float, 2>(table, "ex2.approx", "f32");
  add_flushing<Log2, float, 2>(table, "lg2.approx", "f32");
  add_flushing<Sin, float, 2>(table, "sin.approx", "f32");
  add_flushing<Cos, float, 2>(table, "cos.approx", "f32");
  table["tanh.approx.f32"] = {map1<Rounded<Tanh, false>, float, float>, "ww"};
  for (const char* order : {".rn.sat", ".sat", ".rn.ftz.sat", ".ftz.sat"}) {
    std::string name = order;
    table["add" + name + ".f32"] = {map2<Rounded<Saturated<Add>, false>, float, float, float>, "www"};
    table["mul" + name + ".f32"] = {map2<Rounded<Saturated<Mul>, false>, float, float, float>, "www"};
    table["fma" + name + ".f32"] = {map3<Rounded<Saturated<Fma>, false>, float, float, float, float>, "wwww"};
  }
}

}  // namespace emulator
