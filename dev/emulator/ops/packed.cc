#include "packed.h"

#include "formats.h"
#include "lanes.h"

namespace emulator {
namespace {

// Instruction::detail: formats and modes.
enum class Format : u8 { none, f32, f16, bf16, e4m3, e5m2, e2m1, e2m3, e3m2, ue8m0 };
struct Plan {
  Format to, from;
  Rounding rounding;
  u8 to_bytes, from_bytes;
  bool saturates, is_relu;
};

const SmallFormat* small(Format format) {
  switch (format) {
    case Format::f16:
      return &kF16;
    case Format::e4m3:
      return &kE4m3;
    case Format::e5m2:
      return &kE5m2;
    case Format::e2m1:
      return &kE2m1;
    case Format::e2m3:
      return &kE2m3;
    case Format::e3m2:
      return &kE3m2;
    default:
      return nullptr;
  }
}

// e2m1x2 is a byte of two nibbles, 16-bit formats fill a word, all others two bytes.
u32 bits_of(Format format) {
  return format == Format::e2m1 ? 4 : format == Format::f16 || format == Format::bf16 ? 16 : 8;
}

u32 encode_scale(float value, Rounding rounding) {
  u32 bits = std::bit_cast<u32>(value) & 0x7fffffff;
  if (value != value) return 255;
  u32 code = bits >> 23;
  if (rounding == Rounding::up && (bits & 0x7fffff)) ++code;
  return std::min(code, 254u);
}

u32 encode(float value, const Plan& plan) {
  if (plan.is_relu && value < 0) value = 0;
  if (plan.to == Format::bf16) return to_bf16(value, plan.rounding);
  if (plan.to == Format::ue8m0) return encode_scale(value, plan.rounding);
  return encode_small(*small(plan.to), value, plan.rounding, plan.saturates);
}

float decode(u32 code, Format from) {
  if (from == Format::bf16) return from_bf16(u16(code));
  if (from == Format::ue8m0) return code == 255 ? NAN : std::ldexp(1.0f, int(code) - 127);
  return decode_small(*small(from), code);
}

u64 read_lane(Warp& w, u32 slot, u32 bytes, u32 lane) {
  return bytes == 2 ? w.at<u16>(slot)[lane] : w.at<u32>(slot)[lane];
}

void convert_pair(Warp& w, const Instruction& i) {
  Plan plan;
  std::memcpy(&plan, &i.detail, sizeof(plan));
  u32 width = bits_of(plan.to);
  each_lane(w.mask, [&](u32 lane) {
    float high, low;
    if (plan.from == Format::f32) {
      high = w.at<float>(i.a)[lane];
      low = w.at<float>(i.b)[lane];
    } else {
      u32 both = u32(read_lane(w, i.a, plan.from_bytes, lane)), from = bits_of(plan.from);
      high = decode(both >> from & ((1u << from) - 1), plan.from);
      low = decode(both & ((1u << from) - 1), plan.from);
    }
    u32 result = encode(high, plan) << width | encode(low, plan);
    if (plan.to_bytes == 2) w.at<u16>(i.to)[lane] = u16(result);
    else w.at<u32>(i.to)[lane] = result;
  });
}

struct PairBf16 {
  u32 operator()(float a, float b) const { return u32(to_bf16(a)) << 16 | to_bf16(b); }
};
struct Tf32 {
  u32 operator()(float a) const { return to_tf32(a); }
};
struct Tf32Even {
  u32 operator()(float a) const {
    u32 bits = std::bit_cast<u32>(a);
    return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000;
  }
};

Format read_format(const std::string& type) {
  static const std::unordered_map<std::string, Format> table = {{"f32", Format::f32}, {"f16x2", Format::f16},
      {"bf16x2", Format::bf16}, {"e4m3x2", Format::e4m3}, {"e5m2x2", Format::e5m2}, {"e2m1x2", Format::e2m1},
      {"e2m3x2", Format::e2m3}, {"e3m2x2", Format::e3m2}, {"ue8m0x2", Format::ue8m0}};
  auto found = table.find(type);
  return found == table.end() ? Format::none : found->second;
}

}  // namespace

bool decode_packed(Decoder& decoder, const Statement& s, Instruction& i) {
  size_t count = s.opcode.size();
  if (count < 3) return false;
  if (s.opcode[count - 2] == "tf32") {
    std::string name = join_opcode(s.opcode);
    if (name == "cvt.rna.tf32.f32") i.run = map1<Tf32, u32, float>;
    else if (name == "cvt.rn.tf32.f32") i.run = map1<Tf32Even, u32, float>;
    else refuse(s.line, "the emulator does not know " + name);
    i.to = decoder.destination(s.operands[0], 4);
    i.a = decoder.source(s.operands[1], 4);
    return true;
  }
  Plan plan{};
  plan.to = read_format(s.opcode[count - 2]);
  plan.from = read_format(s.opcode[count - 1]);
  if (plan.to == Format::none || plan.from == Format::none || plan.to == Format::f32) return false;
  Parts parts(s);
  parts.take_type();
  parts.take_type();
  std::string rounding = parts.take_one_of({"rn", "rz", "rp"});
  plan.rounding = rounding == "rz" ? Rounding::zero : rounding == "rp" ? Rounding::up : Rounding::nearest;
  plan.saturates = parts.take("satfinite");
  plan.is_relu = parts.take("relu");
  parts.expect_none();
  if (s.operands.size() != (plan.from == Format::f32 ? 3u : 2u))
    refuse(s.line, "cvt has another count of operands");
  plan.to_bytes = bits_of(plan.to) == 16 ? 4 : 2;
  plan.from_bytes = plan.from == Format::f32 || bits_of(plan.from) == 16 ? 4 : 2;
  i.to = decoder.destination(s.operands[0], plan.to_bytes);
  i.a = decoder.source(s.operands[1], plan.from_bytes);
  if (plan.from == Format::f32) i.b = decoder.source(s.operands[2], 4);
  std::memcpy(&i.detail, &plan, sizeof(plan));
  bool is_plain = plan.to == Format::bf16 && plan.from == Format::f32 && rounding == "rn" && !plan.is_relu;
  i.run = is_plain ? Handler(map2<PairBf16, u32, float, float>) : convert_pair;
  return true;
}

}  // namespace emulator
