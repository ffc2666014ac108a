#include "edges/http/router.h"

#include <fmt/format.h>

#include <algorithm>

namespace cru::edges {
namespace {

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> out;
  path.remove_prefix(1);
  for (;;) {
    auto end = path.find('/');
    out.push_back(path.substr(0, end));
    if (end == std::string_view::npos) return out;
    path.remove_prefix(end + 1);
  }
}

bool is_parameter(std::string_view segment) { return segment.starts_with('{'); }

/// A field may come from the path, the query or the body, but from one of them only.
Result<> add(json::object& input, std::string_view key, json::value value) {
  if (input.contains(key))
    return fail(Code::invalid_argument, fmt::format("{} is given twice", key), std::string(key));
  input.emplace(key, std::move(value));
  return {};
}

bool is_json(std::string_view content_type) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return http::equal_ignoring_case(type, "application/json");
}

}  // namespace

Router::Router() {
  for (const auto& operation : api::operations())
    for (const auto& route : operation.routes)
      entries_.push_back({&operation, route.method, split_path(route.path)});
}

bool Router::matches(const Entry& entry, const http::Request& request) {
  return std::ranges::equal(entry.segments, request.segments,
                            [](std::string_view wanted, const std::string& given) {
                              return is_parameter(wanted) ? !given.empty() : wanted == given;
                            });
}

Result<Router::Match> Router::find(const http::Request& request, std::string& allow) const {
  std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  for (const auto& entry : entries_) {
    if (!matches(entry, request)) continue;
    if (entry.method != method) {
      if (allow.find(entry.method) == std::string::npos)
        fmt::format_to(std::back_inserter(allow), "{}{}", allow.empty() ? "" : ", ", entry.method);
      continue;
    }
    Match match{entry.operation};
    for (size_t i = 0; i < entry.segments.size(); ++i)
      if (is_parameter(entry.segments[i]))
        match.path_input.emplace(entry.segments[i].substr(1, entry.segments[i].size() - 2),
                                 request.segments[i]);
    return match;
  }
  if (allow.empty())
    return fail(Code::not_found, fmt::format("not found: {}", request.path.substr(0, 200)), {},
                "GET /openapi.json lists every route");
  return fail(Code::method_not_allowed,
              fmt::format("{} accepts only {}", request.path.substr(0, 200), allow));
}

Result<json::object> read_input(const http::Request& request, json::object input) {
  for (const auto& [key, value] : request.query) {
    if (key == "token") continue;
    if (auto added = add(input, key, json::string(value)); !added) return fail(added.error());
  }
  if (request.body.empty()) return input;
  if (request.method == "GET" || request.method == "HEAD")
    return fail(Code::invalid_argument, "a GET request must not have a body", {},
                "put the fields in the query string");
  if (!is_json(request.header("Content-Type")))
    return fail(Code::unsupported_media_type, "the body must be JSON", "Content-Type",
                "send Content-Type: application/json");
  auto body = parse_json(request.body);
  if (!body) return fail(body.error());
  auto* object = body->if_object();
  if (!object) return fail(Code::invalid_argument, "the body must be a JSON object");
  for (auto& entry : *object)
    if (auto added = add(input, entry.key(), std::move(entry.value())); !added) return fail(added.error());
  return input;
}

}  // namespace cru::edges
