// Converts statements to instructions: registers, constants, variable addresses and branch targets become
// offsets. Called functions are inlined.
#pragma once
#include <map>

#include "machine.h"

namespace emulator {

/// Location of a module's variable: an offset for shared ones, otherwise the host's address.
struct Symbol {
  Space space;
  u64 at;
};
using Symbols = std::unordered_map<std::string, Symbol>;

Code decode_kernel(const Module& module, const Function& kernel, const Symbols& symbols, u32 shared_from);

/// A constant's slot, relocated when the constants are placed.
constexpr u32 kConstantFlag = 0x80000000;
inline u32 round_up(u32 value, u32 to) { return (value + to - 1) / to * to; }

class Decoder;
/// Opcodes with only plain operands, one letter each, destination first: h, w, d for 16, 32, 64 bits, p for a
/// predicate.
struct Plain {
  Handler run;
  const char* operands;
};
using PlainTable = std::unordered_map<std::string, Plain>;
void add_integer_ops(PlainTable& table);
void add_float_ops(PlainTable& table);
void add_half_ops(PlainTable& table);
void add_logic_ops(PlainTable& table);

/// Opcodes with their own decoding function, by their first part.
using Decode = void (*)(Decoder&, const Statement&, Instruction&);
using DecodeTable = std::unordered_map<std::string, Decode>;
void add_compare_ops(DecodeTable& table);
void add_convert_ops(DecodeTable& table);
void add_memory_ops(DecodeTable& table);
void add_atomic_ops(DecodeTable& table);
void add_control_ops(DecodeTable& table);
void add_warp_ops(DecodeTable& table);
void add_matrix_ops(DecodeTable& table);
void add_async_ops(DecodeTable& table);
void add_mbarrier_ops(DecodeTable& table);
void add_bulk_ops(DecodeTable& table);
void add_group_ops(DecodeTable& table);
void add_register_ops(DecodeTable& table);
void add_cluster_ops(DecodeTable& table);
void add_dependent_ops(DecodeTable& table);
void decode_scaled_mma(Decoder& decoder, const Statement& statement, Instruction& i);
void decode_cluster_barrier(Decoder& decoder, const Statement& statement, Instruction& i);

/// Rejects an instruction that the module's target does not have.
void check_target(const Statement& statement, const std::string& target);

/// The parts of an opcode, consumed one by one. An unconsumed part is an error.
class Parts {
 public:
  explicit Parts(const Statement& statement);
  bool take(std::string_view part);
  std::string take_one_of(std::initializer_list<const char*> parts);
  /// The last part, as a type.
  std::string take_type();
  void expect_none() const;

 private:
  const Statement& statement_;
  std::vector<std::string> left_;
};

struct TypeInfo {
  char kind;  // u, s, f, b, p
  u32 bytes;
};
TypeInfo read_type(const std::string& type, u32 line);

class Decoder {
 public:
  Decoder(const Module& module, const Symbols& symbols) : module_(module), symbols_(symbols) {}
  Code run(const Function& kernel, u32 shared_from);

  /// Slot of a source: a register, or a constant that holds an immediate or an address.
  u32 source(const Operand& operand, u32 bytes);
  u32 destination(const Operand& operand, u32 bytes);
  u32 predicate(const Operand& operand, Mask& flip);
  u32 predicate_destination(int reg);
  u32 register_bytes(const Operand& operand) const;
  u32 constant(u64 bits, u32 bytes);
  u32 special(const std::string& name);
  /// Base and offset of an address; returns the space of the variable that it names, if it names one.
  const Space* address(const Operand& operand, Instruction& i);
  void list(const std::vector<u32>& slots, Instruction& i);
  void branch_to(const std::string& label);
  void branch_table(const std::string& label, Instruction& i);
  void call(const Statement& statement);
  /// The current instruction branches to the end of the function.
  void leave();
  void emit(const Instruction& i, const std::string& name);
  u32 line() const { return statement_->line; }
  Code& code() { return code_; }

 private:
  // An inlined function at one call site: its registers and variables.
  struct Instance {
    const Function* function;
    std::vector<u32> slots;
    std::vector<Symbol> variables;
    std::vector<u32> label_pcs;  // by statement
    std::vector<u32> returns;    // instructions that branch to the end
  };
  struct Fixup {
    bool is_list;
    u32 at;
    u32 statement;
  };

  void place_registers(Instance& instance);
  void place_variables(Instance& instance);
  void decode_body(Instance& instance);
  void decode_statement(const Statement& statement);
  void decode_plain(const Plain& plain, const Statement& statement, Instruction& i);
  u32 use_register(const Operand& operand, u32 bytes, u32 mark);
  Symbol find_symbol(const Operand& operand) const;
  u32 take_slot(u32 bytes);
  u32 find_label(const std::string& label) const;

  const Module& module_;
  const Symbols& symbols_;
  Code code_;
  Instance* instance_ = nullptr;
  const Statement* statement_ = nullptr;
  std::vector<Fixup> fixups_;
  std::vector<u32> uses_;  // of the current statement
  std::map<std::pair<u64, u32>, u32> constants_;
  std::vector<std::string> calls_;
  u32 shared_at_ = 0;
};

}  // namespace emulator
