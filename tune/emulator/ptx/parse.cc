// The parser: declarations, functions, statements. One pass over the tokens, registers and variables resolved
// by scope as it goes.
#include <cstring>
#include <map>

#include "tokens.h"

namespace emulator {
namespace {

struct Type {
  u32 bytes;
  bool is_float;
};

const std::unordered_map<std::string, Type>& types() {
  static const std::unordered_map<std::string, Type> table = {{".b8", {1, false}}, {".u8", {1, false}},
      {".s8", {1, false}}, {".b16", {2, false}}, {".u16", {2, false}}, {".s16", {2, false}},
      {".f16", {2, true}}, {".bf16", {2, true}}, {".b32", {4, false}}, {".u32", {4, false}},
      {".s32", {4, false}}, {".f32", {4, true}}, {".f16x2", {4, false}}, {".b64", {8, false}},
      {".u64", {8, false}}, {".s64", {8, false}}, {".f64", {8, true}}, {".pred", {0, false}}};
  return table;
}

std::vector<std::string> split_opcode(const std::string& word) {
  std::vector<std::string> parts(1);
  for (char c : word)
    if (c == '.') parts.emplace_back();
    else parts.back() += c;
  return parts;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : in_(split_tokens(text)) {}

  Module run() {
    while (!in_.at_end()) read_top();
    return std::move(module_);
  }

 private:
  Cursor in_;
  Module module_;
  Function* function_ = nullptr;
  struct Scope {
    int id;
    std::unordered_map<std::string, int> registers, variables;
  };
  std::vector<Scope> scopes_;

  void read_top() {
    if (in_.is(".version") || in_.is(".address_size") || in_.is(".file") || in_.is(".loc"))
      return in_.skip_line();
    if (in_.take_if(".target")) {
      module_.target = in_.expect_word();
      return in_.skip_line();
    }
    if (in_.take_if(".pragma")) return skip_to(";");
    if (in_.is(".section")) return skip_braces();
    if (in_.take_if(";")) return;
    bool is_extern = false;
    while (in_.is(".visible") || in_.is(".weak") || in_.is(".extern") || in_.is(".common"))
      is_extern |= in_.take().text == ".extern";
    if (in_.is(".entry") || in_.is(".func")) return read_function();
    if (auto space = take_space()) return read_variables(*space, is_extern, module_.variables);
    refuse(in_.line(), "cannot read '" + std::string(in_.peek().text) + "'");
  }

  void skip_to(std::string_view end) {
    while (!in_.at_end() && !in_.take_if(end)) in_.take();
  }

  void skip_braces() {
    while (!in_.at_end() && !in_.is("{")) in_.take();
    int depth = 0;
    do {
      depth += in_.is("{") - in_.is("}");
      in_.take();
    } while (depth > 0 && !in_.at_end());
  }

  const Space* take_space() {
    static const std::map<std::string_view, Space> spaces = {{".param", Space::param},
        {".shared", Space::shared}, {".local", Space::local}, {".global", Space::global},
        {".const", Space::constant}};
    auto found = spaces.find(in_.peek().text);
    if (found == spaces.end()) return nullptr;
    in_.take();
    return &found->second;
  }

  struct Shape {
    u32 align = 0, bytes = 0, lanes = 1;
    bool is_float = false;
  };

  // Everything between the space and the name: alignment, vector, type, and what a pointer points at.
  Shape read_shape() {
    Shape shape;
    for (;;) {
      std::string word(in_.peek().text);
      if (word == ".align") {
        in_.take();
        u32 align = u32(in_.expect_count());
        if (!shape.align) shape.align = align;
      } else if (word == ".v2" || word == ".v4") {
        shape.lanes = word == ".v2" ? 2 : 4;
        in_.take();
      } else if (word == ".ptr") {
        in_.take();
        take_space();
        // The alignment of what it points at, not of the parameter.
        if (in_.take_if(".align")) in_.expect_count();
      } else if (auto type = types().find(word); type != types().end()) {
        shape.bytes = type->second.bytes;
        shape.is_float = type->second.is_float;
        in_.take();
      } else {
        if (!shape.align) shape.align = std::max(1u, shape.bytes * shape.lanes);
        return shape;
      }
    }
  }

  Variable read_variable(Space space, const Shape& shape) {
    Variable variable;
    variable.space = space;
    variable.align = shape.align;
    variable.name = in_.expect_word();
    u64 count = shape.lanes;
    while (in_.take_if("[")) {
      if (in_.is("]")) variable.is_unsized = true;
      else count *= in_.expect_count();
      in_.expect("]");
    }
    variable.size = variable.is_unsized ? 0 : count * shape.bytes;
    if (in_.take_if("=")) read_initial(variable, shape);
    return variable;
  }

  void read_variables(Space space, bool is_extern, std::vector<Variable>& to) {
    Shape shape = read_shape();
    do {
      to.push_back(read_variable(space, shape));
      to.back().is_extern = is_extern;
      if (function_) scopes_.back().variables[to.back().name] = int(to.size()) - 1;
    } while (in_.take_if(","));
    in_.expect(";");
  }

  void read_initial(Variable& variable, const Shape& shape) {
    variable.initial.assign(variable.size, 0);
    u64 at = 0;
    auto put = [&](u64 bits) {
      if (at + shape.bytes > variable.size)
        refuse(in_.line(), variable.name + " has too many initial values");
      std::memcpy(variable.initial.data() + at, &bits, shape.bytes);
      at += shape.bytes;
    };
    int depth = 0;
    do {
      while (in_.take_if("{")) ++depth;
      bool is_generic = in_.take_if("generic");
      if (is_generic) in_.expect("(");
      if (in_.peek().kind == Token::Kind::word) {
        std::string name = in_.expect_word();
        i64 offset = in_.take_if("+") ? i64(in_.expect_count()) : 0;
        variable.pointers.push_back({at, name, offset});
        put(0);
      } else {
        bool is_negative = in_.take_if("-");
        Literal literal = read_literal(in_.take());
        if (literal.is_real) {
          double real = is_negative ? -literal.real : literal.real;
          float narrow = float(real);
          if (shape.bytes == 4) std::memcpy(&literal.bits, &narrow, 4);
          else std::memcpy(&literal.bits, &real, 8);
          put(literal.bits);
        } else {
          put(is_negative ? u64(-i64(literal.bits)) : literal.bits);
        }
      }
      if (is_generic) in_.expect(")");
      while (depth && in_.take_if("}")) --depth;
    } while (in_.take_if(","));
  }

  void read_params(std::vector<int>& to) {
    in_.expect("(");
    while (!in_.take_if(")")) {
      if (!take_space()) {
        in_.expect(".reg");
        refuse(in_.line(), "parameters in registers are not read");
      }
      Variable variable = read_variable(Space::param, read_shape());
      function_->variables.push_back(std::move(variable));
      to.push_back(int(function_->variables.size()) - 1);
      scopes_.back().variables[function_->variables.back().name] = to.back();
      in_.take_if(",");
    }
  }

  void read_function() {
    Function function;
    function_ = &function;
    function.line = in_.line();
    function.is_entry = in_.take().text == ".entry";
    scopes_ = {Scope{0, {}, {}}};
    if (in_.is("(")) read_params(function.results);
    function.name = in_.expect_word();
    if (in_.is("(")) read_params(function.params);
    while (!in_.is("{") && !in_.is(";")) {
      std::string directive = in_.expect_word();
      u64 product = 1;
      while (in_.peek().kind == Token::Kind::number || in_.is(",")) {
        if (!in_.take_if(",")) product *= in_.expect_count();
      }
      if (directive == ".maxntid" || directive == ".reqntid") function.max_threads = u32(product);
    }
    if (!in_.take_if(";")) {
      function.has_body = true;
      in_.expect("{");
      read_body();
    }
    function_ = nullptr;
    if (function.has_body) module_.functions.push_back(std::move(function));
  }

  void read_body() {
    for (;;) {
      if (in_.at_end()) refuse(in_.line(), "the body of " + function_->name + " does not end");
      if (in_.take_if("}")) {
        if (scopes_.size() == 1) return;
        scopes_.pop_back();
      } else if (in_.take_if("{")) {
        function_->scope_parents.push_back(scopes_.back().id);
        scopes_.push_back({int(function_->scope_parents.size()) - 1, {}, {}});
      } else if (in_.take_if(";")) {
      } else if (in_.is(".loc") || in_.is(".file")) {
        in_.skip_line();
      } else if (in_.take_if(".pragma")) {
        skip_to(";");
      } else if (in_.take_if(".reg")) {
        read_registers();
      } else if (auto space = take_space()) {
        read_variables(*space, false, function_->variables);
      } else if (in_.peek().kind == Token::Kind::word && in_.peek(1).text == ":") {
        read_label();
      } else {
        read_statement();
      }
    }
  }

  void read_registers() {
    Shape shape = read_shape();
    auto add = [&](const std::string& name) {
      function_->register_bytes.push_back(u8(shape.bytes == 1 ? 2 : shape.bytes));
      scopes_.back().registers[name] = int(function_->register_bytes.size()) - 1;
    };
    do {
      std::string name = in_.expect_word();
      if (in_.take_if("<")) {
        u64 count = in_.expect_count();
        in_.expect(">");
        for (u64 i = 0; i < count; ++i) add(name + std::to_string(i));
      } else if (shape.lanes > 1) {
        for (u32 i = 0; i < shape.lanes; ++i) add(name + "." + "xyzw"[i]);
      } else {
        add(name);
      }
    } while (in_.take_if(","));
    in_.expect(";");
  }

  void read_label() {
    std::string key = std::to_string(scopes_.back().id) + ":" + in_.expect_word();
    in_.expect(":");
    if (in_.take_if(".branchtargets")) {
      auto& table = function_->branch_tables[key];
      do table.push_back(in_.expect_word());
      while (in_.take_if(","));
      in_.expect(";");
    } else {
      function_->labels[key] = u32(function_->body.size());
    }
  }

  template <class Found>
  int find(Found Scope::* map, const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto found = ((*scope).*map).find(name); found != ((*scope).*map).end()) return found->second;
    return -1;
  }

  void read_statement() {
    Statement statement{in_.line(), {}, {}};
    statement.scope = scopes_.back().id;
    if (in_.take_if("@")) {
      statement.guard_negated = in_.take_if("!");
      std::string name = in_.expect_word();
      statement.guard = find(&Scope::registers, name);
      if (statement.guard < 0) refuse(statement.line, "no predicate is named " + name);
    }
    statement.opcode = split_opcode(in_.expect_word());
    while (!in_.take_if(";")) {
      statement.operands.push_back(read_operand());
      if (!in_.is(";")) in_.expect(",");
    }
    function_->body.push_back(std::move(statement));
  }

  Operand read_list(std::string_view end) {
    Operand list;
    list.kind = Operand::Kind::list;
    while (!in_.take_if(end)) {
      list.items.push_back(read_operand());
      if (!in_.is(end)) in_.expect(",");
    }
    return list;
  }

  Operand read_operand() {
    if (in_.take_if("{")) return read_list("}");
    if (in_.take_if("(")) return read_list(")");
    if (in_.take_if("[")) return read_address();
    Operand operand;
    operand.negated = in_.take_if("!");
    bool is_negative = in_.take_if("-");
    if (in_.peek().kind == Token::Kind::number) {
      Literal literal = read_literal(in_.take());
      operand.kind = Operand::Kind::immediate;
      operand.is_real = literal.is_real;
      operand.real = is_negative ? -literal.real : literal.real;
      operand.bits = is_negative ? u64(-i64(literal.bits)) : literal.bits;
      return operand;
    }
    resolve(operand, in_.expect_word());
    if (in_.take_if("|")) {
      std::string name = in_.expect_word();
      operand.second = find(&Scope::registers, name);
      if (operand.second < 0 && name != "_") refuse(in_.line(), "no register is named " + name);
    }
    if (in_.take_if("+")) operand.offset = read_offset();
    return operand;
  }

  void resolve(Operand& operand, const std::string& name) {
    operand.name = name;
    if (name == "_") return;
    operand.reg = find(&Scope::registers, name);
    if (operand.reg >= 0) {
      operand.kind = Operand::Kind::reg;
      return;
    }
    operand.variable = find(&Scope::variables, name);
    operand.kind = operand.variable >= 0 ? Operand::Kind::variable : Operand::Kind::name;
    if (name[0] != '%' || operand.variable >= 0 || find(&Scope::registers, name + ".x") < 0) return;
    operand.kind = Operand::Kind::list;  // a vector register by its whole name
    for (char lane : {'x', 'y', 'z', 'w'}) {
      int reg = find(&Scope::registers, name + "." + lane);
      if (reg < 0) break;
      operand.items.emplace_back();
      operand.items.back().kind = Operand::Kind::reg;
      operand.items.back().reg = reg;
    }
  }

  i64 read_offset() {
    bool is_negative = in_.take_if("-");
    i64 offset = i64(in_.expect_count());
    return is_negative ? -offset : offset;
  }

  Operand read_address() {
    Operand operand;
    if (in_.peek().kind == Token::Kind::number) operand.offset = i64(in_.expect_count());
    else resolve(operand, in_.expect_word());
    operand.kind = Operand::Kind::address;
    if (in_.take_if("+")) operand.offset = read_offset();
    else if (in_.take_if("-")) operand.offset = -read_offset();
    if (in_.take_if(",")) operand.items.push_back(read_operand());  // coordinates of a tensor map
    in_.expect("]");
    return operand;
  }
};

}  // namespace

Module parse_ptx(const std::string& text) { return Parser(text).run(); }

}  // namespace emulator
