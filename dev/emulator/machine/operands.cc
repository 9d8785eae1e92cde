// Slots of operands: registers, constants, special registers, addresses, labels.
#include "decode.h"

#include <algorithm>

namespace emulator {
namespace {

const std::unordered_map<std::string, Special>& specials() {
  static const std::unordered_map<std::string, Special> table = {{"%tid.x", kTidX}, {"%tid.y", kTidY},
      {"%tid.z", kTidZ}, {"%ntid.x", kNtidX}, {"%ntid.y", kNtidY}, {"%ntid.z", kNtidZ}, {"%ctaid.x", kCtaidX},
      {"%ctaid.y", kCtaidY}, {"%ctaid.z", kCtaidZ}, {"%nctaid.x", kNctaidX}, {"%nctaid.y", kNctaidY},
      {"%nctaid.z", kNctaidZ}, {"%laneid", kLaneId}, {"%warpid", kWarpId}, {"%nwarpid", kNwarpId},
      {"%smid", kSmId}, {"%nsmid", kNsmId}, {"%lanemask_eq", kLaneEq}, {"%lanemask_lt", kLaneLt},
      {"%lanemask_le", kLaneLe}, {"%lanemask_gt", kLaneGt}, {"%lanemask_ge", kLaneGe},
      {"%dynamic_smem_size", kDynamicShared}, {"%total_smem_size", kTotalShared}, {"%gridid", kGridIdLow},
      {"%clusterid.x", kClusterIdX}, {"%clusterid.y", kClusterIdY}, {"%clusterid.z", kClusterIdZ},
      {"%nclusterid.x", kNclusterIdX}, {"%nclusterid.y", kNclusterIdY}, {"%nclusterid.z", kNclusterIdZ},
      {"%cluster_ctaid.x", kClusterCtaidX}, {"%cluster_ctaid.y", kClusterCtaidY},
      {"%cluster_ctaid.z", kClusterCtaidZ}, {"%cluster_nctaid.x", kClusterNctaidX},
      {"%cluster_nctaid.y", kClusterNctaidY}, {"%cluster_nctaid.z", kClusterNctaidZ},
      {"%cluster_ctarank", kClusterRank}, {"%cluster_nctarank", kClusterSize}};
  return table;
}

}  // namespace

Parts::Parts(const Statement& statement)
    : statement_(statement), left_(statement.opcode.begin() + 1, statement.opcode.end()) {}

bool Parts::take(std::string_view part) {
  auto found = std::find(left_.begin(), left_.end(), part);
  if (found == left_.end()) return false;
  left_.erase(found);
  return true;
}

std::string Parts::take_one_of(std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (take(part)) return part;
  return "";
}

std::string Parts::take_type() {
  if (left_.empty()) refuse(statement_.line, join_opcode(statement_.opcode) + " has no type");
  std::string type = left_.back();
  left_.pop_back();
  return type;
}

void Parts::expect_none() const {
  if (left_.empty()) return;
  refuse(statement_.line, "the emulator does not know " + join_opcode(statement_.opcode) + ": ." + left_[0]);
}

TypeInfo read_type(const std::string& type, u32 line) {
  if (type == "pred") return {'p', 0};
  if (type == "bf16") return {'f', 2};
  if (type == "f16x2" || type == "bf16x2") return {'b', 4};
  if (type.size() > 1 && std::string("usfb").find(type[0]) != std::string::npos) {
    u32 bits = u32(std::atoi(type.c_str() + 1));
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return {type[0], bits / 8};
  }
  refuse(line, "the emulator does not know the type ." + type);
}

u32 Decoder::take_slot(u32 bytes) {
  u32 size = bytes ? bytes * kLanes : 4;
  u32 at = round_up(code_.register_bytes, std::min(size, 64u));
  code_.register_bytes = at + size;
  return at;
}

u32 Decoder::constant(u64 bits, u32 bytes) {
  if (bytes == 0) bits = bits ? kAllLanes : 0;
  auto [found, is_new] = constants_.try_emplace({bits, bytes}, 0);
  if (is_new) {
    u32 at = round_up(u32(code_.constants.size()), 64);
    u32 count = bytes ? kLanes : 1;
    u32 width = bytes ? bytes : 4;
    code_.constants.resize(at + width * count);
    for (u32 lane = 0; lane < count; ++lane)
      std::memcpy(code_.constants.data() + at + width * lane, &bits, width);
    found->second = at | kConstantFlag;
  }
  return found->second;
}

u32 Decoder::special(const std::string& name) {
  auto found = specials().find(name);
  if (found == specials().end()) refuse(line(), "the emulator does not know the special register " + name);
  u32& at = code_.special_at[found->second];
  if (at == kNone) at = take_slot(4);
  return at;
}

u32 Decoder::register_bytes(const Operand& operand) const {
  return instance_->function->register_bytes[size_t(operand.reg)];
}

Symbol Decoder::find_symbol(const Operand& operand) const {
  if (operand.variable >= 0) return instance_->variables[size_t(operand.variable)];
  auto found = symbols_.find(operand.name);
  if (found == symbols_.end()) refuse(line(), "nothing is named " + operand.name);
  return found->second;
}

u32 Decoder::use_register(const Operand& operand, u32 bytes, u32 mark) {
  if (register_bytes(operand) != bytes)
    refuse(line(), "a register of " + std::to_string(register_bytes(operand) * 8) + " bits where " +
                       std::to_string(bytes * 8) + " are read");
  u32 slot = instance_->slots[size_t(operand.reg)];
  uses_.push_back(slot | mark);
  return slot;
}

u32 Decoder::source(const Operand& operand, u32 bytes) {
  switch (operand.kind) {
    case Operand::Kind::reg:
      return use_register(operand, bytes, 0);
    case Operand::Kind::immediate: {
      u64 bits = operand.bits;
      float narrow = float(operand.real);
      if (operand.is_real && bytes == 4) std::memcpy(&bits, &narrow, 4);
      if (operand.is_real && bytes == 8) std::memcpy(&bits, &operand.real, 8);
      if (bytes && bytes < 8) bits &= (1ull << (bytes * 8)) - 1;
      return constant(bits, bytes);
    }
    case Operand::Kind::variable:
      return constant(find_symbol(operand).at + u64(operand.offset), bytes);
    case Operand::Kind::name:
      if (operand.name == "WARP_SZ") return constant(kLanes, bytes);
      if (operand.name[0] != '%') return constant(find_symbol(operand).at + u64(operand.offset), bytes);
      if (bytes != 4) refuse(line(), operand.name + " has 32 bits");
      return special(operand.name);
    default:
      refuse(line(), "cannot read an operand of " + join_opcode(statement_->opcode));
  }
}

u32 Decoder::destination(const Operand& operand, u32 bytes) {
  if (operand.kind == Operand::Kind::sink) return take_slot(bytes);
  if (operand.kind != Operand::Kind::reg) refuse(line(), "the result needs a register");
  return use_register(operand, bytes, kWritten);
}

u32 Decoder::predicate(const Operand& operand, Mask& flip) {
  flip = operand.negated ? kAllLanes : 0;
  return source(operand, 0);
}

u32 Decoder::predicate_destination(int reg) {
  Operand operand;
  operand.kind = reg < 0 ? Operand::Kind::sink : Operand::Kind::reg;
  operand.reg = reg;
  return destination(operand, 0);
}

const Space* Decoder::address(const Operand& operand, Instruction& i) {
  if (operand.kind != Operand::Kind::address) refuse(line(), "expected an address in []");
  i.offset = operand.offset;
  i.is_wide_address = true;
  if (operand.reg >= 0) {
    i.a = use_register(operand, register_bytes(operand), 0);
    i.is_wide_address = register_bytes(operand) == 8;
    return nullptr;
  }
  static thread_local Space space;
  Symbol symbol{Space::global, 0};
  if (!operand.name.empty()) symbol = find_symbol(operand);
  space = symbol.space;
  i.a = constant(symbol.at, 8);
  return operand.name.empty() ? nullptr : &space;
}

void Decoder::list(const std::vector<u32>& slots, Instruction& i) {
  if (i.list_size == 0) i.list = u32(code_.lists.size());
  code_.lists.insert(code_.lists.end(), slots.begin(), slots.end());
  i.list_size += u32(slots.size());
}

u32 Decoder::find_label(const std::string& label) const {
  const Function& function = *instance_->function;
  auto found = function.find_scoped(function.labels, label, statement_->scope);
  if (found == function.labels.end()) refuse(line(), "no label is named " + label);
  return found->second;
}

void Decoder::branch_to(const std::string& label) {
  fixups_.push_back({false, u32(code_.instructions.size()), find_label(label)});
}

void Decoder::branch_table(const std::string& label, Instruction& i) {
  const Function& function = *instance_->function;
  auto found = function.find_scoped(function.branch_tables, label, statement_->scope);
  if (found == function.branch_tables.end()) refuse(line(), "no table of branches is named " + label);
  for (const std::string& target : found->second) {
    fixups_.push_back({true, u32(code_.lists.size()), find_label(target)});
    list({0}, i);
  }
}

}  // namespace emulator
