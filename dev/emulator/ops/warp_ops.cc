// Operations across the lanes of a warp: shfl, vote, match, redux, elect.
#include "lanes.h"

namespace emulator {
namespace {

Mask member_mask(Warp& w, u32 slot) { return w.at<const u32>(slot)[std::countr_zero(w.mask)]; }

void check_members(Warp& w, const Instruction& i, Mask members) {
  if (w.mask & ~members)
    fault(w, i, "lanes " + list_lanes(w.mask & ~members) + " run it and are not in its mask");
}

enum Shuffle : u64 { kUp, kDown, kButterfly, kIndex };

// list: the mask of members, then the predicate if there is one.
void run_shfl(Warp& w, const Instruction& i) {
  Mask members = member_mask(w, w.list(i, 0));
  if (!w.gather(i, members, "shfl.sync")) return;
  check_members(w, i, members);
  u32 from[kLanes];
  std::memcpy(from, w.at<u32>(i.a), sizeof from);
  const u32 *b = w.at<const u32>(i.b), *c = w.at<const u32>(i.c);
  Mask inside = 0;
  u32 result[kLanes];
  for (u32 lane = 0; lane < kLanes; ++lane) {
    u32 by = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    u32 first = lane & segment, last = first | (clamp & ~segment);
    int source = i.detail == kUp          ? int(lane) - int(by)
                 : i.detail == kDown      ? int(lane + by)
                 : i.detail == kButterfly ? int(lane ^ by)
                                          : int(first | (by & ~segment));
    bool is_inside = i.detail == kUp ? source >= int(last) : source <= int(last);
    inside |= Mask(is_inside) << lane;
    result[lane] = from[is_inside ? source : int(lane)];
    if (is_inside && !(w.mask >> source & 1) && w.mask >> lane & 1 && w.present >> source & 1)
      fault(w, i,
          "lane " + std::to_string(lane) + " reads lane " + std::to_string(source) +
              ", which does not take part");
  }
  map_lanes<decltype([](u32 value) { return value; })>(
      w.mask, w.at<u32>(i.to), static_cast<const u32*>(result));
  if (i.list_size > 1) set_predicate(w, w.list(i, 1), inside);
}

void decode_shfl(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  if (!parts.take("sync")) refuse(s.line, "shfl without .sync is not known");
  parts.take_one_of({"b32"});
  std::string mode = parts.take_one_of({"up", "down", "bfly", "idx"});
  parts.expect_none();
  i.detail = mode == "up" ? kUp : mode == "down" ? kDown : mode == "bfly" ? kButterfly : kIndex;
  i.to = decoder.destination(s.operands.at(0), 4);
  i.a = decoder.source(s.operands.at(1), 4);
  i.b = decoder.source(s.operands.at(2), 4);
  i.c = decoder.source(s.operands.at(3), 4);
  decoder.list({decoder.source(s.operands.at(4), 4)}, i);
  if (s.operands[0].second >= 0) decoder.list({decoder.predicate_destination(s.operands[0].second)}, i);
  i.run = run_shfl;
}

enum Vote : u64 { kAll, kAny, kUni, kBallot };

void run_vote(Warp& w, const Instruction& i) {
  Mask members = member_mask(w, i.b);
  if (!w.gather(i, members, "vote.sync")) return;
  check_members(w, i, members);
  Mask holds = (w.predicate(i.a) ^ Mask(i.offset)) & w.mask;
  if (i.detail == kBallot) {
    each_lane(w.mask, [&](u32 lane) { w.at<u32>(i.to)[lane] = holds; });
    return;
  }
  bool result = i.detail == kAll   ? holds == w.mask
                : i.detail == kAny ? holds != 0
                                   : holds == 0 || holds == w.mask;
  set_predicate(w, i.to, result ? kAllLanes : 0);
}

void decode_vote(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  if (!parts.take("sync")) refuse(s.line, "vote without .sync is not known");
  parts.take_one_of({"b32", "pred"});
  std::string mode = parts.take_one_of({"all", "any", "uni", "ballot"});
  parts.expect_none();
  i.detail = mode == "all" ? kAll : mode == "any" ? kAny : mode == "uni" ? kUni : kBallot;
  i.to = decoder.destination(s.operands.at(0), i.detail == kBallot ? 4 : 0);
  Mask flip = 0;
  i.a = decoder.predicate(s.operands.at(1), flip);
  i.offset = i64(flip);
  i.b = decoder.source(s.operands.at(2), 4);
  i.run = run_vote;
}

template <class T, bool All>
void run_match(Warp& w, const Instruction& i) {
  Mask members = member_mask(w, i.b);
  if (!w.gather(i, members, "match.sync")) return;
  check_members(w, i, members);
  const T* value = w.at<const T>(i.a);
  Mask result[kLanes] = {};
  each_lane(w.mask, [&](u32 lane) {
    each_lane(w.mask, [&](u32 other) { result[lane] |= Mask(value[lane] == value[other]) << other; });
  });
  Mask holds = 0;
  each_lane(w.mask, [&](u32 lane) {
    bool all_same = result[lane] == w.mask;
    holds |= Mask(all_same) << lane;
    w.at<u32>(i.to)[lane] = All && !all_same ? 0 : result[lane];
  });
  if (i.list_size) set_predicate(w, w.list(i, 0), holds);
}

void decode_match(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  u32 bytes = read_type(parts.take_type(), s.line).bytes;
  parts.take("sync");
  std::string mode = parts.take_one_of({"any", "all"});
  parts.expect_none();
  i.to = decoder.destination(s.operands.at(0), 4);
  if (s.operands[0].second >= 0) decoder.list({decoder.predicate_destination(s.operands[0].second)}, i);
  i.a = decoder.source(s.operands.at(1), bytes);
  i.b = decoder.source(s.operands.at(2), 4);
  bool is_all = mode == "all";
  i.run = bytes == 8 ? (is_all ? run_match<u64, true> : run_match<u64, false>)
                     : (is_all ? run_match<u32, true> : run_match<u32, false>);
}

enum Reduction : u64 { kAdd, kMin, kMax, kAnd, kOr, kXor };

template <class T>
void run_redux(Warp& w, const Instruction& i) {
  Mask members = member_mask(w, i.b);
  if (!w.gather(i, members, "redux.sync")) return;
  check_members(w, i, members);
  const T* value = w.at<const T>(i.a);
  T result = value[std::countr_zero(w.mask)];
  each_lane(w.mask & (w.mask - 1), [&](u32 lane) {
    T v = value[lane];
    switch (i.detail) {
      case kAdd:
        result = T(u32(result) + u32(v));
        break;
      case kMin:
        result = std::min(result, v);
        break;
      case kMax:
        result = std::max(result, v);
        break;
      case kAnd:
        result &= v;
        break;
      case kOr:
        result |= v;
        break;
      default:
        result ^= v;
    }
  });
  each_lane(w.mask, [&](u32 lane) { w.at<T>(i.to)[lane] = result; });
}

void decode_redux(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  std::string type = parts.take_type();
  parts.take("sync");
  std::string op = parts.take_one_of({"add", "min", "max", "and", "or", "xor"});
  parts.expect_none();
  i.detail = op == "add"   ? kAdd
             : op == "min" ? kMin
             : op == "max" ? kMax
             : op == "and" ? kAnd
             : op == "or"  ? kOr
                           : kXor;
  i.to = decoder.destination(s.operands.at(0), 4);
  i.a = decoder.source(s.operands.at(1), 4);
  i.b = decoder.source(s.operands.at(2), 4);
  i.run = type == "s32" ? Handler(run_redux<i32>) : run_redux<u32>;
}

void run_elect(Warp& w, const Instruction& i) {
  Mask members = member_mask(w, i.a);
  if (!w.gather(i, members, "elect.sync")) return;
  check_members(w, i, members);
  u32 leader = u32(std::countr_zero(w.mask));
  each_lane(w.mask, [&](u32 lane) { w.at<u32>(i.to)[lane] = leader; });
  set_predicate(w, w.list(i, 0), 1u << leader);
}

void decode_elect(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  if (!parts.take("sync")) refuse(s.line, "elect without .sync is not known");
  parts.expect_none();
  i.to = decoder.destination(s.operands.at(0), 4);
  decoder.list({decoder.predicate_destination(s.operands[0].second)}, i);
  i.a = decoder.source(s.operands.at(1), 4);
  i.run = run_elect;
}

}  // namespace

void add_warp_ops(DecodeTable& table) {
  table["shfl"] = decode_shfl;
  table["vote"] = decode_vote;
  table["match"] = decode_match;
  table["redux"] = decode_redux;
  table["elect"] = decode_elect;
}

}  // namespace emulator
