#include "decode.h"

#include <algorithm>

namespace emulator {
namespace {

constexpr u32 kConstantFlag = 0x80000000;  // a slot among the constants, moved when their place is known

u32 round_up(u32 value, u32 to) { return (value + to - 1) / to * to; }

const PlainTable& plain_table() {
  static const PlainTable table = [] {
    PlainTable made;
    add_integer_ops(made);
    add_float_ops(made);
    add_half_ops(made);
    add_logic_ops(made);
    return made;
  }();
  return table;
}

const DecodeTable& decode_table() {
  static const DecodeTable table = [] {
    DecodeTable made;
    add_compare_ops(made);
    add_convert_ops(made);
    add_memory_ops(made);
    add_atomic_ops(made);
    add_control_ops(made);
    add_warp_ops(made);
    add_matrix_ops(made);
    add_async_ops(made);
    return made;
  }();
  return table;
}

const std::unordered_map<std::string, Special>& specials() {
  static const std::unordered_map<std::string, Special> table = {{"%tid.x", kTidX}, {"%tid.y", kTidY},
      {"%tid.z", kTidZ}, {"%ntid.x", kNtidX}, {"%ntid.y", kNtidY}, {"%ntid.z", kNtidZ}, {"%ctaid.x", kCtaidX},
      {"%ctaid.y", kCtaidY}, {"%ctaid.z", kCtaidZ}, {"%nctaid.x", kNctaidX}, {"%nctaid.y", kNctaidY},
      {"%nctaid.z", kNctaidZ}, {"%laneid", kLaneId}, {"%warpid", kWarpId}, {"%nwarpid", kNwarpId},
      {"%smid", kSmId}, {"%nsmid", kNsmId}, {"%lanemask_eq", kLaneEq}, {"%lanemask_lt", kLaneLt},
      {"%lanemask_le", kLaneLe}, {"%lanemask_gt", kLaneGt}, {"%lanemask_ge", kLaneGe},
      {"%dynamic_smem_size", kDynamicShared}, {"%total_smem_size", kTotalShared}, {"%cluster_ctarank", kZero},
      {"%cluster_nctarank", kOne}, {"%clusterid.x", kCtaidX}, {"%clusterid.y", kCtaidY},
      {"%clusterid.z", kCtaidZ}, {"%cluster_ctaid.x", kZero}, {"%cluster_nctaid.x", kOne},
      {"%gridid", kGridIdLow}};
  return table;
}

// Packs, and registers that change while the kernel runs.
bool is_plain_move(const Statement& statement) {
  for (const Operand& operand : statement.operands)
    if (operand.kind == Operand::Kind::list || operand.name.starts_with("%clock") ||
        operand.name.starts_with("%globaltimer"))
      return false;
  return true;
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

u32 Decoder::source(const Operand& operand, u32 bytes) {
  switch (operand.kind) {
    case Operand::Kind::reg:
      if (register_bytes(operand) != bytes)
        refuse(line(), "a register of " + std::to_string(register_bytes(operand) * 8) + " bits where " +
                           std::to_string(bytes * 8) + " are read");
      return instance_->slots[size_t(operand.reg)];
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
  return source(operand, bytes);
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

bool Decoder::is_kernel_param(const Operand& operand) const {
  return operand.variable >= 0 && instance_->variables[size_t(operand.variable)].space == Space::param;
}

const Space* Decoder::address(const Operand& operand, Instruction& i) {
  if (operand.kind != Operand::Kind::address) refuse(line(), "expected an address in []");
  i.offset = operand.offset;
  i.is_wide_address = true;
  if (operand.reg >= 0) {
    i.a = instance_->slots[size_t(operand.reg)];
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

void Decoder::branch_to(const std::string& label, Instruction&) {
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

void Decoder::emit(const Instruction& i, const std::string& name) {
  code_.instructions.push_back(i);
  code_.names.push_back(name);
}

void Decoder::leave(Instruction&) { instance_->returns.push_back(u32(code_.instructions.size())); }

void Decoder::place_registers(Instance& instance) {
  for (u8 bytes : instance.function->register_bytes) instance.slots.push_back(take_slot(bytes));
}

void Decoder::place_variables(Instance& instance) {
  for (const Variable& variable : instance.function->variables) {
    Space space = variable.space;
    u64 at = 0;
    if (space == Space::shared) {
      at = shared_at_ = round_up(shared_at_, variable.align);
      shared_at_ += u32(variable.size);
    } else if (space == Space::local || space == Space::param) {
      // Parameters of calls are local memory; those of the kernel get their place in run().
      at = code_.local_bytes = round_up(code_.local_bytes, std::max(variable.align, 16u));
      space = Space::local;
      code_.local_bytes += u32(variable.size);
    } else {
      refuse(line(), "a variable of a function lies in local or shared memory");
    }
    instance.variables.push_back({space, at});
  }
}

void Decoder::call(const Statement& statement) {
  std::vector<const Operand*> lists;
  std::string name;
  for (const Operand& operand : statement.operands) {
    if (operand.kind == Operand::Kind::list) lists.push_back(&operand);
    else if (operand.kind == Operand::Kind::name) name = operand.name;
    else refuse(line(), "calls through a register are not known");
  }
  auto found = std::find_if(module_.functions.begin(), module_.functions.end(),
      [&](const Function& function) { return function.name == name; });
  if (found == module_.functions.end()) refuse(line(), "the function " + name + " has no body here");
  if (std::find(calls_.begin(), calls_.end(), name) != calls_.end()) refuse(line(), name + " calls itself");
  Instance inner{&*found, {}, {}, {}, {}, {}};
  calls_.push_back(name);
  place_registers(inner);
  place_variables(inner);
  bool has_result = !found->results.empty();
  auto bind = [&](const std::vector<int>& formal, const Operand* actual) {
    if (formal.size() != (actual ? actual->items.size() : 0))
      refuse(line(), name + " is called with other parameters");
    for (size_t k = 0; k < formal.size(); ++k)
      inner.variables[size_t(formal[k])] = find_symbol(actual->items[k]);
  };
  bind(found->results, has_result && !lists.empty() ? lists[0] : nullptr);
  bind(found->params, lists.size() > has_result ? lists[has_result] : nullptr);
  Instance* outer = instance_;
  const Statement* at = statement_;
  decode_body(inner);
  instance_ = outer;
  statement_ = at;
  calls_.pop_back();
}

void Decoder::decode_body(Instance& instance) {
  instance_ = &instance;
  std::vector<Fixup> outer_fixups = std::move(fixups_);
  fixups_.clear();
  for (const Statement& statement : instance.function->body) {
    instance.label_pcs.push_back(u32(code_.instructions.size()));
    decode_statement(statement);
  }
  u32 end = u32(code_.instructions.size());
  instance.label_pcs.push_back(end);
  for (const Fixup& fixup : fixups_) {
    u32& to = fixup.is_list ? code_.lists[fixup.at] : code_.instructions[fixup.at].target;
    to = instance.label_pcs[fixup.statement];
  }
  for (u32 at : instance.returns) code_.instructions[at].target = end;
  fixups_ = std::move(outer_fixups);
}

void Decoder::decode_plain(const Plain& plain, const Statement& statement, Instruction& i) {
  std::string_view shape = plain.operands;
  if (statement.operands.size() != shape.size())
    refuse(line(), join_opcode(statement.opcode) + " has " + std::to_string(shape.size()) + " operands");
  u32* slots[] = {&i.to, &i.a, &i.b, &i.c};
  for (size_t k = 0; k < shape.size(); ++k) {
    u32 bytes = shape[k] == 'h' ? 2 : shape[k] == 'w' ? 4 : shape[k] == 'd' ? 8 : 0;
    const Operand& operand = statement.operands[k];
    if (k == 0) {
      i.to = destination(operand, bytes);
    } else if (shape[k] == 'p') {
      Mask flip = 0;
      *slots[k] = predicate(operand, flip);
      if (flip) i.detail |= 1ull << k;
    } else if (k < 4) {
      *slots[k] = source(operand, bytes);
    } else {
      list({source(operand, bytes)}, i);
    }
  }
  i.run = plain.run;
}

void Decoder::decode_statement(const Statement& statement) {
  statement_ = &statement;
  Instruction i;
  i.line = statement.line;
  if (statement.guard >= 0) {
    i.guard = instance_->slots[size_t(statement.guard)];
    i.guard_flip = statement.guard_negated ? kAllLanes : 0;
  }
  std::string name = join_opcode(statement.opcode);
  auto plain = plain_table().find(name);
  if (statement.opcode[0] == "mov" && !is_plain_move(statement)) plain = plain_table().end();
  if (plain != plain_table().end()) {
    decode_plain(plain->second, statement, i);
  } else if (auto found = decode_table().find(statement.opcode[0]); found != decode_table().end()) {
    found->second(*this, statement, i);
    if (!i.run) return;  // a call, which stands for other instructions
  } else {
    refuse(statement.line, "the emulator does not know " + name);
  }
  emit(i, name);
}

Code Decoder::run(const Function& kernel, u32 shared_from) {
  shared_at_ = shared_from;
  code_.kernel = kernel.name;
  code_.max_threads = kernel.max_threads;
  std::fill(std::begin(code_.special_at), std::end(code_.special_at), kNone);
  calls_ = {kernel.name};
  Instance instance{&kernel, {}, {}, {}, {}, {}};
  Statement none{kernel.line, {}, {}};
  statement_ = &none;
  instance_ = &instance;
  place_registers(instance);
  place_variables(instance);
  for (int index : kernel.params) {
    const Variable& variable = kernel.variables[size_t(index)];
    code_.param_bytes = round_up(code_.param_bytes, variable.align);
    instance.variables[size_t(index)] = {Space::param, code_.param_bytes};
    code_.params.emplace_back(code_.param_bytes, u32(variable.size));
    code_.param_bytes += u32(variable.size);
  }
  decode_body(instance);
  Statement last{kernel.line, {"exit"}, {}};
  decode_statement(last);
  code_.shared_bytes = round_up(shared_at_, 16);
  code_.local_bytes = round_up(code_.local_bytes, 16);
  code_.constants_at = round_up(code_.register_bytes, 64);
  code_.register_bytes = round_up(code_.constants_at + u32(code_.constants.size()), 64);
  auto move = [&](u32& slot) {
    if (slot != kNone && slot & kConstantFlag) slot = (slot & ~kConstantFlag) + code_.constants_at;
  };
  for (Instruction& i : code_.instructions) {
    for (u32* slot : {&i.to, &i.a, &i.b, &i.c, &i.guard}) move(*slot);
  }
  for (u32& slot : code_.lists) move(slot);
  return std::move(code_);
}

Code decode_kernel(const Module& module, const Function& kernel, const Symbols& symbols, u32 shared_from) {
  return Decoder(module, symbols).run(kernel, shared_from);
}

}  // namespace emulator
