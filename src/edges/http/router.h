#pragma once
/// Router: the operation table as routes, and a request as an operation's input.
/// Checks no field: that is api::check_input.
#include <string>
#include <string_view>
#include <vector>

#include "api/operation.h"
#include "platform/net/http/message.h"

namespace cru::edges {

class Router {
 public:
  Router();

  struct Match {
    const api::Operation* operation = nullptr;
    json::object path_input = {};  ///< the fields that the path holds
  };
  /// HEAD finds what GET does.
  /// Outcomes: the row; not_found; method_not_allowed, with the allowed ones in `allow`.
  Result<Match> find(const http::Request& request, std::string& allow) const;

 private:
  struct Entry {
    const api::Operation* operation;
    std::string_view method;
    std::vector<std::string_view> segments;
  };
  static bool matches(const Entry& entry, const http::Request& request);
  std::vector<Entry> entries_;
};

/// Path, query and body together. The query's `token` is not an input.
/// Outcomes: the input; unsupported_media_type; invalid_argument for a body that is no JSON object,
/// a GET with a body, or a field given twice.
Result<json::object> read_input(const http::Request& request, json::object path_input);

}  // namespace cru::edges
