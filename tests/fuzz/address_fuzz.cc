// Small texts from outside: a Retry-After, and the address of a provider, whose host and port are read as
// strictly as could be, since they decide whether a key is sent in the clear.
#include "minds/reply_builder.h"
#include "platform/net/web_client.h"

#include "fuzz.h"

namespace cru::fuzz {

void check(std::string_view input) {
  auto wait = minds::parse_retry_after(input, from_millis(1'795'000'000'000));
  if (wait) require(*wait >= Duration(0) && *wait <= std::chrono::minutes(2), "a wait is short");
  for (int64_t attempt : {0, 1, 7, 1000}) {
    auto pause = minds::back_off(attempt, wait, input.size() * 0x9e3779b97f4a7c15u);
    require(pause >= Duration(0) && pause <= std::chrono::minutes(2), "a pause is short");
  }

  auto address = parse_web_address(input);
  if (!address) {
    require_readable(address.error());
    require(address.error().field == "base_url", "it is the address that is wrong");
    return;
  }
  require(address->scheme == "http" || address->scheme == "https", "a scheme is one of two");
  require(address->port >= 1 && address->port <= 65535, "a port is a port");
  require(!address->host.empty() && address->host.find_first_of("@/?#\\ %[]") == std::string::npos,
          "a host is a name or a number");
  auto behind = input.substr(address->scheme.size() + 3);
  require(behind.starts_with(address->host) || behind.starts_with("[" + address->host + "]"),
          "the host is what stands first");
  require(!address->is_loopback || address->host == "localhost" || address->host == "::1" ||
              address->host.starts_with("127."),
          "this machine has few names");
  auto host = address->host.find(':') == std::string::npos ? address->host : "[" + address->host + "]";
  auto again = parse_web_address(address->scheme + "://" + host + ":" + std::to_string(address->port) + "/");
  require(again && again->host == address->host && again->port == address->port &&
              again->is_loopback == address->is_loopback,
          "it reads the same again");
}

}  // namespace cru::fuzz
