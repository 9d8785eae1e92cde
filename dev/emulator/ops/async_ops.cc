// cp.async and its groups; bulk_ops.cc has cp.async.bulk. A copy completes when its thread waits for it, so
// that code without the wait reads the old data. CAIRN_EMULATOR_COPIES=at-once completes it when it is
// issued, drawn at one of the two.
#include "../machine/async.h"

#include "access.h"
#include "bulk.h"

namespace emulator {

void land_copies(Warp& w, Mask lanes, u32 pending) {
  size_t kept = 0;
  for (AsyncCopy& copy : w.copies) {
    bool lands = lanes >> copy.lane & 1 && copy.group + pending < w.committed[copy.lane];
    if (!lands) {
      w.copies[kept++] = copy;
      continue;
    }
    std::memcpy(w.block->shared + copy.to, copy.bytes.data(), copy.size);
    w.block->shadow.land_copy(w, copy.lane, copy.to, copy.size);
  }
  w.copies.resize(kept);
}

namespace {

// a: address in shared memory; b and target: address in global memory and its offset; c: bytes to read, the
// rest is zeros; list: a predicate that disables the read. detail: size.
void run_copy(Warp& w, const Instruction& i) {
  u32 size = u32(i.detail);
  Addresses to = lane_addresses(w, i), from;
  for (u64& at : to.at) at &= kWindowSize - 1;
  check_shared(w, i, to, size);
  const u64* base = w.at<const u64>(i.b);
  for (int lane = 0; lane < kLanes; ++lane) from.at[lane] = base[lane] + u64(i64(i32(i.target)));
  u32 asked[kLanes];
  Mask reading = 0;
  each_lane(w.mask, [&](u32 lane) {
    asked[lane] = i.c == kNone ? size : std::min(size, w.at<u32>(i.c)[lane]);
    if (i.list_size && w.predicate(w.list(i, 0)) >> lane & 1) asked[lane] = 0;
    reading |= Mask(asked[lane] > 0) << lane;
  });
  Mask mask = w.mask;
  w.mask = reading;
  if (reading) check_global(w, i, from, size);
  w.mask = mask;
  const Settings& settings = Settings::get();
  if (settings.counts) {
    count_global(w.block->counts, reading, from, size);
    count_shared(w.block->counts, w.mask, to, size, false);
  }
  each_lane(w.mask, [&](u32 lane) {
    AsyncCopy copy{lane, w.committed[lane], u32(to.at[lane]), size, {}};
    std::memcpy(copy.bytes.data(), reinterpret_cast<std::byte*>(from.at[lane]), asked[lane]);
    w.block->shadow.start_copy(w, i, lane, copy.to, size);
    bool lands = settings.copies == Copies::at_once ||
                 (settings.copies == Copies::drawn && w.block->bulk_copies.draw());
    if (lands) std::memcpy(w.block->shared + copy.to, copy.bytes.data(), size);
    w.copies.push_back(copy);
  });
}

void run_commit(Warp& w, const Instruction&) {
  each_lane(w.mask, [&](u32 lane) { ++w.committed[lane]; });
}

void run_wait(Warp& w, const Instruction& i) {
  if (i.a == kNone) {
    run_commit(w, i);
    land_copies(w, w.mask, 0);
  } else {
    land_copies(w, w.mask, w.at<u32>(i.a)[std::countr_zero(w.mask)]);
  }
}

void decode_cp(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  if (!parts.take("async")) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  if (parts.take("bulk")) return decode_bulk(decoder, s, i, parts);
  if (parts.take("commit_group")) {
    parts.expect_none();
    i.run = run_commit;
    return;
  }
  if (parts.take("wait_all") || parts.take("wait_group")) {
    parts.expect_none();
    if (!s.operands.empty()) i.a = decoder.source(s.operands[0], 4);
    i.run = run_wait;
    return;
  }
  for (const char* part :
      {"ca", "cg", "shared", "shared::cta", "global", "L2::64B", "L2::128B", "L2::256B", "L2::cache_hint"})
    parts.take(part);
  parts.expect_none();
  Instruction from;
  decoder.address(s.operands.at(0), i);
  decoder.address(s.operands.at(1), from);
  i.b = from.a;
  i.target = u32(i32(from.offset));
  i.detail = s.operands.at(2).bits;
  if (i.detail != 4 && i.detail != 8 && i.detail != 16) refuse(s.line, "cp.async copies 4, 8 or 16 bytes");
  if (s.operands.size() > 3) {
    const Operand& last = s.operands[3];
    bool is_predicate = last.kind == Operand::Kind::reg && decoder.register_bytes(last) == 0;
    if (is_predicate) decoder.list({decoder.source(last, 0)}, i);
    else if (last.kind != Operand::Kind::reg || decoder.register_bytes(last) == 4)
      i.c = decoder.source(last, 4);
  }
  i.run = run_copy;
}

}  // namespace

void add_async_ops(DecodeTable& table) { table["cp"] = decode_cp; }

}  // namespace emulator
