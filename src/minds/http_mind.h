#pragma once
/// A mind behind an HTTP API: Anthropic's messages, or chat completions. Streams, and tries again what may
/// pass: a limit, an overload, a lost connection.
#include "minds/keys.h"
#include "platform/net/web_client.h"

namespace cru::minds {

/// The proxy's part of the environment: HTTPS_PROXY, http_proxy for plain addresses, ALL_PROXY, NO_PROXY.
/// This machine itself is reached without, unless the provider names a proxy.
struct ProxySettings {
  std::string proxy, no_proxy;
};
ProxySettings proxy_for(const Provider& provider, const std::map<std::string, std::string>& environment);

std::unique_ptr<Mind> http_mind(Loop& loop, WebClient& web, Keys& keys, Random& random, Provider provider,
                                ProxySettings proxy);

}  // namespace cru::minds
