// cp.async.bulk: copies by the asynchronous proxy between global and shared memory, of bytes or of a tile of
// a tensor, and the groups of stores. Each lane that runs one issues a copy of its own.
#include "../machine/cluster.h"

#include "bulk.h"

namespace emulator {
namespace {

// Decoded from Instruction::detail. list: slots of the address in global memory or of the tensor map, of that
// in shared memory, of the mbarrier, then of the size or the coordinates, then of the mask of a multicast.
// The offsets of the first two are Instruction::offset and target.
struct BulkShape {
  i32 mbarrier_offset;
  u8 dimensions;  // 0 for a copy of bytes
  u8 wide;        // a bit for each address of 64 bits
  bool is_store, is_multicast;
};

BulkShape shape_of(const Instruction& i) {
  BulkShape shape;
  std::memcpy(&shape, &i.detail, sizeof shape);
  return shape;
}

u64 address_of(const Warp& w, const Instruction& i, const BulkShape& shape, u32 which, u32 lane, i64 offset) {
  u32 slot = w.list(i, which);
  u64 base = shape.wide >> which & 1 ? w.at<u64>(slot)[lane] : w.at<u32>(slot)[lane];
  return base + u64(offset);
}

void check_multiple(const Warp& w, const Instruction& i, u64 value, u32 of, const char* what) {
  if (value % of)
    fault(w, i,
        std::string(what) + " of a bulk copy is a multiple of " + std::to_string(of) + ", this one is " +
            std::to_string(value));
}

void count_pieces(Counts& counts, const std::vector<BulkPiece>& pieces) {
  for (const BulkPiece& piece : pieces) {
    counts.global_bytes += piece.bytes;
    counts.global_sectors += (piece.at + piece.bytes - 1) / 32 - piece.at / 32 + 1;
  }
}

void find_tile(Warp& w, const Instruction& i, const BulkShape& shape, BulkCopy& copy, u64 map_at) {
  TensorMap map = read_tensor_map(w, i, map_at);
  if (map.dimensions != shape.dimensions)
    fault(w, i,
        "a copy of " + std::to_string(shape.dimensions) + " dimensions by a tensor map of " +
            std::to_string(map.dimensions));
  i32 coordinates[kMaxDimensions];
  for (u32 d = 0; d < shape.dimensions; ++d) coordinates[d] = w.at<i32>(w.list(i, 3 + d))[copy.lane];
  check_multiple(w, i, copy.shared, 128, "the address in shared memory");
  copy.bytes = map.tile_bytes();
  copy.swizzle = map.swizzle;
  copy.pieces = find_pieces(w, i, map, coordinates);
}

void find_bytes(Warp& w, const Instruction& i, BulkCopy& copy, u64 at) {
  copy.bytes = w.at<u32>(w.list(i, 3))[copy.lane];
  check_multiple(w, i, copy.bytes, 16, "the size");
  check_multiple(w, i, at, 16, "the address in global memory");
  check_multiple(w, i, copy.shared, 16, "the address in shared memory");
  if (!copy.bytes) return;
  check_bulk_range(w, i, at, copy.bytes);
  copy.pieces = {{at, 0, copy.bytes}};
}

// Starts a copy to or from the shared memory of a block.
void start_at(Warp& w, const Instruction& i, Block& block, BulkCopy copy) {
  if (u64(copy.shared) + copy.bytes > block.shared_bytes)
    fault(w, i,
        "address outside shared memory: a bulk copy of " + std::to_string(copy.bytes) + " bytes at " +
            std::to_string(copy.shared) + " of " + std::to_string(block.shared_bytes));
  if (!copy.is_store) copy.phase = block.mbarriers.use_async(w, i, copy.lane, copy.mbarrier).phase;
  block.bulk_copies.start(block, std::move(copy));
}

// Starts a load for each block of a mask, to the same addresses in each.
void start_multicast(Warp& w, const Instruction& i, const BulkCopy& copy) {
  u32 blocks = w.block->cluster->size(), mask = w.at<u16>(w.list(i, i.list_size - 1))[copy.lane];
  if (!mask || mask >> blocks)
    fault(w, i,
        "the mask of a multicast names blocks of the cluster, this one is " + hex(mask) +
            " in a cluster of " + std::to_string(blocks));
  for (u32 rank = 0; rank < blocks; ++rank)
    if (mask >> rank & 1) start_at(w, i, find_block(w, i, copy.lane, u64(rank + 1) << kRankShift), copy);
}

void run_bulk(Warp& w, const Instruction& i) {
  BulkShape shape = shape_of(i);
  each_lane(w.mask, [&](u32 lane) {
    BulkCopy copy;
    copy.warp = &w;
    copy.at = &i;
    copy.lane = lane;
    copy.is_store = shape.is_store;
    u64 shared = address_of(w, i, shape, 1, lane, i32(i.target));
    copy.shared = unmapped(shared);
    u64 global = address_of(w, i, shape, 0, lane, i.offset);
    if (shape.dimensions) find_tile(w, i, shape, copy, global);
    else find_bytes(w, i, copy, global);
    if (Settings::get().counts) count_pieces(w.block->counts, copy.pieces);
    Block& block = find_block(w, i, lane, shared);
    if (shape.is_store) {
      if (&block != w.block) fault(w, i, "stores the shared memory of another block of the cluster");
      return start_at(w, i, block, std::move(copy));
    }
    u64 mbarrier = address_of(w, i, shape, 2, lane, shape.mbarrier_offset);
    if (&find_block(w, i, lane, mbarrier) != &block)
      fault(w, i, "its mbarrier is not in the shared memory of the block to which it copies");
    copy.mbarrier = unmapped(mbarrier);
    if (shape.is_multicast) start_multicast(w, i, copy);
    else start_at(w, i, block, std::move(copy));
  });
}

void run_bulk_commit(Warp& w, const Instruction&) {
  each_lane(w.mask, [&](u32 lane) { w.block->bulk_copies.commit(w.index * kLanes + lane); });
}

void run_bulk_wait(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 lane) {
    w.block->bulk_copies.wait(w.index * kLanes + lane, w.at<u32>(i.a)[lane], i.detail);
  });
}

// The spaces of an opcode, in their order: destination, source.
std::pair<std::string, std::string> take_spaces(const Statement& s, Parts& parts) {
  std::vector<std::string> found;
  for (const std::string& part : s.opcode)
    if (part == "global" || part == "shared::cta" || part == "shared::cluster") found.push_back(part);
  if (found.size() != 2) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  for (const std::string& part : found) parts.take(part);
  return {found[0], found[1]};
}

u32 take_dimensions(const Statement& s, Parts& parts) {
  if (!parts.take("tensor")) return 0;
  parts.take("tile");
  std::string dimensions = parts.take_one_of({"1d", "2d", "3d", "4d", "5d"});
  if (dimensions.empty()) refuse(s.line, "a tensor copy has 1 to 5 dimensions");
  return u32(dimensions[0] - '0');
}

// Adds an address to the list, and returns its offset.
i64 list_address(Decoder& decoder, const Operand& operand, Instruction& i, BulkShape& shape) {
  Instruction part;
  decoder.address(operand, part);
  if (part.is_wide_address) shape.wide |= u8(1u << i.list_size);
  decoder.list({part.a}, i);
  return part.offset;
}

void list_coordinates(
    Decoder& decoder, const Statement& s, const Operand& tensor, u32 count, Instruction& i) {
  if (tensor.items.size() != 1 || tensor.items[0].items.size() != count)
    refuse(s.line, "the coordinates have another count than the dimensions");
  for (const Operand& item : tensor.items[0].items) decoder.list({decoder.source(item, 4)}, i);
}

void decode_copy(Decoder& decoder, const Statement& s, Instruction& i, Parts& parts) {
  BulkShape shape{};
  shape.dimensions = u8(take_dimensions(s, parts));
  auto [to, from] = take_spaces(s, parts);
  shape.is_store = to == "global";
  if (from == "shared::cluster" || (from != "global" && !shape.is_store))
    refuse(s.line, "the emulator does not copy between blocks of a cluster: " + join_opcode(s.opcode));
  bool is_complete = shape.is_store ? parts.take("bulk_group") : parts.take("mbarrier::complete_tx::bytes");
  if (!is_complete) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  shape.is_multicast = !shape.is_store && to == "shared::cluster" && parts.take("multicast::cluster");
  parts.take("L2::cache_hint");
  parts.expect_none();
  size_t global = shape.is_store ? 0 : 1;
  const Operand &outside = s.operands.at(global), &inside = s.operands.at(1 - global);
  i64 offset = list_address(decoder, outside, i, shape);
  i.target = u32(i32(list_address(decoder, inside, i, shape)));
  i.offset = offset;
  size_t next = 2;
  if (!shape.dimensions) ++next;
  if (shape.is_store) decoder.list({decoder.constant(0, 4)}, i);
  else shape.mbarrier_offset = i32(list_address(decoder, s.operands.at(next), i, shape));
  if (shape.dimensions) list_coordinates(decoder, s, outside, shape.dimensions, i);
  else decoder.list({decoder.source(s.operands.at(2), 4)}, i);
  if (shape.is_multicast) decoder.list({decoder.source(s.operands.at(next + 1), 2)}, i);
  std::memcpy(&i.detail, &shape, sizeof shape);
  i.run = run_bulk;
}

void run_prefetch_map(Warp& w, const Instruction& i) {
  Addresses addresses = lane_addresses(w, i);
  each_lane(w.mask, [&](u32 lane) { read_tensor_map(w, i, addresses.at[lane] + i.detail); });
}

void run_nothing(Warp&, const Instruction&) {}

// prefetch{.param, .const}.tensormap [a]; other forms are hints.
void decode_prefetch(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  i.run = run_nothing;
  if (!parts.take("tensormap")) return;
  i.detail = parts.take("param") ? kParamWindow : 0;
  parts.take("const");
  parts.expect_none();
  decoder.address(s.operands.at(0), i);
  i.run = run_prefetch_map;
}

}  // namespace

void decode_bulk(Decoder& decoder, const Statement& s, Instruction& i, Parts& parts) {
  if (parts.take("commit_group")) {
    i.run = run_bulk_commit;
  } else if (parts.take("wait_group")) {
    i.detail = parts.take("read");
    i.a = decoder.source(s.operands.at(0), 4);
    i.run = run_bulk_wait;
  } else {
    return decode_copy(decoder, s, i, parts);
  }
  parts.expect_none();
}

void add_bulk_ops(DecodeTable& table) { table["prefetch"] = decode_prefetch; }

}  // namespace emulator
