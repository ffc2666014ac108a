#pragma once
/// Fields and limits that several coordination rows share.
#include "api/operation.h"

namespace cru::api {

constexpr int64_t max_text_bytes = 65536;
constexpr int64_t max_json_bytes = 262144;

constexpr Field wait{.name = "wait_seconds",
                     .type = Type::integer,
                     .summary = "wait in the queue up to this long instead of failing immediately",
                     .max = 600,
                     .fallback = "0"};
constexpr Field token{.name = "fencing_token",
                      .type = Type::integer,
                      .summary = "the fencing token you received; an outdated token is refused",
                      .min = 1,
                      .max = std::numeric_limits<int64_t>::max()};
constexpr Field limit(std::string_view fallback) {
  return {.name = "limit",
          .type = Type::integer,
          .in = In::query,
          .summary = "at most this many",
          .min = 1,
          .max = 1000,
          .fallback = fallback};
}
constexpr Field work_id{
    .name = "task_id", .in = In::path, .required = true, .summary = "the work item's id", .is_id = true};
inline Field texts(std::string_view name, std::string_view summary, int64_t most = 256) {
  return {.name = name, .type = Type::text_list, .summary = summary, .max = most};
}

}  // namespace cru::api
