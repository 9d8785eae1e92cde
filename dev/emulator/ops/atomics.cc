// atom and red, in global and shared memory. Those on global memory use host atomics, across all threads.
#include "access.h"
#include "formats.h"

namespace emulator {
namespace {

enum class Op : u8 { add, min, max, and_, or_, xor_, exch, cas, inc, dec };

template <class T>
T combine(Op op, T old, T value, T other) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == Op::min) return std::fmin(old, value);
    if (op == Op::max) return std::fmax(old, value);
    return op == Op::add ? old + value : value;
  } else {
    using U = std::make_unsigned_t<T>;
    switch (op) {
      case Op::add:
        return T(U(old) + U(value));
      case Op::min:
        return std::min(old, value);
      case Op::max:
        return std::max(old, value);
      case Op::and_:
        return old & value;
      case Op::or_:
        return old | value;
      case Op::xor_:
        return old ^ value;
      case Op::exch:
        return value;
      case Op::cas:
        return old == value ? other : old;
      case Op::inc:
        return U(old) >= U(value) ? 0 : T(old + 1);
      case Op::dec:
        return old == 0 || U(old) > U(value) ? value : T(old - 1);
    }
    return value;
  }
}

struct HalfPair {
  u32 bits;
};
struct Bf16Pair {
  u32 bits;
};
struct Half {
  u16 bits;
};
struct Bf16 {
  u16 bits;
};

template <class T>
struct Bits {
  using type = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 4, u32, u16>>;
};

template <class T>
typename Bits<T>::type apply(
    Op op, typename Bits<T>::type old, typename Bits<T>::type value, typename Bits<T>::type other) {
  using U = typename Bits<T>::type;
  auto f16 = [](u16 a, u16 b) { return to_f16(double(from_f16(a)) + from_f16(b)); };
  auto bf16 = [](u16 a, u16 b) { return to_bf16(from_bf16(a) + from_bf16(b)); };
  if constexpr (std::is_same_v<T, Half>) return f16(old, value);
  else if constexpr (std::is_same_v<T, Bf16>) return bf16(old, value);
  else if constexpr (std::is_same_v<T, HalfPair>)
    return u32(f16(u16(old), u16(value))) | u32(f16(u16(old >> 16), u16(value >> 16))) << 16;
  else if constexpr (std::is_same_v<T, Bf16Pair>)
    return u32(bf16(u16(old), u16(value))) | u32(bf16(u16(old >> 16), u16(value >> 16))) << 16;
  else
    return std::bit_cast<U>(
        combine<T>(op, std::bit_cast<T>(old), std::bit_cast<T>(value), std::bit_cast<T>(other)));
}

// Flags of Instruction::target: what the operation orders, and whether other blocks see it.
constexpr u32 kReleases = 1, kAcquires = 2, kOfCard = 4;

template <class T>
void run_atomic(Warp& w, const Instruction& i) {
  using U = typename Bits<T>::type;
  Op op = Op(i.detail & 255);
  Where where = Where(i.detail >> 8 & 255);
  Addresses addresses = lane_addresses(w, i);
  if (where == Where::generic) {
    where = find_window(w, i, addresses);
    bool is_peer = where == Where::shared && is_mapped(w, addresses);
    for (u64& at : addresses.at) at = where == Where::generic ? at : at & (kWindowSize - 1);
    if (where == Where::generic) where = Where::global;
    if (is_peer) where = Where::cluster;
  }
  if (where == Where::local) fault(w, i, "an atomic operation on local memory");
  if (where == Where::global) {
    note_write(w, i, addresses, sizeof(T));
    check_global(w, i, addresses, sizeof(T));
  }
  if (where == Where::shared) check_shared(w, i, addresses, sizeof(T));
  if (Settings::get().counts) {
    if (where == Where::global) count_global(w.block->counts, w.mask, addresses, sizeof(T));
    if (where == Where::shared) count_shared(w.block->counts, w.mask, addresses, sizeof(T), false);
  }
  const bool is_of_card = i.target & kOfCard;
  if (is_of_card && (i.target & kReleases)) w.block->handover.release();
  each_lane(w.mask, [&](u32 lane) {
    u64 address = addresses.at[lane];
    auto* at = reinterpret_cast<U*>(
        where == Where::global    ? reinterpret_cast<std::byte*>(address)
        : where == Where::cluster ? cluster_at(w, i, lane, address, sizeof(T), Access::atomic)
                                  : w.block->shared + address);
    if (where == Where::shared) w.block->shadow.atomic(w, i, lane, u32(address), sizeof(T));
    U value = w.at<U>(i.b)[lane], other = i.c == kNone ? U(0) : w.at<U>(i.c)[lane];
    U old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(
        at, &old, apply<T>(op, old, value, other), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
    if (i.to != kNone) w.at<U>(i.to)[lane] = old;
  });
  if (is_of_card) w.block->handover.observe();
  if (is_of_card && (i.target & kAcquires)) w.block->handover.acquire();
}

Handler find_type(const std::string& type, Op op) {
  if (type == "f16x2") return op == Op::add ? run_atomic<HalfPair> : nullptr;
  if (type == "bf16x2") return op == Op::add ? run_atomic<Bf16Pair> : nullptr;
  if (type == "f16") return op == Op::add ? run_atomic<Half> : nullptr;
  if (type == "bf16") return op == Op::add ? run_atomic<Bf16> : nullptr;
  if (type == "f32") return run_atomic<float>;
  if (type == "f64") return run_atomic<double>;
  if (type == "b16") return run_atomic<u16>;
  if (type == "s32") return run_atomic<i32>;
  if (type == "u32" || type == "b32") return run_atomic<u32>;
  if (type == "s64") return run_atomic<i64>;
  if (type == "u64" || type == "b64") return run_atomic<u64>;
  return nullptr;
}

void decode_atomic(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  std::string type = parts.take_type();
  Where where = parts.take("global")                                ? Where::global
                : parts.take("shared") || parts.take("shared::cta") ? Where::shared
                : parts.take("shared::cluster")                     ? Where::cluster
                                                                    : Where::generic;
  std::string order = parts.take_one_of({"relaxed", "acquire", "release", "acq_rel"}),
              scope = parts.take_one_of({"cta", "cluster", "gpu", "sys"});
  parts.take("noftz");
  i.target = (order == "release" || order == "acq_rel" ? kReleases : 0) |
             (order == "acquire" || order == "acq_rel" ? kAcquires : 0) |
             (scope == "cta" || scope == "cluster" ? 0 : kOfCard);
  static const std::unordered_map<std::string, Op> ops = {{"add", Op::add}, {"min", Op::min},
      {"max", Op::max}, {"and", Op::and_}, {"or", Op::or_}, {"xor", Op::xor_}, {"exch", Op::exch},
      {"cas", Op::cas}, {"inc", Op::inc}, {"dec", Op::dec}};
  std::string name =
      parts.take_one_of({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  parts.expect_none();
  if (name.empty() || !find_type(type, ops.at(name)))
    refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  u32 bytes = read_type(type, s.line).bytes;
  decoder.code().hands_over |= name != "cas" && (where == Where::global || where == Where::generic);
  i.run = find_type(type, ops.at(name));
  i.detail = u64(ops.at(name)) | u64(where) << 8;
  size_t at = 0;
  if (s.opcode[0] == "atom") i.to = decoder.destination(s.operands.at(at++), bytes);
  decoder.address(s.operands.at(at++), i);
  i.b = decoder.source(s.operands.at(at++), bytes);
  if (name == "cas") i.c = decoder.source(s.operands.at(at++), bytes);
}

}  // namespace

void add_atomic_ops(DecodeTable& table) { table["atom"] = table["red"] = decode_atomic; }

}  // namespace emulator
