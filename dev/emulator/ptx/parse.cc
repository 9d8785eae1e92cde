// Parses the text as a whole: directives, functions, bodies, labels.
#include "parser.h"

#include <algorithm>

namespace emulator {

Module Parser::run() {
  while (!in_.at_end()) read_top();
  return std::move(module_);
}

void Parser::read_top() {
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

void Parser::skip_to(std::string_view end) {
  while (!in_.at_end() && !in_.take_if(end)) in_.take();
}

void Parser::skip_braces() {
  while (!in_.at_end() && !in_.is("{")) in_.take();
  int depth = 0;
  do {
    depth += in_.is("{") - in_.is("}");
    in_.take();
  } while (depth > 0 && !in_.at_end());
}

void Parser::read_function() {
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
    std::array<u32, 3> values{1, 1, 1};
    for (size_t k = 0; in_.peek().kind == Token::Kind::number || in_.is(",");)
      if (!in_.take_if(",")) values[std::min<size_t>(k++, 2)] = u32(in_.expect_count());
    if (directive == ".maxntid" || directive == ".reqntid")
      function.max_threads = values[0] * values[1] * values[2];
    if (directive == ".reqnctapercluster") function.cluster = values;
    if (directive == ".maxnreg") function.max_registers = values[0];
    if (directive == ".minnctapersm") function.min_blocks = values[0];
  }
  if (!in_.take_if(";")) {
    function.has_body = true;
    in_.expect("{");
    read_body();
  }
  function_ = nullptr;
  if (function.has_body) module_.functions.push_back(std::move(function));
}

void Parser::read_body() {
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

void Parser::read_label() {
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

Module parse_ptx(const std::string& text) { return Parser(text).run(); }

}  // namespace emulator
