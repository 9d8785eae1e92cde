// setp, set, testp: comparisons, combined with another predicate by and, or, xor.
#include "formats.h"
#include "lanes.h"

namespace emulator {
namespace {

enum Combine : u64 { kPlain, kAnd, kOr, kXor };
constexpr u64 kFlipFlag = 16;

struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b || a > b;
  }
};
struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
template <class F>
struct Unordered {
  template <class T>
  bool operator()(T a, T b) const {
    return a != a || b != b || F{}(a, b);
  }
};
struct Num {
  template <class T>
  bool operator()(T a, T b) const {
    return a == a && b == b;
  }
};
struct Nan {
  template <class T>
  bool operator()(T a, T b) const {
    return a != a || b != b;
  }
};

template <class T, class F, class Storage, float (*Read)(u16)>
struct Test {
  bool operator()(Storage a, Storage b) const {
    if constexpr (Read != nullptr) return F{}(Read(u16(a)), Read(u16(b)));
    else return F{}(T(a), T(b));
  }
};

Mask combine(Warp& w, const Instruction& i, Mask value) {
  if ((i.detail & 15) == kPlain) return value;
  Mask other = w.predicate(i.c) ^ (i.detail & kFlipFlag ? kAllLanes : 0);
  return (i.detail & 15) == kAnd ? value & other : (i.detail & 15) == kOr ? value | other : value ^ other;
}

// list: the second predicate, which receives the negated result.
template <class T, class F, class Storage = T, float (*Read)(u16) = nullptr>
void set_predicates(Warp& w, const Instruction& i) {
  Mask value = test_lanes<Test<T, F, Storage, Read>>(w.at<const Storage>(i.a), w.at<const Storage>(i.b));
  if (i.list_size) {
    Mask opposite = combine(w, i, ~value);
    value = combine(w, i, value);
    set_predicate(w, w.list(i, 0), opposite);
  } else {
    value = combine(w, i, value);
  }
  set_predicate(w, i.to, value);
}

template <class T, class Storage = T, float (*Read)(u16) = nullptr>
Handler find_ordered(const std::string& name) {
  if (name == "eq") return set_predicates<T, Eq, Storage, Read>;
  if (name == "ne") return set_predicates<T, Ne, Storage, Read>;
  if (name == "lt" || name == "lo") return set_predicates<T, Lt, Storage, Read>;
  if (name == "le" || name == "ls") return set_predicates<T, Le, Storage, Read>;
  if (name == "gt" || name == "hi") return set_predicates<T, Gt, Storage, Read>;
  if (name == "ge" || name == "hs") return set_predicates<T, Ge, Storage, Read>;
  return nullptr;
}

template <class T, class Storage = T, float (*Read)(u16) = nullptr>
Handler find_float(const std::string& name) {
  if (Handler found = find_ordered<T, Storage, Read>(name)) return found;
  if (name == "equ") return set_predicates<T, Unordered<Eq>, Storage, Read>;
  if (name == "neu") return set_predicates<T, Unordered<Ne>, Storage, Read>;
  if (name == "ltu") return set_predicates<T, Unordered<Lt>, Storage, Read>;
  if (name == "leu") return set_predicates<T, Unordered<Le>, Storage, Read>;
  if (name == "gtu") return set_predicates<T, Unordered<Gt>, Storage, Read>;
  if (name == "geu") return set_predicates<T, Unordered<Ge>, Storage, Read>;
  if (name == "num") return set_predicates<T, Num, Storage, Read>;
  if (name == "nan") return set_predicates<T, Nan, Storage, Read>;
  return nullptr;
}

Handler find_compare(const std::string& type, const std::string& name) {
  if (type == "s16") return find_ordered<i16>(name);
  if (type == "u16" || type == "b16") return find_ordered<u16>(name);
  if (type == "s32") return find_ordered<i32>(name);
  if (type == "u32" || type == "b32") return find_ordered<u32>(name);
  if (type == "s64") return find_ordered<i64>(name);
  if (type == "u64" || type == "b64") return find_ordered<u64>(name);
  if (type == "f32") return find_float<float>(name);
  if (type == "f64") return find_float<double>(name);
  if (type == "f16") return find_float<float, u16, from_f16>(name);
  if (type == "bf16") return find_float<float, u16, from_bf16>(name);
  return nullptr;
}

void decode_setp(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  std::string type = parts.take_type();
  parts.take("ftz");
  std::string combine = parts.take_one_of({"and", "or", "xor"});
  std::string name = s.opcode[1];
  parts.take(name);
  parts.expect_none();
  i.run = find_compare(type, name);
  if (!i.run) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  size_t expected = combine.empty() ? 3 : 4;
  if (s.operands.size() != expected) refuse(s.line, "setp has another count of operands");
  u32 bytes = read_type(type, s.line).bytes;
  i.to = decoder.predicate_destination(s.operands[0].reg);
  if (s.operands[0].second >= 0) decoder.list({decoder.predicate_destination(s.operands[0].second)}, i);
  i.a = decoder.source(s.operands[1], bytes);
  i.b = decoder.source(s.operands[2], bytes);
  if (combine.empty()) return;
  Mask flip = 0;
  i.c = decoder.predicate(s.operands[3], flip);
  i.detail = (combine == "and" ? kAnd : combine == "or" ? kOr : kXor) | (flip ? kFlipFlag : 0);
}

template <class T>
struct Finite {
  bool operator()(T a) const { return std::isfinite(a); }
};
template <class T>
struct Infinite {
  bool operator()(T a) const { return std::isinf(a); }
};
template <class T>
struct Number {
  bool operator()(T a) const { return a == a; }
};
template <class T>
struct NotNumber {
  bool operator()(T a) const { return a != a; }
};
template <class T>
struct Normal {
  bool operator()(T a) const { return std::isnormal(a); }
};
template <class T>
struct Subnormal {
  bool operator()(T a) const { return a != 0 && std::isfinite(a) && !std::isnormal(a); }
};

template <class F, class T>
void test_property(Warp& w, const Instruction& i) {
  set_predicate(w, i.to, test_lanes<F>(w.at<const T>(i.a)));
}

template <class T>
Handler find_property(const std::string& name) {
  if (name == "finite") return test_property<Finite<T>, T>;
  if (name == "infinite") return test_property<Infinite<T>, T>;
  if (name == "number") return test_property<Number<T>, T>;
  if (name == "notanumber") return test_property<NotNumber<T>, T>;
  if (name == "normal") return test_property<Normal<T>, T>;
  if (name == "subnormal") return test_property<Subnormal<T>, T>;
  return nullptr;
}

void decode_testp(Decoder& decoder, const Statement& s, Instruction& i) {
  bool is_wide = s.opcode.back() == "f64";
  i.run = is_wide ? find_property<double>(s.opcode[1]) : find_property<float>(s.opcode[1]);
  if (!i.run || s.opcode.size() != 3) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  i.to = decoder.predicate_destination(s.operands[0].reg);
  i.a = decoder.source(s.operands[1], is_wide ? 8 : 4);
}

}  // namespace

void add_compare_ops(DecodeTable& table) {
  table["setp"] = decode_setp;
  table["testp"] = decode_testp;
}

}  // namespace emulator
