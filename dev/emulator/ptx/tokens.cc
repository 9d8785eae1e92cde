#include "tokens.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace emulator {

void refuse(u32 line, const std::string& why) {
  throw Refusal("PTX line " + std::to_string(line) + ": " + why);
}

std::string join_opcode(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ".") + part;
  return joined;
}

namespace {

bool is_word_start(char c) { return std::isalpha(u8(c)) || c == '_' || c == '$' || c == '%' || c == '.'; }

// "::" belongs to a word (shared::cta), a single colon ends a label.
size_t word_length(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size()) {
    char c = text[end];
    if (std::isalnum(u8(c)) || c == '_' || c == '$' || c == '%' || c == '.') ++end;
    else if (c == ':' && end + 2 < text.size() && text[end + 1] == ':' && std::isalnum(u8(text[end + 2])))
      end += 2;
    else break;
  }
  return end - at;
}

}  // namespace

std::vector<Token> split_tokens(std::string_view text) {
  std::vector<Token> tokens;
  u32 line = 1;
  size_t at = 0;
  auto add = [&](Token::Kind kind, size_t length) {
    tokens.push_back({kind, text.substr(at, length), line});
    at += length;
  };
  while (at < text.size()) {
    char c = text[at];
    if (c == '\0') break;
    if (c == '\n') {
      ++line;
      ++at;
    } else if (std::isspace(u8(c))) {
      ++at;
    } else if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      size_t end = std::min(text.find("*/", at), text.size() - 2) + 2;
      for (; at < end; ++at) line += text[at] == '\n';
    } else if (c == '"') {
      size_t end = std::min(text.find('"', at + 1), text.size() - 1);
      add(Token::Kind::text, end + 1 - at);
    } else if (std::isdigit(u8(c))) {
      size_t end = at;
      while (end < text.size() && (std::isalnum(u8(text[end])) || text[end] == '.')) ++end;
      // The sign of a decimal exponent: 1.5e-3.
      bool is_hex =
          text.compare(at, 2, "0x") == 0 || text.compare(at, 2, "0f") == 0 || text.compare(at, 2, "0d") == 0;
      if (!is_hex && end < text.size() && text[end - 1] == 'e' && (text[end] == '-' || text[end] == '+'))
        for (++end; end < text.size() && std::isdigit(u8(text[end]));) ++end;
      add(Token::Kind::number, end - at);
    } else if (is_word_start(c)) {
      add(Token::Kind::word, word_length(text, at));
    } else {
      add(Token::Kind::sign, 1);
    }
  }
  tokens.push_back({Token::Kind::end, "", line});
  return tokens;
}

Literal read_literal(const Token& token) {
  std::string digits(token.text);
  if (token.kind != Token::Kind::number) refuse(token.line, "expected a number, got '" + digits + "'");
  bool is_float = digits.size() == 10 && digits[0] == '0' && (digits[1] == 'f' || digits[1] == 'F');
  bool is_double = digits.size() == 18 && digits[0] == '0' && (digits[1] == 'd' || digits[1] == 'D');
  if (is_float || is_double) return {std::strtoull(digits.c_str() + 2, nullptr, 16), 0, false};
  if (digits.find('.') != std::string::npos) return {0, std::strtod(digits.c_str(), nullptr), true};
  char* end = nullptr;
  u64 bits = std::strtoull(digits.c_str(), &end, 0);
  if (*end == 'U' || *end == 'u') ++end;
  if (*end) refuse(token.line, "cannot read the number '" + digits + "'");
  return {bits, 0, false};
}

void Cursor::expect(std::string_view text) {
  if (!take_if(text))
    refuse(line(), "expected '" + std::string(text) + "', got '" + std::string(peek().text) + "'");
}

std::string Cursor::expect_word() {
  Token token = take();
  if (token.kind != Token::Kind::word)
    refuse(token.line, "expected a name, got '" + std::string(token.text) + "'");
  return std::string(token.text);
}

u64 Cursor::expect_count() { return read_literal(take()).bits; }

void Cursor::skip_line() {
  for (u32 here = line(); !at_end() && line() == here;) take();
}

}  // namespace emulator
