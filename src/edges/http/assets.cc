#include "edges/http/assets.h"

#include <algorithm>

namespace cru::edges {
namespace {

constexpr auto content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The two are not the same bytes, so they do not have the same tag.
std::string etag_of(const Asset& asset, bool is_compressed) {
  std::string tag(asset.etag);
  if (!is_compressed && tag.ends_with('"')) tag.insert(tag.size() - 1, "-plain");
  return tag;
}

bool takes_gzip(const http::Request& request) {
  return http::accepts(request.header("Accept-Encoding"), "gzip");
}

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
  bool is_compressed = found->plain.empty() || takes_gzip(request);
  auto etag = etag_of(*found, is_compressed);
  http::Response response{
      .headers = {{"Content-Type", std::string(found->content_type)},
                  {"ETag", etag},
                  {"Cache-Control", found->path == "/" ? "no-cache" : "max-age=31536000, immutable"},
                  {"Vary", "Accept-Encoding"},
                  {"Content-Security-Policy", content_security_policy},
                  {"Cross-Origin-Resource-Policy", "same-origin"},
                  {"Referrer-Policy", "no-referrer"}}};
  if (http::list_contains(request.header("If-None-Match"), etag)) {
    response.status = 304;
    return response;
  }
  if (is_compressed) response.headers.emplace_back("Content-Encoding", "gzip");
  auto bytes = is_compressed ? found->gzip : found->plain;
  response.fixed_body = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return response;
}

}  // namespace cru::edges
