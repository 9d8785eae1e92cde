// Clusters: barrier.cluster, mapa, getctarank, and accesses to the shared memory of another block.
#include "../machine/cluster.h"

#include "access.h"

namespace emulator {
namespace {

std::string name_block(const Block& block) { return "the cluster's block " + std::to_string(block.rank); }

// The block that an address of shared memory names.
Block& named_block(Warp& w, const Instruction& i, u32 lane, u64 at) {
  u64 mark = at >> kRankShift;
  if (!mark) return *w.block;
  if (mark > w.block->cluster->size())
    fault(w, i, "lane " + std::to_string(lane) + " names no shared memory of the cluster: " + hex(at));
  return w.block->cluster->block(u32(mark) - 1);
}

void check_peer(Warp& w, const Instruction& i, u32 lane, Block& owner) {
  if (owner.is_done) fault(w, i, "accesses shared memory of " + name_block(owner) + ", which has ended");
  if (!w.block->knows_peers)
    fault(w, i,
        "accesses shared memory of " + name_block(owner) +
            ", which may not have started: no barrier.cluster comes before it");
  owner.peer_accesses[id_of(w) * kLanes + lane] = {&w, &i, w.block->cluster->clocks.now()};
}

}  // namespace

Block& find_block(Warp& w, const Instruction& i, u32 lane, u64 at) {
  Block& owner = named_block(w, i, lane, at);
  if (&owner != w.block) check_peer(w, i, lane, owner);
  return owner;
}

bool is_mapped(const Warp& w, const Addresses& addresses) {
  Mask mapped = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    mapped |= Mask((addresses.at[lane] & (kWindowSize - 1)) >> kRankShift != 0) << lane;
  return (mapped & w.mask) != 0;
}

std::byte* cluster_at(Warp& w, const Instruction& i, u32 lane, u64 at, u32 size, Access access) {
  Block& owner = find_block(w, i, lane, at);
  u32 offset = unmapped(at);
  if (offset & (size - 1))
    fault(w, i,
        "misaligned shared access: lane " + std::to_string(lane) + " asks for " + std::to_string(size) +
            " bytes at " + std::to_string(offset) + " of " + name_block(owner));
  if (offset + size > owner.shared_bytes)
    fault(w, i,
        "address outside shared memory: lane " + std::to_string(lane) + " asks for " + std::to_string(size) +
            " bytes at " + std::to_string(offset) + " of " + std::to_string(owner.shared_bytes) + " of " +
            name_block(owner));
  if (access == Access::read) owner.shadow.read(w, i, lane, offset, size);
  else if (access == Access::write) owner.shadow.write(w, i, lane, offset, size);
  else owner.shadow.atomic(w, i, lane, offset, size);
  return owner.shared + offset;
}

namespace {

// detail: 1 if the address is generic.
template <class T>
void run_mapa(Warp& w, const Instruction& i) {
  const T* from = w.at<const T>(i.a);
  const u32* rank = w.at<const u32>(i.b);
  u32 blocks = w.block->cluster->size();
  u64 window = i.detail ? kSharedWindow : 0;
  each_lane(w.mask, [&](u32 lane) {
    if (rank[lane] >= blocks)
      fault(w, i,
          "lane " + std::to_string(lane) + " asks for the shared memory of block " +
              std::to_string(rank[lane]) + " of a cluster of " + std::to_string(blocks));
    u64 at = u64(from[lane]) + u64(i.offset) - window;
    if (at >= kWindowSize)
      fault(w, i, "lane " + std::to_string(lane) + " maps an address outside shared memory");
    at = unmapped(at) | u64(rank[lane] + 1) << kRankShift;
    w.at<T>(i.to)[lane] = T(at + window);
  });
}

template <class T>
void run_rank(Warp& w, const Instruction& i) {
  const T* from = w.at<const T>(i.a);
  each_lane(w.mask, [&](u32 lane) {
    u64 at = u64(from[lane]) - (i.detail ? kSharedWindow : 0);
    if (at >= kWindowSize)
      fault(w, i, "lane " + std::to_string(lane) + " asks for the block of an address outside shared memory");
    w.at<u32>(i.to)[lane] = named_block(w, i, lane, at).rank;
  });
}

void decode_mapa(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  bool is_map = s.opcode[0] == "mapa";
  u32 bytes = read_type(parts.take_type(), s.line).bytes;
  i.detail = !parts.take("shared::cluster");
  parts.expect_none();
  i.to = decoder.destination(s.operands.at(0), is_map ? bytes : 4);
  i.a = decoder.source(s.operands.at(1), bytes);
  if (s.operands[1].kind == Operand::Kind::reg) i.offset = s.operands[1].offset;
  if (is_map) i.b = decoder.source(s.operands.at(2), 4);
  if (is_map) i.run = bytes == 8 ? Handler(run_mapa<u64>) : run_mapa<u32>;
  else i.run = bytes == 8 ? Handler(run_rank<u64>) : run_rank<u32>;
}

void run_arrive(Warp& w, const Instruction& i) {
  if (w.gather(i, kAllLanes, "barrier.cluster.arrive")) w.block->cluster->arrive(w, i, i.detail != 0);
}

void run_wait(Warp& w, const Instruction& i) {
  if (w.gather(i, kAllLanes, "barrier.cluster.wait")) w.block->cluster->wait(w, i);
}

}  // namespace

// detail: 1 if the arrival orders the accesses before it.
void decode_cluster_barrier(Decoder&, const Statement& s, Instruction& i) {
  Parts parts(s);
  parts.take("cluster");
  parts.take("aligned");
  bool arrives = parts.take("arrive");
  if (!arrives && !parts.take("wait")) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  i.detail = !(arrives && parts.take("relaxed"));
  parts.take(arrives ? "release" : "acquire");
  parts.expect_none();
  i.run = arrives ? run_arrive : run_wait;
}

void add_cluster_ops(DecodeTable& table) { table["mapa"] = table["getctarank"] = decode_mapa; }

}  // namespace emulator
