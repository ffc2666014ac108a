#include "edges/http/assets.h"

#include <algorithm>

namespace cru::edges {
namespace {

constexpr auto content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

bool is_page_path(std::string_view path) { return path == "/" || path.starts_with("/assets/"); }

http::Response serve_asset(std::span<const Asset> assets, const http::Request& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    auto refused = http::error_response({Code::method_not_allowed, "only GET and HEAD are allowed"});
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return refused;
  }
  auto found = std::ranges::find(assets, std::string_view(request.path), &Asset::path);
  if (found == assets.end()) {
    std::string hint = assets.empty() ? "this build does not include the web page" : "open /";
    return http::error_response({Code::not_found, "not found: " + request.path, {}, std::move(hint)});
  }
  http::Response response{
      .headers = {{"Content-Type", std::string(found->content_type)},
                  {"ETag", std::string(found->etag)},
                  {"Cache-Control", found->path == "/" ? "no-cache" : "max-age=31536000, immutable"},
                  {"Vary", "Accept-Encoding"},
                  {"Content-Security-Policy", content_security_policy},
                  {"Cross-Origin-Resource-Policy", "same-origin"},
                  {"Referrer-Policy", "no-referrer"}}};
  if (http::list_contains(request.header("If-None-Match"), found->etag)) {
    response.status = 304;
    return response;
  }
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.fixed_body = {reinterpret_cast<const char*>(found->gzip.data()), found->gzip.size()};
  return response;
}

}  // namespace cru::edges
