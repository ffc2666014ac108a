#include "platform/net/http/message.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace cru::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = to_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Calls `each` with every part of `text` between separators.
template <class F>
void split(std::string_view text, char separator, F each) {
  for (;;) {
    auto end = text.find(separator);
    each(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (equal_ignoring_case(key, name)) return value;
  return {};
}

bool Request::has_header(std::string_view name) const {
  return std::ranges::any_of(headers,
                             [&](const auto& field) { return equal_ignoring_case(field.first, name); });
}

const std::string* Request::query_value(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return &value;
  return nullptr;
}

namespace {

/// Whether the list names the token with a weight above 0; nothing if it does not name it.
std::optional<bool> weight_of(std::string_view list, std::string_view token) {
  std::optional<bool> found;
  split(list, ',', [&](std::string_view item) {
    auto name = trim(item.substr(0, item.find(';')), " \t");
    if (!equal_ignoring_case(name, token)) return;
    auto weight = std::min(item.find("q="), item.find("Q="));
    // "q=0", "q=0.", "q=0.000" all mean: not this one.
    found = weight == std::string_view::npos ||
            item.substr(weight + 2).find_first_of("123456789") != std::string_view::npos;
  });
  return found;
}

}  // namespace

bool list_contains(std::string_view list, std::string_view token) {
  return weight_of(list, token).value_or(false);
}

bool accepts(std::string_view list, std::string_view token) {
  auto named = weight_of(list, token);
  return named ? *named : list_contains(list, "*");
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
      if (low < 0) return fail(Code::invalid_argument, "the URL contains an invalid % escape");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

Result<> split_target(Request& request) {
  std::string_view target = request.target;
  if (!target.starts_with('/'))
    return fail(Code::invalid_argument, "the request target must be a path", {}, "start it with /");
  auto mark = target.find('?');
  request.path = std::string(target.substr(0, mark));
  Result<> answer;
  auto decode = [&](std::string_view text, bool plus) {
    auto decoded = percent_decode(text, plus);
    if (!decoded) {
      answer = fail(decoded.error());
      return std::string();
    }
    return std::move(*decoded);
  };
  request.segments.clear();
  if (request.path != "/")
    split(std::string_view(request.path).substr(1), '/',
          [&](std::string_view part) { request.segments.push_back(decode(part, false)); });
  request.query.clear();
  if (mark != std::string_view::npos)
    split(target.substr(mark + 1), '&', [&](std::string_view part) {
      if (part.empty()) return;
      auto equals = part.find('=');
      auto value = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
      request.query.emplace_back(decode(part.substr(0, equals), true), decode(value, true));
    });
  return answer;
}

Response error_response(int status, const Error& error) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
          .body = to_text(to_json(error)) + "\n"};
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

}  // namespace cru::http
