#pragma once
/// Trace context: the ids by which work is followed from one program to the next, as W3C Trace Context writes
/// them. Rules only: chance is an argument.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cru {

struct TraceContext {
  std::string trace_id;  ///< 32 hexadecimal digits in lower case, not all zero
  std::string span_id;   ///< 16 of them
  bool operator==(const TraceContext&) const = default;
};

/// What a `traceparent` says. Nothing if it is not one: of version 00 exactly its four fields, of a later one
/// these and whatever follows; never version ff, upper case, or an id of zeros.
std::optional<TraceContext> parse_traceparent(std::string_view text);
/// "00-<trace>-<span>-01".
std::string to_traceparent(const TraceContext& context);

bool is_trace_id(std::string_view text);
std::string trace_id_from(uint64_t high, uint64_t low);
std::string span_id_from(uint64_t chance);
/// Always the same for the same thing, so that what was told of it before a restart belongs to what is told
/// after it.
std::string span_id_of(std::string_view thing);
std::string trace_id_of(std::string_view thing);

}  // namespace cru
