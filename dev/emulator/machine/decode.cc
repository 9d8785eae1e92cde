#include "decode.h"

#include <algorithm>

namespace emulator {
namespace {

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
    add_mbarrier_ops(made);
    add_bulk_ops(made);
    add_group_ops(made);
    add_register_ops(made);
    add_cluster_ops(made);
    add_dependent_ops(made);
    return made;
  }();
  return table;
}

// False for vectors, and for registers that change while the kernel runs.
bool is_plain_move(const Statement& statement) {
  for (const Operand& operand : statement.operands)
    if (operand.kind == Operand::Kind::list || operand.name.starts_with("%clock") ||
        operand.name.starts_with("%globaltimer"))
      return false;
  return true;
}

}  // namespace

void Decoder::emit(const Instruction& i, const std::string& name) {
  code_.instructions.push_back(i);
  code_.names.push_back(name);
  code_.uses.insert(code_.uses.end(), uses_.begin(), uses_.end());
  code_.uses_end.push_back(u32(code_.uses.size()));
}

void Decoder::leave() { instance_->returns.push_back(u32(code_.instructions.size())); }

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
      // Parameters of calls are local memory; those of the kernel are placed in run().
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
  Instance inner{&*found, {}, {}, {}, {}};
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
  uses_.clear();
  check_target(statement, module_.target);
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
    if (!i.run) return;  // a call, which expands to other instructions
  } else {
    refuse(statement.line, "the emulator does not know " + name);
  }
  emit(i, name);
}

Code Decoder::run(const Function& kernel, u32 shared_from) {
  shared_at_ = shared_from;
  code_.kernel = kernel.name;
  code_.max_threads = kernel.max_threads;
  code_.max_registers = kernel.max_registers;
  code_.min_blocks = kernel.min_blocks;
  code_.cluster = kernel.cluster;
  std::fill(std::begin(code_.special_at), std::end(code_.special_at), kNone);
  calls_ = {kernel.name};
  Instance instance{&kernel, {}, {}, {}, {}};
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
