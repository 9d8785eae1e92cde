// Declarations: types, alignments, variables with their initial values, registers.
#include "parser.h"

#include <cstring>
#include <map>

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

}  // namespace

const Space* Parser::take_space() {
  static const std::map<std::string_view, Space> spaces = {{".param", Space::param},
      {".shared", Space::shared}, {".local", Space::local}, {".global", Space::global},
      {".const", Space::constant}};
  auto found = spaces.find(in_.peek().text);
  if (found == spaces.end()) return nullptr;
  in_.take();
  return &found->second;
}

Parser::Shape Parser::read_shape() {
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
      // The alignment of the pointee, not of the parameter.
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

Variable Parser::read_variable(Space space, const Shape& shape) {
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

void Parser::read_variables(Space space, bool is_extern, std::vector<Variable>& to) {
  Shape shape = read_shape();
  do {
    to.push_back(read_variable(space, shape));
    to.back().is_extern = is_extern;
    if (function_) scopes_.back().variables[to.back().name] = int(to.size()) - 1;
  } while (in_.take_if(","));
  in_.expect(";");
}

void Parser::read_initial(Variable& variable, const Shape& shape) {
  variable.initial.assign(variable.size, 0);
  u64 at = 0;
  auto put = [&](u64 bits) {
    if (at + shape.bytes > variable.size) refuse(in_.line(), variable.name + " has too many initial values");
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
      if (is_generic) in_.expect(")");
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
    while (depth && in_.take_if("}")) --depth;
  } while (in_.take_if(","));
}

void Parser::read_params(std::vector<int>& to) {
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

void Parser::read_registers() {
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

}  // namespace emulator
