// Tokens of PTX text, with their lines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "syntax.h"

namespace emulator {

struct Token {
  enum class Kind : u8 { word, number, text, sign, end };
  Kind kind;
  std::string_view text;
  u32 line;
};

std::vector<Token> split_tokens(std::string_view text);

/// An unsigned literal as PTX writes it: 12, 0x1fU, 0f3F800000, 0d3FF0…, 1.5. Fractions are in `real`.
struct Literal {
  u64 bits;
  double real;
  bool is_real;
};
Literal read_literal(const Token& token);

class Cursor {
 public:
  explicit Cursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  const Token& peek(size_t ahead = 0) const {
    return tokens_[at_ + ahead < tokens_.size() ? at_ + ahead : tokens_.size() - 1];
  }
  Token take() {
    Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(std::string_view text) const { return peek().text == text && peek().kind != Token::Kind::text; }
  bool take_if(std::string_view text) {
    if (!is(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text);
  std::string expect_word();
  u64 expect_count();
  void skip_line();
  bool at_end() const { return peek().kind == Token::Kind::end; }
  u32 line() const { return peek().line; }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace emulator
