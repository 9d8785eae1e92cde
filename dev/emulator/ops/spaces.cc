// cvta and isspacep: generic addresses and the windows of the other spaces.
#include "access.h"

namespace emulator {

Where take_space(Parts& parts) {
  if (parts.take("global") || parts.take("const")) return Where::global;
  if (parts.take("shared") || parts.take("shared::cta")) return Where::shared;
  if (parts.take("shared::cluster")) return Where::cluster;
  if (parts.take("local")) return Where::local;
  if (parts.take("param") || parts.take("param::entry") || parts.take("param::func")) return Where::param;
  return Where::generic;
}

namespace {

u64 window_of(Where where) {
  switch (where) {
    case Where::shared:
    case Where::cluster:
      return kSharedWindow;
    case Where::local:
      return kLocalWindow;
    case Where::param:
      return kParamWindow;
    default:
      return 0;
  }
}

// Adds or subtracts the start of a window.
template <class T>
void run_cvta(Warp& w, const Instruction& i) {
  const T* from = w.at<const T>(i.a);
  each_lane(w.mask, [&](u32 lane) { w.at<T>(i.to)[lane] = T(from[lane] + i.detail); });
}

void decode_cvta(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  u32 bytes = read_type(parts.take_type(), s.line).bytes;
  bool is_back = parts.take("to");
  Where where = take_space(parts);
  parts.expect_none();
  u64 window = window_of(where);
  i.to = decoder.destination(s.operands.at(0), bytes);
  i.a = decoder.source(s.operands.at(1), bytes);
  i.detail = is_back ? 0 - window : window;
  i.run = bytes == 8 ? Handler(run_cvta<u64>) : run_cvta<u32>;
}

void run_isspacep(Warp& w, const Instruction& i) {
  const u64* at = w.at<const u64>(i.a);
  Mask value = 0;
  each_lane(w.mask, [&](u32 lane) {
    value |= Mask(at[lane] >= i.detail && at[lane] < u64(i.offset)) << lane;
  });
  set_predicate(w, i.to, value);
}

void decode_isspacep(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  Where where = take_space(parts);
  parts.expect_none();
  i.detail = window_of(where);
  i.offset = i64(where == Where::shared ? kSharedWindow + (1ull << kRankShift)
                 : i.detail             ? 2 * i.detail
                                        : kSharedWindow);
  i.to = decoder.destination(s.operands.at(0), 0);
  i.a = decoder.source(s.operands.at(1), 8);
  i.run = run_isspacep;
}

}  // namespace

void add_space_ops(DecodeTable& table) {
  table["cvta"] = decode_cvta;
  table["isspacep"] = decode_isspacep;
}

}  // namespace emulator
