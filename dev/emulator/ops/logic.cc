// Bits: logic, shifts, fields, permutations, counts, selection, plain moves.
#include "lanes.h"

namespace emulator {
namespace {

template <class T>
struct And {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct Or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct Xor {
  T operator()(T a, T b) const { return a ^ b; }
};
template <class T>
struct Not {
  T operator()(T a) const { return T(~a); }
};
template <class T>
struct Cnot {
  T operator()(T a) const { return a == 0; }
};
template <class T>
struct Same {
  T operator()(T a) const { return a; }
};
// Shifts by more than the width clear, or fill with the sign.
template <class T>
struct ShiftLeft {
  T operator()(T a, u32 b) const { return b < sizeof(T) * 8 ? T(u64(a) << (b & 63)) : T(0); }
};
template <class T>
struct ShiftRight {
  T operator()(T a, u32 b) const {
    constexpr u32 bits = sizeof(T) * 8;
    if (b >= bits) return std::is_signed_v<T> ? T(a >> (bits - 1)) : T(0);
    return T(a >> b);
  }
};
template <class T>
struct Popc {
  u32 operator()(T a) const { return u32(std::popcount(a)); }
};
template <class T>
struct Clz {
  u32 operator()(T a) const { return u32(std::countl_zero(a)); }
};
template <class T>
struct Brev {
  T operator()(T a) const {
    T result = 0;
    for (size_t k = 0; k < sizeof(T) * 8; ++k) result |= (a >> k & 1) << (sizeof(T) * 8 - 1 - k);
    return result;
  }
};
template <class T, bool AsShift>
struct FindHigh {
  u32 operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U bits = U(a < 0 ? ~a : a);
    if (!bits) return ~0u;
    u32 at = u32(sizeof(T) * 8 - 1) - u32(std::countl_zero(bits));
    return AsShift ? u32(sizeof(T) * 8 - 1) - at : at;
  }
};
template <class T>
struct Extract {
  T operator()(T a, u32 at, u32 length) const {
    constexpr u32 bits = sizeof(T) * 8;
    at &= 255;
    length &= 255;
    using U = std::make_unsigned_t<T>;
    bool is_negative = std::is_signed_v<T> && length && (U(a) >> std::min(at + length - 1, bits - 1) & 1);
    U field = at < bits ? U(U(a) >> at) : U(0);
    if (at >= bits && is_negative) field = U(~U(0));
    if (length >= bits)
      return at == 0 || !is_negative ? T(field) : T(field | (at < bits ? ~(U(~U(0)) >> at) : 0));
    U mask = U((U(1) << length) - 1);
    return T(is_negative ? field | U(~mask) : field & mask);
  }
};
template <class T>
struct Insert {
  T operator()(T a, T b, u32 at, u32 length) const {
    constexpr u32 bits = sizeof(T) * 8;
    at &= 255;
    length &= 255;
    if (!length || at >= bits) return b;
    T mask = T((length >= bits ? T(~T(0)) : T((T(1) << length) - 1)) << at);
    return T((b & ~mask) | (T(a << at) & mask));
  }
};

template <class T>
void insert_field(Warp& w, const Instruction& i) {
  map_lanes<Insert<T>>(w.mask, w.at<T>(i.to), w.at<const T>(i.a), w.at<const T>(i.b), w.at<const u32>(i.c),
      w.at<const u32>(w.list(i, 0)));
}

template <bool Left, bool Wraps>
struct Funnel {
  u32 operator()(u32 low, u32 high, u32 by) const {
    u64 both = u64(high) << 32 | low;
    u32 n = Wraps ? by & 31 : std::min(by, 32u);
    return Left ? u32((both << n) >> 32) : u32(both >> n);
  }
};

struct Permute {
  u32 operator()(u32 a, u32 b, u32 select) const {
    u64 both = u64(b) << 32 | a;
    u32 result = 0;
    for (int k = 0; k < 4; ++k) {
      u32 pick = select >> (4 * k) & 15;
      u32 byte = u32(both >> (8 * (pick & 7))) & 255;
      if (pick & 8) byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * k);
    }
    return result;
  }
};

void lop3(Warp& w, const Instruction& i) {
  const u32* table = w.at<const u32>(w.list(i, 0));
  const u32 *a = w.at<const u32>(i.a), *b = w.at<const u32>(i.b), *c = w.at<const u32>(i.c);
  u32* to = w.at<u32>(i.to);
  u32 bits = table[0];
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    u32 result = 0;
    for (int k = 0; k < 8; ++k)
      result |= (bits >> k & 1 ? ~0u : 0) & (k & 4 ? a[lane] : ~a[lane]) & (k & 2 ? b[lane] : ~b[lane]) &
                (k & 1 ? c[lane] : ~c[lane]);
    to[lane] = w.mask >> lane & 1 ? result : to[lane];
  }
}

template <class T>
void select(Warp& w, const Instruction& i) {
  Mask holds = w.predicate(i.c) ^ (i.detail >> 3 & 1 ? kAllLanes : 0);
  const T *a = w.at<const T>(i.a), *b = w.at<const T>(i.b);
  T* to = w.at<T>(i.to);
  Mask mask = w.mask;
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    T picked = holds >> lane & 1 ? a[lane] : b[lane];
    to[lane] = mask >> lane & 1 ? picked : to[lane];
  }
}

struct SignPick {
  u32 operator()(u32 a, u32 b, i32 c) const { return c >= 0 ? a : b; }
};
struct SignPickFloat {
  u32 operator()(u32 a, u32 b, float c) const { return c >= 0 ? a : b; }
};

Mask read_predicate(Warp& w, const Instruction& i, u32 slot, int operand) {
  return w.predicate(slot) ^ (i.detail >> operand & 1 ? kAllLanes : 0);
}
template <int Kind>
void logic_predicates(Warp& w, const Instruction& i) {
  Mask a = read_predicate(w, i, i.a, 1);
  Mask b = Kind < 3 ? read_predicate(w, i, i.b, 2) : 0;
  set_predicate(w, i.to, Kind == 0 ? a & b : Kind == 1 ? a | b : Kind == 2 ? a ^ b : Kind == 3 ? ~a : a);
}

template <class T>
void add_type(PlainTable& table, const std::string& bits, char letter) {
  static std::vector<std::unique_ptr<std::string>> shapes;
  auto shape = [&](std::string text) {
    std::replace(text.begin(), text.end(), 'x', letter);
    return shapes.emplace_back(std::make_unique<std::string>(text))->c_str();
  };
  using S = std::make_signed_t<T>;
  table["and.b" + bits] = {map2<And<T>, T, T, T>, shape("xxx")};
  table["or.b" + bits] = {map2<Or<T>, T, T, T>, shape("xxx")};
  table["xor.b" + bits] = {map2<Xor<T>, T, T, T>, shape("xxx")};
  table["not.b" + bits] = {map1<Not<T>, T, T>, shape("xx")};
  table["cnot.b" + bits] = {map1<Cnot<T>, T, T>, shape("xx")};
  table["shl.b" + bits] = {map2<ShiftLeft<T>, T, T, u32>, shape("xxw")};
  table["shr.b" + bits] = table["shr.u" + bits] = {map2<ShiftRight<T>, T, T, u32>, shape("xxw")};
  table["shr.s" + bits] = {map2<ShiftRight<S>, S, S, u32>, shape("xxw")};
  for (const char* kind : {"b", "u", "s", "f"}) {
    table[std::string("mov.") + kind + bits] = {map1<Same<T>, T, T>, shape("xx")};
    table[std::string("selp.") + kind + bits] = {select<T>, shape("xxxp")};
  }
  if constexpr (sizeof(T) >= 4) {
    table["popc.b" + bits] = {map1<Popc<T>, u32, T>, shape("wx")};
    table["clz.b" + bits] = {map1<Clz<T>, u32, T>, shape("wx")};
    table["brev.b" + bits] = {map1<Brev<T>, T, T>, shape("xx")};
    table["bfind.u" + bits] = {map1<FindHigh<T, false>, u32, T>, shape("wx")};
    table["bfind.s" + bits] = {map1<FindHigh<S, false>, u32, S>, shape("wx")};
    table["bfind.shiftamt.u" + bits] = {map1<FindHigh<T, true>, u32, T>, shape("wx")};
    table["bfind.shiftamt.s" + bits] = {map1<FindHigh<S, true>, u32, S>, shape("wx")};
    table["bfe.u" + bits] = {map3<Extract<T>, T, T, u32, u32>, shape("xxww")};
    table["bfe.s" + bits] = {map3<Extract<S>, S, S, u32, u32>, shape("xxww")};
    table["bfi.b" + bits] = {insert_field<T>, shape("xxxww")};
  }
}

}  // namespace

void add_logic_ops(PlainTable& table) {
  add_type<u16>(table, "16", 'h');
  add_type<u32>(table, "32", 'w');
  add_type<u64>(table, "64", 'd');
  table["mov.bf16"] = table["mov.b16"];
  table["lop3.b32"] = {lop3, "wwwww"};
  table["prmt.b32"] = {map3<Permute, u32, u32, u32, u32>, "wwww"};
  table["shf.l.wrap.b32"] = {map3<Funnel<true, true>, u32, u32, u32, u32>, "wwww"};
  table["shf.l.clamp.b32"] = {map3<Funnel<true, false>, u32, u32, u32, u32>, "wwww"};
  table["shf.r.wrap.b32"] = {map3<Funnel<false, true>, u32, u32, u32, u32>, "wwww"};
  table["shf.r.clamp.b32"] = {map3<Funnel<false, false>, u32, u32, u32, u32>, "wwww"};
  for (const char* type : {"b32", "u32", "s32", "f32"}) {
    table[std::string("slct.") + type + ".s32"] = {map3<SignPick, u32, u32, u32, i32>, "wwww"};
    table[std::string("slct.") + type + ".f32"] = {map3<SignPickFloat, u32, u32, u32, float>, "wwww"};
  }
  table["and.pred"] = {logic_predicates<0>, "ppp"};
  table["or.pred"] = {logic_predicates<1>, "ppp"};
  table["xor.pred"] = {logic_predicates<2>, "ppp"};
  table["not.pred"] = {logic_predicates<3>, "pp"};
  table["mov.pred"] = {logic_predicates<4>, "pp"};
}

}  // namespace emulator
