#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace cru {
namespace {

/// A number beyond a double reads as infinity, which no JSON can say again.
bool is_finite(const json::value& value) {
  if (value.is_double()) return std::isfinite(value.get_double());
  if (const auto* array = value.if_array()) return std::ranges::all_of(*array, is_finite);
  if (const auto* object = value.if_object())
    return std::ranges::all_of(*object, [](const auto& member) { return is_finite(member.value()); });
  return true;
}

/// Where the end of a string of valid JSON is, from its opening quote.
size_t end_of_string(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at;
}

/// Where the first number beyond a double begins, in valid JSON that has one.
size_t find_infinite(std::string_view text) {
  constexpr std::string_view of_number = "+-.0123456789eE";
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"')
      at = end_of_string(text, at);
    else if (text[at] == '-' || (text[at] >= '0' && text[at] <= '9')) {
      auto end = std::min(text.find_first_not_of(of_number, at), text.size());
      if (!std::isfinite(std::strtod(std::string(text.substr(at, end - at)).c_str(), nullptr))) return at;
      at = end - 1;
    }
  }
  return 0;
}

std::unexpected<Error> refuse(size_t byte, std::string_view why) {
  return fail(Code::invalid_argument, fmt::format("not valid JSON at byte {}: {}", byte, why));
}

/// What follows the backslash of each byte between quotation marks; 0: it needs none. 'u' is for all that is
/// looked at more closely: control characters, and what is not ASCII.
constexpr auto escapes = [] {
  std::array<char, 256> letters{};
  for (size_t c = 0; c < 0x20; ++c) letters[c] = 'u';
  letters['\b'] = 'b';
  letters['\f'] = 'f';
  letters['\n'] = 'n';
  letters['\r'] = 'r';
  letters['\t'] = 't';
  letters['"'] = '"';
  letters['\\'] = '\\';
  for (size_t c = 0x80; c < 0x100; ++c) letters[c] = 'u';
  return letters;
}();

/// The lowest byte that is marked is one that needs a backslash, or is not plain ASCII; it is the first such.
uint64_t mark_escapes(uint64_t bytes) {
  constexpr uint64_t each = 0x0101010101010101, top = each * 0x80;
  auto mark_zero = [](uint64_t x) { return (x - each) & ~x; };
  return (mark_zero(bytes ^ each * '"') | mark_zero(bytes ^ each * '\\') | (bytes - each * 0x20) | bytes) &
         top;
}

/// Appends `text` up to the first byte that is to be looked at more closely; gives how much that is.
size_t append_escaped(std::string& out, std::string_view text) {
  size_t taken = 0;
  auto begin = out.size();
  out.resize_and_overwrite(begin + 2 * text.size() + sizeof(uint64_t), [&](char* all, size_t) {
    auto* to = all + begin;
    while (taken < text.size()) {
      if constexpr (std::endian::native == std::endian::little) {
        // Eight at a time: they are copied, and count as far as they are plain.
        if (uint64_t bytes = 0; text.size() - taken >= sizeof bytes) {
          std::memcpy(&bytes, text.data() + taken, sizeof bytes);
          std::memcpy(to, &bytes, sizeof bytes);
          auto marks = mark_escapes(bytes);
          auto plain = marks == 0 ? sizeof bytes : static_cast<size_t>(std::countr_zero(marks)) / 8;
          taken += plain;
          to += plain;
          if (marks == 0) continue;
        }
      }
      char c = text[taken];
      char letter = escapes[static_cast<unsigned char>(c)];
      if (letter == 'u') break;
      if (letter != 0) *to++ = '\\';
      *to++ = letter != 0 ? letter : c;
      ++taken;
    }
    return static_cast<size_t>(to - all);
  });
  return taken;
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Appends a control character by its number, or characters that are not ASCII: what stands for them where
/// bytes are none. Gives how much that is. Apart, so that plain text is not slower for it.
[[gnu::noinline]] size_t append_special(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (auto code = static_cast<unsigned char>(text.front()); is_ascii(text.front())) {
    ((out += "\\u00") += digits[code >> 4]) += digits[code & 15];
    return 1;
  }
  size_t taken = 0;
  while (taken < text.size() && !is_ascii(text[taken])) {
    auto size = utf8_size(text.data() + taken, text.data() + text.size());
    out += size > 0 ? text.substr(taken, static_cast<size_t>(size)) : replacement_character;
    taken += static_cast<size_t>(std::max(size, 1));
  }
  return taken;
}

/// The library writes the bytes of a string as they are.
std::string as_utf8(std::string json_text) {
  return is_utf8(json_text) ? std::move(json_text) : valid_utf8(json_text);
}

}  // namespace

Result<json::value> parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = 32;
  std::array<unsigned char, 1024> scratch;  // what is short needs no memory but that of its value
  json::stream_parser parser({}, options, scratch.data(), scratch.size());
  json::error_code error;
  size_t used = parser.write_some(text.data(), text.size(), error);
  if (!error && used < text.size()) {
    auto rest = text.find_first_not_of(" \t\r\n", used);
    if (rest != std::string_view::npos) return refuse(rest, "there is more after the value");
  }
  if (!error) parser.finish(error);
  if (error) {
    auto valid = utf8_prefix(text);
    return valid <= used && valid < text.size() ? refuse(valid, "not UTF-8") : refuse(used, error.message());
  }
  auto value = parser.release();
  if (!is_finite(value)) return refuse(find_infinite(text), "the number is too large");
  return value;
}

std::string_view text_or(const json::object& object, std::string_view key, std::string_view fallback) {
  const auto* value = object.if_contains(key);
  return value && value->is_string() ? std::string_view(value->get_string()) : fallback;
}

int64_t int_or(const json::object& object, std::string_view key, int64_t fallback) {
  const auto* value = object.if_contains(key);
  if (!value) return fallback;
  json::error_code error;
  auto number = value->to_number<int64_t>(error);
  return error ? fallback : number;
}

bool bool_or(const json::object& object, std::string_view key, bool fallback) {
  const auto* value = object.if_contains(key);
  return value && value->is_bool() ? value->get_bool() : fallback;
}

const json::object* object_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value ? value->if_object() : nullptr;
}

const json::array* array_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value ? value->if_array() : nullptr;
}

std::string to_text(const json::value& value) { return as_utf8(json::serialize(value)); }
std::string to_text(const json::object& object) { return as_utf8(json::serialize(object)); }
std::string to_text(const json::array& array) { return as_utf8(json::serialize(array)); }

void append_json_string(std::string& out, std::string_view text) {
  constexpr size_t piece = 64 << 10;  // for each there has to be room for twice as much
  out += '"';
  while (!text.empty()) {
    auto wanted = std::min(text.size(), piece);
    auto taken = append_escaped(out, text.substr(0, wanted));
    text.remove_prefix(taken);
    if (taken == wanted) continue;
    text.remove_prefix(append_special(out, text));
  }
  out += '"';
}

json::object to_json(const Error& error) {
  json::object out{{"error", name(error.code)}, {"message", error.message}};
  if (!error.field.empty()) out["field"] = error.field;
  if (!error.hint.empty()) out["hint"] = error.hint;
  if (!error.details.empty())
    if (auto details = parse_json(error.details)) out["details"] = std::move(*details);
  return out;
}

Error error_from_json(const json::object& object) {
  Error error{code_from_name(text_or(object, "error")), std::string(text_or(object, "message")),
              std::string(text_or(object, "field")), std::string(text_or(object, "hint"))};
  if (const auto* details = object.if_contains("details")) error.details = to_text(*details);
  return error;
}

}  // namespace cru
