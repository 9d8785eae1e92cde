// Integer arithmetic: add, sub, mul, mad, div, rem, min, max, abs, neg, carries, sad, dp4a.
#include "lanes.h"

namespace emulator {
namespace {

template <class T>
struct Wide;
template <>
struct Wide<u16> {
  using type = u32;
};
template <>
struct Wide<i16> {
  using type = i32;
};
template <>
struct Wide<u32> {
  using type = u64;
};
template <>
struct Wide<i32> {
  using type = i64;
};
template <>
struct Wide<u64> {
  using type = unsigned __int128;
};
template <>
struct Wide<i64> {
  using type = __int128;
};
template <class T>
using wide = typename Wide<T>::type;
// Arithmetic wraps, so it is done on unsigned values.
template <class T>
using bare = std::make_unsigned_t<T>;

template <class T>
struct Add {
  T operator()(T a, T b) const { return T(bare<T>(a) + bare<T>(b)); }
};
template <class T>
struct Sub {
  T operator()(T a, T b) const { return T(bare<T>(a) - bare<T>(b)); }
};
// Products of 16-bit operands are promoted to int, which may overflow.
template <class T>
struct MulLow {
  T operator()(T a, T b) const { return T(u64(a) * u64(b)); }
};
template <class T>
struct MulHigh {
  T operator()(T a, T b) const { return T((wide<T>(a) * wide<T>(b)) >> (sizeof(T) * 8)); }
};
template <class T>
struct MulWide {
  wide<T> operator()(T a, T b) const { return wide<T>(a) * wide<T>(b); }
};
template <class T>
struct MadLow {
  T operator()(T a, T b, T c) const { return T(u64(a) * u64(b) + u64(c)); }
};
template <class T>
struct MadHigh {
  T operator()(T a, T b, T c) const { return T(bare<T>(MulHigh<T>{}(a, b)) + bare<T>(c)); }
};
template <class T>
struct MadWide {
  wide<T> operator()(T a, T b, wide<T> c) const { return wide<T>(u64(wide<T>(a) * wide<T>(b)) + u64(c)); }
};
// A card returns some value for a division by zero, without an error.
template <class T>
struct Div {
  T operator()(T a, T b) const {
    if (b == 0) return T(~T(0));
    if (std::is_signed_v<T> && b == T(-1)) return T(-bare<T>(a));
    return T(a / b);
  }
};
template <class T>
struct Rem {
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == T(-1)) return 0;
    return T(a % b);
  }
};
template <class T>
struct Min {
  T operator()(T a, T b) const { return a < b ? a : b; }
};
template <class T>
struct Max {
  T operator()(T a, T b) const { return a > b ? a : b; }
};
template <class T>
struct Abs {
  T operator()(T a) const { return a < 0 ? T(-bare<T>(a)) : a; }
};
template <class T>
struct Neg {
  T operator()(T a) const { return T(-bare<T>(a)); }
};
template <class T>
struct AddSat {
  T operator()(T a, T b) const {
    T sum;
    return __builtin_add_overflow(a, b, &sum)
               ? (a < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max())
               : sum;
  }
};
template <class T>
struct Sad {
  T operator()(T a, T b, T c) const { return T(c + (a < b ? b - a : a - b)); }
};

template <bool A, bool B>
struct Dp4a {
  i32 operator()(u32 a, u32 b, i32 c) const {
    u32 sum = u32(c);
    for (int k = 0; k < 32; k += 8) {
      i32 x = A ? i32(i8(a >> k)) : i32(a >> k & 255), y = B ? i32(i8(b >> k)) : i32(b >> k & 255);
      sum += u32(x * y);
    }
    return i32(sum);
  }
};

template <class T, bool SetsCarry, bool TakesCarry, bool Subtracts>
void add_carry(Warp& w, const Instruction& i) {
  Mask& carries = w.carries;
  each_lane(w.mask, [&](u32 lane) {
    wide<T> a = w.at<T>(i.a)[lane], b = w.at<T>(i.b)[lane], in = TakesCarry ? carries >> lane & 1 : 0;
    wide<T> sum = Subtracts ? a - b - in : a + b + in;
    w.at<T>(i.to)[lane] = T(sum);
    if (SetsCarry) carries = (carries & ~(1u << lane)) | Mask((sum >> (sizeof(T) * 8)) & 1) << lane;
  });
}

template <class T>
const char* shape(const char* of16, const char* of32, const char* of64) {
  return sizeof(T) == 2 ? of16 : sizeof(T) == 4 ? of32 : of64;
}

template <class T>
void add_type(PlainTable& table, const std::string& type) {
  const char* two = shape<T>("hhh", "www", "ddd");
  const char* three = shape<T>("hhhh", "wwww", "dddd");
  table["add." + type] = {map2<Add<T>, T, T, T>, two};
  table["sub." + type] = {map2<Sub<T>, T, T, T>, two};
  table["mul.lo." + type] = {map2<MulLow<T>, T, T, T>, two};
  table["mul.hi." + type] = {map2<MulHigh<T>, T, T, T>, two};
  table["mad.lo." + type] = {map3<MadLow<T>, T, T, T, T>, three};
  table["mad.hi." + type] = {map3<MadHigh<T>, T, T, T, T>, three};
  table["div." + type] = {map2<Div<T>, T, T, T>, two};
  table["rem." + type] = {map2<Rem<T>, T, T, T>, two};
  table["min." + type] = {map2<Min<T>, T, T, T>, two};
  table["max." + type] = {map2<Max<T>, T, T, T>, two};
  table["sad." + type] = {map3<Sad<T>, T, T, T, T>, three};
  if constexpr (sizeof(T) < 8) {
    table["mul.wide." + type] = {map2<MulWide<T>, wide<T>, T, T>, shape<T>("whh", "dww", "")};
    table["mad.wide." + type] = {map3<MadWide<T>, wide<T>, T, T, wide<T>>, shape<T>("whhw", "dwwd", "")};
  }
  if constexpr (std::is_signed_v<T>) {
    table["abs." + type] = {map1<Abs<T>, T, T>, shape<T>("hh", "ww", "dd")};
    table["neg." + type] = {map1<Neg<T>, T, T>, shape<T>("hh", "ww", "dd")};
  }
}

template <class T>
void add_carries(PlainTable& table, const std::string& type) {
  const char* two = shape<T>("", "www", "ddd");
  table["add.cc." + type] = {add_carry<T, true, false, false>, two};
  table["addc." + type] = {add_carry<T, false, true, false>, two};
  table["addc.cc." + type] = {add_carry<T, true, true, false>, two};
  table["sub.cc." + type] = {add_carry<T, true, false, true>, two};
  table["subc." + type] = {add_carry<T, false, true, true>, two};
  table["subc.cc." + type] = {add_carry<T, true, true, true>, two};
}

}  // namespace

void add_integer_ops(PlainTable& table) {
  add_type<u16>(table, "u16");
  add_type<i16>(table, "s16");
  add_type<u32>(table, "u32");
  add_type<i32>(table, "s32");
  add_type<u64>(table, "u64");
  add_type<i64>(table, "s64");
  add_carries<u32>(table, "u32");
  add_carries<u32>(table, "s32");
  add_carries<u64>(table, "u64");
  add_carries<u64>(table, "s64");
  table["add.sat.s32"] = {map2<AddSat<i32>, i32, i32, i32>, "www"};
  table["dp4a.u32.u32"] = {map3<Dp4a<false, false>, i32, u32, u32, i32>, "wwww"};
  table["dp4a.s32.s32"] = {map3<Dp4a<true, true>, i32, u32, u32, i32>, "wwww"};
  table["dp4a.u32.s32"] = {map3<Dp4a<false, true>, i32, u32, u32, i32>, "wwww"};
  table["dp4a.s32.u32"] = {map3<Dp4a<true, false>, i32, u32, u32, i32>, "wwww"};
}

}  // namespace emulator
