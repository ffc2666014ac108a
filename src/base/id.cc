#include "base/id.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cru {

bool is_task_id(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
}

Result<> check_task_id(std::string_view text, std::string_view field) {
  if (is_task_id(text)) return {};
  return fail(Code::invalid_argument, "an id must have 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
              std::string(field));
}

std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) {
    auto byte = static_cast<uint8_t>(c);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

uint64_t fnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

std::string fnv1a_hex(std::string_view bytes) { return fmt::format("{:016x}", fnv1a(bytes)); }

namespace {

std::string uuid_of_version(int version, std::array<uint8_t, 16> bytes) {
  bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0f) | version << 4);
  bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3f) | 0x80);
  auto text = hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (size_t at : {8u, 13u, 18u, 23u}) text.insert(at, 1, '-');
  return text;
}

}  // namespace

std::string uuid_from(std::array<uint8_t, 16> bytes) { return uuid_of_version(4, bytes); }

std::string timed_uuid_from(std::array<uint8_t, 16> bytes, Time now) {
  auto millis = static_cast<uint64_t>(to_millis(now));
  for (size_t at = 16; at > 10; millis >>= 8) bytes[--at] = static_cast<uint8_t>(millis);
  return uuid_of_version(8, bytes);
}

namespace {
constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) out += i <= count ? base64_digits[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  auto bad = [] { return fail(Code::invalid_argument, "not valid base64"); };
  if (text.size() % 4 != 0) return bad();
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    uint32_t group = 0;
    size_t padding = 0;
    for (size_t i = 0; i < 4; ++i) {
      auto digit = base64_digits.find(text[at + i]);
      bool pad = text[at + i] == '=' && at + 4 == text.size() && i >= 2;
      if (pad) ++padding;
      if ((digit == std::string_view::npos && !pad) || (padding > 0 && !pad)) return bad();
      group = group << 6 | static_cast<uint32_t>(pad ? 0 : digit);
    }
    if ((group & ((1u << 8 * padding) - 1)) != 0) return bad();  // bits that stand for no byte
    for (size_t i = 0; i < 3 - padding; ++i) out += static_cast<char>(group >> (16 - 8 * i) & 255);
  }
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i]);
  return difference == 0;
}

}  // namespace cru
