#include "mbarriers.h"

#include "cluster.h"

namespace emulator {
namespace {

constexpr u32 kMaxCount = (1u << 20) - 1;

std::string place(u32 at) { return "the mbarrier at " + std::to_string(at); }

}  // namespace

std::string Mbarrier::describe() const {
  std::string text = place(at) + " is in phase " + std::to_string(phase) + " (parity " +
                     std::to_string(parity()) + "), in which " + std::to_string(pending) + " of " +
                     std::to_string(expected) + " arrivals and " + std::to_string(bytes) +
                     " bytes are pending";
  return text;
}

void Mbarriers::init(Warp& w, const Instruction& i, u32 lane, u32 at, u32 count) {
  if (!count || count > kMaxCount)
    fault(w, i, "an mbarrier expects 1 to 1048575 arrivals, this one " + std::to_string(count));
  if (all_.contains(at)) fault(w, i, place(at) + " is initialised again before mbarrier.inval");
  Clocks& clocks = owner_->cluster->clocks;
  owner_->shadow.init_mbarrier(w, i, lane, at);
  Mbarrier made;
  made.at = at;
  made.source = clocks.add_source();
  made.expected = made.pending = count;
  made.init_thread = id_of(w) * kLanes + lane;
  made.init_time = clocks.now();
  all_[at] = std::move(made);
}

void Mbarriers::invalidate(Warp& w, const Instruction& i, u32 lane, u32 at) {
  use(w, i, lane, at);
  if (owner_->bulk_copies.completes_at(at))
    fault(w, i, "invalidates " + place(at) + ", at which a bulk copy has yet to complete");
  owner_->shadow.end_mbarrier(w, i, lane, at);
  all_.erase(at);
}

Mbarrier* Mbarriers::find(u32 at) {
  auto found = all_.find(at);
  return found == all_.end() ? nullptr : &found->second;
}

Mbarrier& Mbarriers::use(Warp& w, const Instruction& i, u32 lane, u32 at) {
  Mbarrier* found = find(at);
  if (!found) fault(w, i, "no mbarrier is initialised at " + std::to_string(at));
  owner_->shadow.use_mbarrier(w, i, lane, at);
  return *found;
}

Mbarrier& Mbarriers::use_async(Warp& w, const Instruction& i, u32 lane, u32 at) {
  Mbarrier& mbarrier = use(w, i, lane, at);
  if (!owner_->cluster->clocks.sees_init(mbarrier.init_thread, mbarrier.init_time))
    fault(w, i,
        "the asynchronous proxy uses " + place(at) +
            ", whose thread ran neither fence.mbarrier_init nor fence.proxy.async after mbarrier.init");
  return mbarrier;
}

void Mbarriers::arrive(Warp& w, const Instruction& i, Mbarrier& mbarrier, u32 count) {
  if (!count || count > mbarrier.pending)
    fault(w, i, std::to_string(count) + " arrivals are too many: " + mbarrier.describe());
  mbarrier.pending -= count;
  ++w.block->tick;
  settle(w, i, mbarrier);
}

void Mbarriers::expect(Warp& w, const Instruction& i, Mbarrier& mbarrier, u32 bytes) {
  mbarrier.bytes += bytes;
  if (mbarrier.bytes > i64(kMaxCount))
    fault(w, i, "an mbarrier expects at most 1048575 bytes: " + mbarrier.describe());
}

void Mbarriers::complete_bytes(Warp& w, const Instruction& i, Mbarrier& mbarrier, u32 bytes) {
  mbarrier.bytes -= bytes;
  owner_->cluster->clocks.release_source(mbarrier.source, mbarrier.arriving);
  ++w.block->tick;
  settle(w, i, mbarrier);
}

void Mbarriers::settle(Warp& w, const Instruction& i, Mbarrier& mbarrier) {
  if (mbarrier.pending) return;
  if (mbarrier.bytes < 0)
    fault(w, i, "more bytes completed than were expected: " + mbarrier.describe());
  if (mbarrier.bytes > 0) return;
  mbarrier.completed = std::move(mbarrier.arriving);
  mbarrier.arriving = {};
  mbarrier.pending = mbarrier.expected;
  mbarrier.failed_polls = 0;
  ++mbarrier.phase;
}

}  // namespace emulator
