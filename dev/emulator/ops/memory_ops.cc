// ld and st.
#include "access.h"

namespace emulator {
namespace {

// Lists hold the registers of a vector.
template <class Mem, class Reg>
inline void put(Warp& w, const Instruction& i, u32 lane, const std::byte* from) {
  for (u32 k = 0; k < i.list_size; ++k) {
    Mem value;
    std::memcpy(&value, from + sizeof(Mem) * k, sizeof(Mem));
    w.at<Reg>(w.list(i, k))[lane] = Reg(value);
  }
}
template <class Mem, class Reg>
inline void take(Warp& w, const Instruction& i, u32 lane, std::byte* to) {
  for (u32 k = 0; k < i.list_size; ++k) {
    Mem value = Mem(w.at<Reg>(w.list(i, k))[lane]);
    std::memcpy(to + sizeof(Mem) * k, &value, sizeof(Mem));
  }
}

template <class Mem, class Reg>
void load_global_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  check_global(w, i, addresses, size);
  check_handover(w, i, addresses, size);
  if (Settings::get().counts) count_global(w.block->counts, w.mask, addresses, size);
  each_lane(
      w.mask, [&](u32 lane) { put<Mem, Reg>(w, i, lane, reinterpret_cast<std::byte*>(addresses.at[lane])); });
}
template <class Mem, class Reg>
void load_shared_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  check_shared(w, i, addresses, size);
  if (Settings::get().counts) count_shared(w.block->counts, w.mask, addresses, size, false);
  each_lane(w.mask, [&](u32 lane) {
    w.block->shadow.read(w, i, lane, u32(addresses.at[lane]), size);
    put<Mem, Reg>(w, i, lane, w.block->shared + addresses.at[lane]);
  });
}
template <class Mem, class Reg>
void load_cluster_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  each_lane(w.mask, [&](u32 lane) {
    put<Mem, Reg>(w, i, lane, cluster_at(w, i, lane, addresses.at[lane], size, Access::read));
  });
}
template <class Mem, class Reg>
void load_local_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  each_lane(
      w.mask, [&](u32 lane) { put<Mem, Reg>(w, i, lane, local_at(w, i, lane, addresses.at[lane], size)); });
}
template <class Mem, class Reg>
void load_param_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  const auto& params = w.block->launch->params;
  each_lane(w.mask, [&](u32 lane) {
    if (addresses.at[lane] + size > params.size()) fault(w, i, "address outside the parameters");
    put<Mem, Reg>(w, i, lane, params.data() + addresses.at[lane]);
  });
}

template <class Mem, class Reg>
void store_global_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  note_write(w, i, addresses, size);
  check_global(w, i, addresses, size);
  note_own_write(w, addresses, size);
  if (Settings::get().counts) count_global(w.block->counts, w.mask, addresses, size);
  each_lane(w.mask,
      [&](u32 lane) { take<Mem, Reg>(w, i, lane, reinterpret_cast<std::byte*>(addresses.at[lane])); });
}
template <class Mem, class Reg>
void store_shared_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  check_shared(w, i, addresses, size);
  if (Settings::get().counts) count_shared(w.block->counts, w.mask, addresses, size, false);
  each_lane(w.mask, [&](u32 lane) {
    w.block->shadow.write(w, i, lane, u32(addresses.at[lane]), size);
    take<Mem, Reg>(w, i, lane, w.block->shared + addresses.at[lane]);
  });
}
template <class Mem, class Reg>
void store_cluster_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  each_lane(w.mask, [&](u32 lane) {
    take<Mem, Reg>(w, i, lane, cluster_at(w, i, lane, addresses.at[lane], size, Access::write));
  });
}
template <class Mem, class Reg>
void store_local_at(Warp& w, const Instruction& i, const Addresses& addresses) {
  u32 size = sizeof(Mem) * i.list_size;
  each_lane(
      w.mask, [&](u32 lane) { take<Mem, Reg>(w, i, lane, local_at(w, i, lane, addresses.at[lane], size)); });
}

using At = void (*)(Warp&, const Instruction&, const Addresses&);
template <At Run>
void run_at(Warp& w, const Instruction& i) {
  Run(w, i, lane_addresses(w, i));
}

template <At Global, At Shared, At Mapped, At Local, At Param>
void run_generic(Warp& w, const Instruction& i) {
  Addresses addresses = lane_addresses(w, i);
  Where where = find_window(w, i, addresses);
  for (u64& at : addresses.at) at = where == Where::generic ? at : at & (kWindowSize - 1);
  if (where == Where::generic) Global(w, i, addresses);
  else if (where == Where::shared && is_mapped(w, addresses)) Mapped(w, i, addresses);
  else if (where == Where::shared) Shared(w, i, addresses);
  else if (where == Where::local) Local(w, i, addresses);
  else if constexpr (Param != nullptr) Param(w, i, addresses);
  else fault(w, i, "writes to the parameters of the kernel");
}

template <class Mem, class Reg>
Handler pick_load(Where where) {
  switch (where) {
    case Where::global:
      return run_at<load_global_at<Mem, Reg>>;
    case Where::shared:
      return run_at<load_shared_at<Mem, Reg>>;
    case Where::cluster:
      return run_at<load_cluster_at<Mem, Reg>>;
    case Where::local:
      return run_at<load_local_at<Mem, Reg>>;
    case Where::param:
      return run_at<load_param_at<Mem, Reg>>;
    case Where::generic:
      return run_generic<load_global_at<Mem, Reg>, load_shared_at<Mem, Reg>, load_cluster_at<Mem, Reg>,
          load_local_at<Mem, Reg>, load_param_at<Mem, Reg>>;
  }
  return nullptr;
}
template <class Mem, class Reg>
Handler pick_store(Where where) {
  switch (where) {
    case Where::global:
      return run_at<store_global_at<Mem, Reg>>;
    case Where::shared:
      return run_at<store_shared_at<Mem, Reg>>;
    case Where::cluster:
      return run_at<store_cluster_at<Mem, Reg>>;
    case Where::local:
      return run_at<store_local_at<Mem, Reg>>;
    case Where::param:
      return nullptr;
    case Where::generic:
      return run_generic<store_global_at<Mem, Reg>, store_shared_at<Mem, Reg>, store_cluster_at<Mem, Reg>,
          store_local_at<Mem, Reg>, nullptr>;
  }
  return nullptr;
}

template <class Mem>
Handler pick_width(Where where, u32 register_bytes, bool is_load) {
  if (register_bytes == 2) return is_load ? pick_load<Mem, u16>(where) : pick_store<Mem, u16>(where);
  if (register_bytes == 4) return is_load ? pick_load<Mem, u32>(where) : pick_store<Mem, u32>(where);
  return is_load ? pick_load<Mem, u64>(where) : pick_store<Mem, u64>(where);
}

Handler pick(Where where, TypeInfo type, u32 register_bytes, bool is_load) {
  // Only a load of a signed number into a wider register sign-extends.
  bool is_signed = type.kind == 's' && is_load;
  switch (type.bytes) {
    case 1:
      return is_signed ? pick_width<i8>(where, register_bytes, is_load)
                       : pick_width<u8>(where, register_bytes, is_load);
    case 2:
      return is_signed ? pick_width<i16>(where, register_bytes, is_load)
                       : pick_width<u16>(where, register_bytes, is_load);
    case 4:
      return is_signed ? pick_width<i32>(where, register_bytes, is_load)
                       : pick_width<u32>(where, register_bytes, is_load);
    default:
      return pick_width<u64>(where, register_bytes, is_load);
  }
}

void drop_hints(Parts& parts) {
  for (const char* hint :
      {"weak", "volatile", "relaxed", "acquire", "release", "mmio", "cta", "cluster", "gpu", "sys", "nc",
          "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged",
          "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B",
          "L2::evict_first", "L2::evict_last", "L2::evict_normal", "L2::cache_hint", "unified"})
    parts.take(hint);
}

void decode_access(Decoder& decoder, const Statement& s, Instruction& i, bool is_load) {
  Parts parts(s);
  TypeInfo type = read_type(parts.take_type(), s.line);
  Where where = take_space(parts);
  drop_hints(parts);
  u32 lanes = parts.take("v2") ? 2 : parts.take("v4") ? 4 : parts.take("v8") ? 8 : 1;
  parts.expect_none();
  const Operand& value = s.operands.at(is_load ? 0 : 1);
  const Space* named = decoder.address(s.operands.at(is_load ? 1 : 0), i);
  if (named && where == Where::param && *named == Space::local) where = Where::local;
  if (named && where == Where::generic)
    where = *named == Space::shared  ? Where::shared
            : *named == Space::local ? Where::local
            : *named == Space::param ? Where::param
                                     : Where::global;
  std::vector<const Operand*> items;
  if (value.kind == Operand::Kind::list)
    for (const Operand& item : value.items) items.push_back(&item);
  else items.push_back(&value);
  if (items.size() != lanes) refuse(s.line, "the vector has another size than its opcode");
  u32 bytes = std::max(2u, type.bytes);
  for (const Operand* item : items)
    if (item->kind == Operand::Kind::reg) bytes = decoder.register_bytes(*item);
  for (const Operand* item : items)
    decoder.list({is_load ? decoder.destination(*item, bytes) : decoder.source(*item, bytes)}, i);
  i.run = pick(where, type, bytes, is_load);
  if (!i.run) refuse(s.line, "the parameters of a kernel cannot be written");
}

void decode_ld(Decoder& decoder, const Statement& s, Instruction& i) { decode_access(decoder, s, i, true); }
void decode_st(Decoder& decoder, const Statement& s, Instruction& i) { decode_access(decoder, s, i, false); }

}  // namespace

void add_memory_ops(DecodeTable& table) {
  table["ld"] = table["ldu"] = decode_ld;
  table["st"] = decode_st;
  add_space_ops(table);
}

}  // namespace emulator
