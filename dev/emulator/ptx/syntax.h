// The parser's output for PTX text. Names of registers, variables and labels are resolved, types are not.
#pragma once
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace emulator {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

/// Rejected PTX. The text has the line and the reason.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] void refuse(u32 line, const std::string& why);

enum class Space : u8 { param, shared, local, global, constant };

struct Variable {
  std::string name;
  Space space;
  u32 align = 1;
  u64 size = 0;
  bool is_unsized = false;  // dynamic shared memory: its size comes with the launch
  bool is_extern = false;
  std::vector<u8> initial;
  struct Pointer {
    u64 at;
    std::string name;
    i64 offset;
  };
  std::vector<Pointer> pointers;  // addresses of other variables in the initial value
};

struct Operand {
  enum class Kind : u8 { reg, immediate, address, list, variable, name, sink };
  Kind kind = Kind::sink;
  int reg = -1;       // of a register, or of the base of an address
  int second = -1;    // the second predicate of p|q
  int variable = -1;  // index in Function::variables
  bool negated = false;
  bool is_real = false;  // a decimal fraction, in `real`
  u64 bits = 0;
  double real = 0;
  i64 offset = 0;
  std::string name;  // a module's variable, a special register, a label, a function
  std::vector<Operand> items;
};

struct Statement {
  u32 line;
  std::vector<std::string> opcode;  // split at its dots
  std::vector<Operand> operands;
  int guard = -1;
  bool guard_negated = false;
  int scope = 0;
};

struct Function {
  std::string name;
  u32 line = 0;
  bool is_entry = false;
  bool has_body = false;
  u32 max_threads = 0, max_registers = 0, min_blocks = 0;
  std::array<u32, 3> cluster{};
  std::vector<int> results, params;  // indices in `variables`
  std::vector<Variable> variables;
  std::vector<u8> register_bytes;  // 0 is a predicate
  std::vector<Statement> body;
  std::vector<int> scope_parents{-1};
  // Keys are "scope:name".
  std::unordered_map<std::string, u32> labels;
  std::unordered_map<std::string, std::vector<std::string>> branch_tables;

  template <class Map>
  auto find_scoped(const Map& map, const std::string& name, int scope) const {
    for (; scope >= 0; scope = scope_parents[size_t(scope)])
      if (auto found = map.find(std::to_string(scope) + ":" + name); found != map.end()) return found;
    return map.end();
  }
};

struct Module {
  std::string target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

Module parse_ptx(const std::string& text);

std::string join_opcode(const std::vector<std::string>& parts);

}  // namespace emulator
