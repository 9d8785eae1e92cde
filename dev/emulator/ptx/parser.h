// The parser: one pass over the tokens that resolves registers and variables by scope.
#pragma once
#include "tokens.h"

namespace emulator {

class Parser {
 public:
  explicit Parser(const std::string& text) : in_(split_tokens(text)) {}

  Module run();

 private:
  Cursor in_;
  Module module_;
  Function* function_ = nullptr;
  struct Scope {
    int id;
    std::unordered_map<std::string, int> registers, variables;
  };
  std::vector<Scope> scopes_;

  void read_top();

  void skip_to(std::string_view end);

  void skip_braces();

  const Space* take_space();

  struct Shape {
    u32 align = 0, bytes = 0, lanes = 1;
    bool is_float = false;
  };

  // Everything between the space and the name: alignment, vector, type, and a pointer's target.
  Shape read_shape();

  Variable read_variable(Space space, const Shape& shape);

  void read_variables(Space space, bool is_extern, std::vector<Variable>& to);

  void read_initial(Variable& variable, const Shape& shape);

  void read_params(std::vector<int>& to);

  void read_function();

  void read_body();

  void read_registers();

  void read_label();

  template <class Found>
  int find(Found Scope::* map, const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto found = ((*scope).*map).find(name); found != ((*scope).*map).end()) return found->second;
    return -1;
  }

  void read_statement();

  Operand read_list(std::string_view end);

  Operand read_operand();

  void resolve(Operand& operand, const std::string& name);

  i64 read_offset();

  Operand read_address();
};

}  // namespace emulator
