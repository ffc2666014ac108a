#include "base/trace_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/id.h"
#include "base/sha256.h"

namespace cru {
namespace {

constexpr size_t trace_digits = 32, span_digits = 16, traceparent_bytes = 55;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_id(std::string_view text, size_t digits) {
  return text.size() == digits && is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

bool is_trace_id(std::string_view text) { return is_id(text, trace_digits); }

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < traceparent_bytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  auto version = text.substr(0, 2), trace = text.substr(3, trace_digits), span = text.substr(36, span_digits);
  if (!is_hex(version) || version == "ff" || !is_hex(text.substr(53, 2))) return {};
  bool is_longer = text.size() > traceparent_bytes;
  if (is_longer && (version == "00" || text[traceparent_bytes] != '-')) return {};
  if (!is_trace_id(trace) || !is_id(span, span_digits)) return {};
  return TraceContext{std::string(trace), std::string(span)};
}

std::string to_traceparent(const TraceContext& context) {
  return fmt::format("00-{}-{}-01", context.trace_id, context.span_id);
}

std::string trace_id_from(uint64_t high, uint64_t low) {
  return fmt::format("{:016x}{:016x}", high, low | 1);
}
std::string span_id_from(uint64_t chance) { return fmt::format("{:016x}", chance ? chance : 1); }

std::string span_id_of(std::string_view thing) {
  auto id = fnv1a_hex(thing);
  return is_id(id, span_digits) ? id : span_id_from(1);
}
std::string trace_id_of(std::string_view thing) {
  auto id = sha256(thing).substr(0, trace_digits);
  return is_trace_id(id) ? id : trace_id_from(0, 1);
}

}  // namespace cru
