// mbarrier: barriers in shared memory that count arrivals and the bytes of bulk copies; and the fences by
// which the asynchronous proxy sees what threads wrote.
#include "../machine/cluster.h"

#include "access.h"

namespace emulator {
namespace {

// A poll that fails this often completes the copies of its mbarrier, also while other warps run.
constexpr u32 kMaxFailedPolls = 64;

// Of arrive, in Instruction::detail.
enum Arrival : u64 { kCounts = 1, kExpects };

// Of mbarriers of the own block, or of any block of the cluster.
Addresses mbarrier_addresses(Warp& w, const Instruction& i, bool of_cluster = false) {
  Addresses addresses = lane_addresses(w, i);
  each_lane(w.mask, [&](u32 lane) {
    u64& at = addresses.at[lane];
    if (at >= kSharedWindow && at < kLocalWindow) at &= kWindowSize - 1;
  });
  if (!of_cluster || !is_mapped(w, addresses)) check_shared(w, i, addresses, 8);
  return addresses;
}

/// Calls `visit` with each mbarrier that lanes of `mask` name, and these lanes.
template <class Visit>
void each_mbarrier(Mask mask, const Addresses& addresses, Visit visit) {
  while (mask) {
    u64 at = addresses.at[std::countr_zero(mask)];
    Mask same = 0;
    each_lane(mask, [&](u32 lane) { same |= Mask(addresses.at[lane] == at) << lane; });
    visit(u32(at), same);
    mask &= ~same;
  }
}

u64 state_of(const Mbarrier& mbarrier) { return u64(mbarrier.at) << 32 | u32(mbarrier.phase); }

void run_init(Warp& w, const Instruction& i) {
  Addresses addresses = mbarrier_addresses(w, i);
  each_lane(w.mask, [&](u32 lane) {
    w.block->mbarriers.init(w, i, lane, u32(addresses.at[lane]), w.at<u32>(i.b)[lane]);
  });
}

void run_inval(Warp& w, const Instruction& i) {
  Addresses addresses = mbarrier_addresses(w, i);
  each_lane(
      w.mask, [&](u32 lane) { w.block->mbarriers.invalidate(w, i, lane, u32(addresses.at[lane])); });
}

void run_arrive(Warp& w, const Instruction& i) {
  Clocks& clocks = w.block->cluster->clocks;
  each_mbarrier(w.mask, mbarrier_addresses(w, i, true), [&](u32 at, Mask lanes) {
    u64 released = ~0ull;  // the phase to which these lanes have published their accesses
    each_lane(lanes, [&](u32 lane) {
      Mbarriers& mbarriers = find_block(w, i, lane, at).mbarriers;
      Mbarrier& mbarrier = mbarriers.use(w, i, lane, unmapped(at));
      if (mbarrier.phase != released) clocks.release(id_of(w), lanes, w.alive(), mbarrier.arriving);
      released = mbarrier.phase;
      w.at<u64>(i.to)[lane] = state_of(mbarrier);
      u32 value = i.b == kNone ? 1 : w.at<u32>(i.b)[lane];
      if (i.detail == kExpects) mbarriers.expect(w, i, mbarrier, value);
      mbarriers.arrive(w, i, mbarrier, i.detail == kExpects ? 1 : value);
    });
  });
}

// detail: whether bytes complete, else are expected.
void run_bytes(Warp& w, const Instruction& i) {
  Addresses addresses = mbarrier_addresses(w, i, true);
  each_lane(w.mask, [&](u32 lane) {
    Mbarriers& mbarriers = find_block(w, i, lane, addresses.at[lane]).mbarriers;
    Mbarrier& mbarrier = mbarriers.use(w, i, lane, unmapped(addresses.at[lane]));
    u32 bytes = w.at<u32>(i.b)[lane];
    if (i.detail) mbarriers.complete_bytes(w, i, mbarrier, bytes);
    else mbarriers.expect(w, i, mbarrier, bytes);
  });
}

bool is_complete(const Warp& w, const Instruction& i, const Mbarrier& mbarrier, u32 lane) {
  if (i.detail) {
    u32 parity = w.at<u32>(i.b)[lane];
    if (parity > 1) fault(w, i, "the parity of a phase is 0 or 1, this one is " + std::to_string(parity));
    return parity != mbarrier.parity();
  }
  u64 state = w.at<u64>(i.b)[lane];
  u32 behind = u32(mbarrier.phase) - u32(state);
  if (state >> 32 != mbarrier.at || behind > 1)
    fault(w, i,
        "waits by a state that no arrival at this mbarrier in this or the previous phase returned: " +
            mbarrier.describe());
  return behind == 1;
}

// detail: whether it waits for a parity, else for a state.
void run_wait(Warp& w, const Instruction& i) {
  Block& block = *w.block;
  Mask complete = 0;
  each_mbarrier(w.mask, mbarrier_addresses(w, i), [&](u32 at, Mask lanes) {
    Mask here = 0, missing = 0;
    each_lane(lanes, [&](u32 lane) {
      const Mbarrier& mbarrier = block.mbarriers.use(w, i, lane, at);
      (is_complete(w, i, mbarrier, lane) ? here : missing) |= 1u << lane;
    });
    Mbarrier& mbarrier = *block.mbarriers.find(at);
    if (here) block.cluster->clocks.acquire(id_of(w), here, w.alive(), mbarrier.completed);
    complete |= here;
    if (!missing) return;
    w.state = WarpState::polling;
    w.awaited = at;
    w.awaited_parity = i.detail ? w.at<u32>(i.b)[std::countr_zero(missing)] : mbarrier.parity();
    if (++mbarrier.failed_polls >= kMaxFailedPolls && Settings::get().copies == Copies::late)
      block.bulk_copies.land(block, at);
  });
  set_predicate(w, i.to, complete);
  if (complete) ++block.tick;
}

void run_proxy_fence(Warp& w, const Instruction&) { w.block->cluster->clocks.fence_async(id_of(w), w.mask); }
void run_init_fence(Warp& w, const Instruction&) { w.block->cluster->clocks.fence_init(id_of(w), w.mask); }
void run_nothing(Warp&, const Instruction&) {}

void decode_fence(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  i.run = run_nothing;
  if (parts.take("mbarrier_init")) {
    parts.take("release");
    parts.take("cluster");
    i.run = run_init_fence;
    return parts.expect_none();
  }
  if (!parts.take("proxy")) return decode_memory_fence(decoder, s, i);
  if (parts.take_one_of({"alias", "tensormap::generic"}) != "") return;
  if (!parts.take("async")) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  // Bytes in global memory are not tracked.
  bool is_global = parts.take("global");
  parts.take_one_of({"shared::cta", "shared::cluster"});
  parts.expect_none();
  if (!is_global) i.run = run_proxy_fence;
}

void decode_arrive(Decoder& decoder, const Statement& s, Instruction& i, Parts& parts) {
  bool expects = parts.take("expect_tx");
  i.run = run_arrive;
  i.detail = expects ? kExpects : kCounts;
  bool is_of_cluster = std::ranges::find(s.opcode, "shared::cluster") != s.opcode.end();
  if (is_of_cluster && s.operands.at(0).name != "_")
    refuse(s.line, "an arrival at an mbarrier of the cluster returns no state: its destination is _");
  i.to = decoder.destination(s.operands.at(0), 8);
  decoder.address(s.operands.at(1), i);
  if (expects || s.operands.size() > 2) i.b = decoder.source(s.operands.at(2), 4);
}

void decode_wait(Decoder& decoder, const Statement& s, Instruction& i, Parts& parts) {
  i.detail = parts.take("parity");
  i.run = run_wait;
  i.to = decoder.destination(s.operands.at(0), 0);
  decoder.address(s.operands.at(1), i);
  // A fourth operand limits the time of one try.
  i.b = decoder.source(s.operands.at(2), i.detail ? 4 : 8);
}

void decode_mbarrier(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  std::string op =
      parts.take_one_of({"init", "inval", "arrive", "test_wait", "try_wait", "expect_tx", "complete_tx"});
  for (const char* part :
      {"b64", "shared", "shared::cta", "shared::cluster", "release", "acquire", "relaxed", "cta", "cluster"})
    parts.take(part);
  if (op == "arrive") {
    decode_arrive(decoder, s, i, parts);
  } else if (op.ends_with("wait")) {
    decode_wait(decoder, s, i, parts);
  } else if (op.empty()) {
    refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  } else {
    i.run = op == "init" ? run_init : op == "inval" ? run_inval : run_bytes;
    i.detail = op == "complete_tx";
    decoder.address(s.operands.at(0), i);
    if (op != "inval") i.b = decoder.source(s.operands.at(1), 4);
  }
  parts.expect_none();
}

}  // namespace

void add_mbarrier_ops(DecodeTable& table) {
  table["mbarrier"] = decode_mbarrier;
  table["fence"] = decode_fence;
}

}  // namespace emulator
