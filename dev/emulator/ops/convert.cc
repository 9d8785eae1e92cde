// cvt between single numbers: every pair of types and rounding. The most frequent pairs have their own loops;
// all others go through the widest type of their kind. Packed formats are in packed.cc.
#include <cfenv>
#include <limits>

#include "formats.h"
#include "lanes.h"
#include "packed.h"

namespace emulator {
namespace {

enum class Number : u8 { u8_, u16_, u32_, u64_, s8_, s16_, s32_, s64_, f16_, bf16_, f32_, f64_ };

// Instruction::detail of a conversion.
struct Plan {
  Number to, from;
  Rounding rounding;
  u8 to_bytes, from_bytes;  // of the registers
  bool to_integral, saturates;
  bool flushes, is_relu;  // in Instruction::offset
};

bool is_float(Number n) { return n >= Number::f16_; }
bool is_signed(Number n) { return n >= Number::s8_ && n <= Number::s64_; }
u32 bytes_of(Number n) {
  if (n == Number::f16_ || n == Number::bf16_) return 2;
  if (n == Number::f32_) return 4;
  if (n == Number::f64_) return 8;
  return 1u << (u32(n) & 3);
}

u64 read_bits(Warp& w, u32 slot, u32 bytes, u32 lane) {
  return bytes == 2 ? w.at<u16>(slot)[lane] : bytes == 4 ? w.at<u32>(slot)[lane] : w.at<u64>(slot)[lane];
}
void write_bits(Warp& w, u32 slot, u32 bytes, u32 lane, u64 bits) {
  if (bytes == 2) w.at<u16>(slot)[lane] = u16(bits);
  else if (bytes == 4) w.at<u32>(slot)[lane] = u32(bits);
  else w.at<u64>(slot)[lane] = bits;
}

i64 extend(u64 bits, u32 bytes) {
  u32 shift = 64 - bytes * 8;
  return i64(bits << shift) >> shift;
}
u64 cut(u64 bits, u32 bytes) { return bytes == 8 ? bits : bits & ((1ull << (bytes * 8)) - 1); }

double read_float(u64 bits, Number from) {
  if (from == Number::f16_) return from_f16(u16(bits));
  if (from == Number::bf16_) return from_bf16(u16(bits));
  if (from == Number::f32_) return std::bit_cast<float>(u32(bits));
  return std::bit_cast<double>(bits);
}

double round_integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::zero:
      return std::trunc(value);
    case Rounding::down:
      return std::floor(value);
    case Rounding::up:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

// Saturates to the range of the type.
u64 to_integer(double value, const Plan& plan) {
  u32 bits = bytes_of(plan.to) * 8;
  if (value != value) return plan.from != Number::f64_ && bits < 64 ? 0 : 1ull << (bits - 1);
  value = round_integral(value, plan.rounding);
  if (is_signed(plan.to)) {
    double limit = std::ldexp(1.0, int(bits) - 1);
    if (value >= limit) return (1ull << (bits - 1)) - 1;
    if (value < -limit) return u64(-1) << (bits - 1);
    return u64(i64(value));
  }
  if (value <= 0) return 0;
  return value >= std::ldexp(1.0, int(bits)) ? cut(~0ull, bits / 8) : u64(value);
}

int host_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::zero:
      return FE_TOWARDZERO;
    case Rounding::down:
      return FE_DOWNWARD;
    case Rounding::up:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

template <class Source>
u64 to_float(Source value, const Plan& plan) {
  switch (plan.to) {
    case Number::f16_:
      return to_f16(double(value), plan.rounding);
    case Number::bf16_:
      return to_bf16(float(value), plan.rounding);
    case Number::f64_:
      return std::bit_cast<u64>(double(value));
    default: {
      float narrow = float(value);
      return std::bit_cast<u32>(narrow == narrow ? narrow : std::bit_cast<float>(0x7fffffffu));
    }
  }
}

u64 convert(u64 bits, const Plan& plan) {
  if (is_float(plan.from)) {
    double value = read_float(bits, plan.from);
    if (plan.flushes && std::fabs(value) < 0x1p-126) value = std::copysign(0.0, value);
    if (!is_float(plan.to)) return to_integer(value, plan);
    if (plan.to_integral) value = round_integral(value, plan.rounding);
    if (plan.saturates) value = value > 0 ? std::min(value, 1.0) : 0.0;
    if (plan.is_relu && value < 0) value = 0;
    return to_float(value, plan);
  }
  u32 bytes = bytes_of(plan.from);
  i64 value = is_signed(plan.from) ? extend(bits, bytes) : i64(cut(bits, bytes));
  if (is_float(plan.to)) return is_signed(plan.from) ? to_float(value, plan) : to_float(u64(value), plan);
  if (!plan.saturates) return u64(value);
  u32 to_bits = bytes_of(plan.to) * 8;
  bool is_large = !is_signed(plan.from) && value < 0;  // a u64 above every i64
  if (is_signed(plan.to)) {
    i64 max_value = i64(~0ull >> (65 - to_bits));
    return u64(is_large ? max_value : std::clamp(value, -max_value - 1, max_value));
  }
  if (value < 0 && !is_large) return 0;
  u64 max_value = cut(~0ull, to_bits / 8);
  return std::min(u64(value), max_value);
}

void convert_any(Warp& w, const Instruction& i) {
  Plan plan;
  std::memcpy(&plan, &i.detail, sizeof(u64));
  plan.flushes = i.offset & 1;
  plan.is_relu = i.offset & 2;
  std::fesetround(host_mode(plan.rounding));
  each_lane(w.mask, [&](u32 lane) {
    u64 bits = convert(read_bits(w, i.a, plan.from_bytes, lane), plan);
    // Sign-extends a value for a wider register.
    u32 bytes = bytes_of(plan.to);
    bits = is_signed(plan.to) ? u64(extend(bits, bytes)) : cut(bits, bytes);
    write_bits(w, i.to, plan.to_bytes, lane, bits);
  });
  std::fesetround(FE_TONEAREST);
}

template <class R>
struct To {
  template <class A>
  R operator()(A a) const {
    return R(a);
  }
};
struct FromBf16 {
  u32 operator()(u16 a) const { return u32(a) << 16; }
};
struct ToBf16 {
  u16 operator()(float a) const { return to_bf16(a); }
};

const std::unordered_map<std::string, Plain>& fast() {
  static const std::unordered_map<std::string, Plain> table = {
      {"cvt.u64.u32", {map1<To<u64>, u64, u32>, "dw"}}, {"cvt.s64.s32", {map1<To<i64>, i64, i32>, "dw"}},
      {"cvt.u32.u64", {map1<To<u32>, u32, u64>, "wd"}}, {"cvt.u32.u16", {map1<To<u32>, u32, u16>, "wh"}},
      {"cvt.u16.u32", {map1<To<u16>, u16, u32>, "hw"}},
      {"cvt.rn.f32.s32", {map1<To<float>, float, i32>, "ww"}},
      {"cvt.rn.f32.u32", {map1<To<float>, float, u32>, "ww"}},
      {"cvt.f64.f32", {map1<To<double>, double, float>, "dw"}},
      {"cvt.f32.bf16", {map1<FromBf16, u32, u16>, "wh"}},
      {"cvt.rn.bf16.f32", {map1<ToBf16, u16, float>, "hw"}}};
  return table;
}

Number read_number(const std::string& type, u32 line) {
  static const std::unordered_map<std::string, Number> table = {{"u8", Number::u8_}, {"u16", Number::u16_},
      {"u32", Number::u32_}, {"u64", Number::u64_}, {"s8", Number::s8_}, {"s16", Number::s16_},
      {"s32", Number::s32_}, {"s64", Number::s64_}, {"f16", Number::f16_}, {"bf16", Number::bf16_},
      {"f32", Number::f32_}, {"f64", Number::f64_}, {"b16", Number::u16_}, {"b32", Number::u32_}};
  auto found = table.find(type);
  if (found == table.end()) refuse(line, "the emulator does not convert ." + type);
  return found->second;
}

// .rn, .rni and so on; rounding to an integer ends in i.
bool take_rounding(Parts& parts, Plan& plan) {
  std::string name = parts.take_one_of({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"});
  if (name.empty()) return false;
  plan.to_integral = name.size() == 3;
  plan.rounding = name[1] == 'n'   ? Rounding::nearest
                  : name[1] == 'z' ? Rounding::zero
                  : name[1] == 'm' ? Rounding::down
                                   : Rounding::up;
  return true;
}

void decode_cvt(Decoder& decoder, const Statement& s, Instruction& i) {
  if (decode_packed(decoder, s, i)) return;
  if (s.operands.size() != 2) refuse(s.line, "cvt has two operands");
  if (s.operands[0].kind != Operand::Kind::reg) refuse(s.line, "the result needs a register");
  u32 to_bytes = decoder.register_bytes(s.operands[0]);
  const Operand& from = s.operands[1];
  Parts parts(s);
  Plan plan{};
  plan.from = read_number(parts.take_type(), s.line);
  plan.to = read_number(parts.take_type(), s.line);
  u32 from_bytes =
      from.kind == Operand::Kind::reg ? decoder.register_bytes(from) : std::max(2u, bytes_of(plan.from));
  i.to = decoder.destination(s.operands[0], to_bytes);
  i.a = decoder.source(from, from_bytes);
  if (auto found = fast().find(join_opcode(s.opcode)); found != fast().end()) {
    auto width = [](char letter) { return letter == 'h' ? 2u : letter == 'w' ? 4u : 8u; };
    if (width(found->second.operands[0]) == to_bytes && width(found->second.operands[1]) == from_bytes) {
      i.run = found->second.run;
      return;
    }
  }
  take_rounding(parts, plan);
  plan.saturates = parts.take("sat");
  plan.to_bytes = u8(to_bytes);
  plan.from_bytes = u8(from_bytes);
  bool flushes = parts.take("ftz"), is_relu = parts.take("relu");
  parts.expect_none();
  if (bytes_of(plan.to) > to_bytes || bytes_of(plan.from) > from_bytes)
    refuse(s.line, "a register is too narrow");
  std::memcpy(&i.detail, &plan, sizeof(u64));
  i.offset = (flushes ? 1 : 0) | (is_relu ? 2 : 0);
  i.run = convert_any;
}

}  // namespace

void add_convert_ops(DecodeTable& table) { table["cvt"] = decode_cvt; }

}  // namespace emulator
