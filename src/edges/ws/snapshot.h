#pragma once
/// The world as a client gets it first: the reply of get_world in pages that a client takes. Rules only.
#include <string>
#include <vector>

#include "base/json.h"

namespace cru::edges {

/// `world_snapshot` messages, none longer than max_text_bytes: layout, seats and users on page 1, agents from
/// there on as far as each page goes. A crowd of seats or users that page 1 cannot hold goes on like the
/// agents do. Each has room left for a request_id.
std::vector<std::string> snapshot_pages(const json::object& world);
/// The page as an answer to somebody's request.
std::string with_request_id(std::string_view page, std::string_view request_id);

}  // namespace cru::edges
