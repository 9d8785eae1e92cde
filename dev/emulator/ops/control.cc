// Branches, calls, exits, barriers, fences, clocks, and mov with operands other than plain registers.
#include <ctime>

#include "../machine/async.h"
#include "../machine/cluster.h"
#include "access.h"

namespace emulator {
namespace {

void run_branch(Warp& w, const Instruction& i) { w.branch(w.mask, i.target); }

void run_branch_table(Warp& w, const Instruction& i) {
  const u32* index = w.at<const u32>(i.a);
  Mask left = w.mask;
  // Splits the group by target. Each part then branches away from the others.
  while (left) {
    u32 first = index[std::countr_zero(left)];
    if (first >= i.list_size)
      fault(w, i, "the index " + std::to_string(first) + " is outside the table of branches");
    Mask same = 0;
    each_lane(left, [&](u32 lane) { same |= Mask(index[lane] == first) << lane; });
    left &= ~same;
    if (!left && same == w.active) {
      w.pc = w.list(i, first);
    } else {
      w.waiting.push_back({w.list(i, first), same, false});
      w.active &= ~same;
    }
  }
  w.regroup();
}

void run_exit(Warp& w, const Instruction&) { w.exit(w.mask); }
void run_nothing(Warp&, const Instruction&) {}
void run_trap(Warp& w, const Instruction& i) { fault(w, i, "trap"); }

void run_barrier(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "a barrier")) return;
  u32 index = w.at<const u32>(i.b)[std::countr_zero(w.mask)];
  u32 expected = i.c == kNone ? 0 : w.at<const u32>(i.c)[std::countr_zero(w.mask)];
  w.block->arrive(w, i, index, expected, !i.list_size);
}

void run_warp_barrier(Warp& w, const Instruction& i) {
  Mask wanted = w.at<const u32>(i.a)[std::countr_zero(w.mask)];
  if (w.gather(i, wanted, "bar.warp.sync")) w.block->cluster->clocks.sync_warp(id_of(w));
}

template <class T>
void run_clock(Warp& w, const Instruction& i) {
  std::timespec now;
  std::timespec_get(&now, TIME_UTC);
  u64 time = u64(now.tv_sec) * 1000000000 + u64(now.tv_nsec);
  each_lane(w.mask, [&](u32 lane) { w.at<T>(i.to)[lane] = T(time); });
}

void run_nanosleep(Warp& w, const Instruction&) { w.state = WarpState::polling; }

void run_active_mask(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 lane) { w.at<u32>(i.to)[lane] = w.active; });
}

void decode_bra(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  parts.take("uni");
  parts.expect_none();
  i.run = run_branch;
  decoder.branch_to(s.operands.at(0).name);
}

void decode_brx(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  parts.take("uni");
  if (!parts.take("idx")) refuse(s.line, "brx needs .idx");
  parts.expect_none();
  i.run = run_branch_table;
  i.a = decoder.source(s.operands.at(0), 4);
  decoder.branch_table(s.operands.at(1).name, i);
}

void decode_call(Decoder& decoder, const Statement& s, Instruction& i) {
  if (i.guard != kNone) refuse(s.line, "a call with a guard is not known");
  decoder.call(s);
}

void decode_ret(Decoder& decoder, const Statement&, Instruction& i) {
  i.run = run_branch;
  decoder.leave();
}

void decode_exit(Decoder&, const Statement&, Instruction& i) { i.run = run_exit; }
void decode_trap(Decoder&, const Statement&, Instruction& i) { i.run = run_trap; }
void decode_nothing(Decoder&, const Statement&, Instruction& i) { i.run = run_nothing; }
void decode_nanosleep(Decoder&, const Statement&, Instruction& i) { i.run = run_nanosleep; }

void decode_activemask(Decoder& decoder, const Statement& s, Instruction& i) {
  i.to = decoder.destination(s.operands.at(0), 4);
  i.run = run_active_mask;
}

// bar.sync a {, b}; bar.arrive a, b; bar.red.popc.u32 d, a {, b}, p; bar.red.and.pred p, a {, b}, q; and the
// same with barrier and .cta.
void decode_bar(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  parts.take("cta");
  parts.take("aligned");
  if (parts.take("warp")) {
    parts.take("sync");
    parts.expect_none();
    i.a = decoder.source(s.operands.at(0), 4);
    i.run = run_warp_barrier;
    return;
  }
  if (parts.take("cluster")) return decode_cluster_barrier(decoder, s, i);
  i.run = run_barrier;
  size_t at = 0;
  if (parts.take("red")) {
    std::string kind = parts.take_one_of({"popc", "and", "or"});
    parts.take_one_of({"u32", "pred"});
    i.detail = kind == "popc" ? kReducePopc : kind == "and" ? kReduceAnd : kReduceOr;
    i.to = decoder.destination(s.operands.at(at++), kind == "popc" ? 4 : 0);
    Mask flip = 0;
    i.a = decoder.predicate(s.operands.back(), flip);
    i.target = flip;
  } else if (parts.take("arrive")) {
    decoder.list({0}, i);
  } else if (!parts.take("sync")) {
    refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  }
  parts.expect_none();
  i.b = decoder.source(s.operands.at(at++), 4);
  size_t last = s.operands.size() - (i.a != kNone);
  if (at < last) i.c = decoder.source(s.operands[at], 4);
}

// Packs and unpacks vectors: mov.b64 d, {a, b} and mov.b64 {a, b}, d.
void run_pack(Warp& w, const Instruction& i) {
  u32 bytes = u32(i.detail & 255), total = u32(i.detail >> 8);
  each_lane(w.mask, [&](u32 lane) {
    u64 whole = 0;
    for (u32 k = 0; k < i.list_size; ++k) {
      u64 part = bytes == 4 ? w.at<u32>(w.list(i, k))[lane] : w.at<u16>(w.list(i, k))[lane];
      if (bytes == 1) part &= 255;
      whole |= part << (8 * bytes * k);
    }
    if (total == 8) w.at<u64>(i.to)[lane] = whole;
    else if (total == 4) w.at<u32>(i.to)[lane] = u32(whole);
    else w.at<u16>(i.to)[lane] = u16(whole);
  });
}

void run_unpack(Warp& w, const Instruction& i) {
  u32 bytes = u32(i.detail & 255), total = u32(i.detail >> 8);
  each_lane(w.mask, [&](u32 lane) {
    u64 whole = total == 8 ? w.at<u64>(i.a)[lane] : total == 4 ? w.at<u32>(i.a)[lane] : w.at<u16>(i.a)[lane];
    for (u32 k = 0; k < i.list_size; ++k) {
      u64 part = whole >> (8 * bytes * k);
      if (bytes == 4) w.at<u32>(w.list(i, k))[lane] = u32(part);
      else w.at<u16>(w.list(i, k))[lane] = u16(bytes == 1 ? part & 255 : part);
    }
  });
}

void decode_mov(Decoder& decoder, const Statement& s, Instruction& i) {
  const Operand &to = s.operands.at(0), &from = s.operands.at(1);
  std::string type = s.opcode.back();
  u32 total = read_type(type, s.line).bytes;
  if (from.name == "%clock" || from.name == "%clock_hi" || from.name == "%globaltimer_lo") {
    i.run = run_clock<u32>;
    i.to = decoder.destination(to, 4);
  } else if (from.name == "%clock64" || from.name == "%globaltimer") {
    i.run = run_clock<u64>;
    i.to = decoder.destination(to, 8);
  } else if (from.kind == Operand::Kind::list) {
    u32 bytes = total / u32(from.items.size());
    for (const Operand& item : from.items) decoder.list({decoder.source(item, std::max(2u, bytes))}, i);
    i.to = decoder.destination(to, total);
    i.detail = bytes | total << 8;
    i.run = run_pack;
  } else if (to.kind == Operand::Kind::list) {
    u32 bytes = total / u32(to.items.size());
    for (const Operand& item : to.items) decoder.list({decoder.destination(item, std::max(2u, bytes))}, i);
    i.a = decoder.source(from, total);
    i.detail = bytes | total << 8;
    i.run = run_unpack;
  } else {
    refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  }
}

}  // namespace

void add_control_ops(DecodeTable& table) {
  table["bra"] = decode_bra;
  table["brx"] = decode_brx;
  table["call"] = decode_call;
  table["ret"] = decode_ret;
  table["exit"] = decode_exit;
  table["trap"] = table["brkpt"] = decode_trap;
  table["membar"] = decode_memory_fence;
  for (const char* name : {"prefetchu", "applypriority", "discard", "pmevent"})
    table[name] = decode_nothing;
  table["nanosleep"] = decode_nanosleep;
  table["activemask"] = decode_activemask;
  table["bar"] = table["barrier"] = decode_bar;
  table["mov"] = decode_mov;
}

}  // namespace emulator
