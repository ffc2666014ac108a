#pragma once
/// The page, embedded in the program: a table made by web/build.mjs. It holds no
/// data of the project, so it is served without a token.
#include <span>
#include <string_view>

#include "platform/net/http/message.h"

namespace cru::edges {

struct Asset {
  std::string_view path;  ///< "/" or "/assets/…"
  std::string_view content_type;
  std::string_view etag;  ///< with its quotes
  std::span<const unsigned char> gzip;
  std::span<const unsigned char> plain = {};  ///< the same, for clients that do not accept gzip
};

/// Empty in a program that was built without the page. Strong definition: OUT/web_assets.cc, which
/// must be linked as an object of the program, not from an archive, to replace the weak one.
std::span<const Asset> page_assets();

/// "/" and everything under "/assets/": what needs no token.
bool is_page_path(std::string_view path);

/// The asset at the request's path: 200, 304 where the client has it, 404, or 405 unless GET or HEAD.
/// Compressed for clients that accept gzip, and as it is for all others.
http::Response serve_asset(std::span<const Asset> assets, const http::Request& request);

}  // namespace cru::edges
