// Statements and their operands.
#include "parser.h"

namespace emulator {
namespace {

std::vector<std::string> split_opcode(const std::string& word) {
  std::vector<std::string> parts(1);
  for (char c : word)
    if (c == '.') parts.emplace_back();
    else parts.back() += c;
  return parts;
}

}  // namespace

void Parser::read_statement() {
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

Operand Parser::read_list(std::string_view end) {
  Operand list;
  list.kind = Operand::Kind::list;
  while (!in_.take_if(end)) {
    list.items.push_back(read_operand());
    if (!in_.is(end)) in_.expect(",");
  }
  return list;
}

Operand Parser::read_operand() {
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

void Parser::resolve(Operand& operand, const std::string& name) {
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

i64 Parser::read_offset() {
  bool is_negative = in_.take_if("-");
  i64 offset = i64(in_.expect_count());
  return is_negative ? -offset : offset;
}

Operand Parser::read_address() {
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

}  // namespace emulator
