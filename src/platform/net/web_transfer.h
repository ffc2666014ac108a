#pragma once
/// One request of the web client: what libcurl is told of it and calls back with. Private to web_client.cc.
#include <optional>

#include "platform/net/curl_library.h"
#include "platform/net/web_client.h"

namespace cru {

Error web_error(Code code, std::string_view type, std::string message, std::string hint = {});

/// Its coroutine owns it; while it is alive libcurl may call into it.
struct WebTransfer {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  WebRequest request;
  WebAddress address;
  HttpReply reply;
  std::string body;     ///< came, and was not taken yet
  size_t received = 0;  ///< bytes of the body
  std::optional<CURLcode> result;
  std::optional<Error> error;  ///< ours, before libcurl's
  bool has_answered = false;
  bool has_news = false;  ///< since it was last resumed
  BootTime heard_at{};
  char words[CURL_ERROR_SIZE] = {};

  bool is_streamed() const { return reply.status >= 200 && reply.status < 300; }
};

// libcurl's calls; the context is the transfer.
size_t take_web_body(char* bytes, size_t size, size_t count, void* transfer);
size_t take_web_header(char* bytes, size_t size, size_t count, void* transfer);

/// What went wrong, in our own words: libcurl's may name the URL, or a proxy with its password.
Error explain(const WebTransfer& transfer, const CurlLibrary& curl);
/// The server was silent for too long.
Error too_slow(const WebTransfer& transfer);

/// Errors: "invalid_url", for a request that must not be sent.
Result<WebAddress> check_web_request(const WebRequest& request);

}  // namespace cru
