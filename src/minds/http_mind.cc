#include "minds/http_mind.h"

#include <fmt/format.h>

#include "minds/anthropic.h"
#include "minds/openai.h"
#include "minds/pause.h"
#include "minds/usage_limit.h"

namespace cru::minds {
namespace {

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

/// The failure of a mind that a failure of the web is.
Trouble trouble_from_web(Error error) {
  auto type = web_failure(error);
  auto as = [&](std::string kind, bool may_retry) {
    return Trouble{mind_failure(std::move(kind), error.message, error.hint), may_retry};
  };
  if (type == "connection") return as("connection", true);
  if (type == "timed_out") return as("timed_out", true);
  if (type == "cancelled") return as("cancelled", false);
  if (type == "too_large") return as("invalid_reply", false);
  if (type == "tls" || type == "proxy") return as("connection", false);
  return as("not_configured", false);
}

/// What a reply is made from, piece by piece.
struct Hearing {
  std::unique_ptr<ReplyBuilder> builder;
  SseParser parser;
  Listener& listener;
  std::optional<Error> error = {};
  bool has_spoken = false;
  Usage told = {};

  /// A provider tells the prompt's tokens with the first event, and the answer's with the last.
  void tell_usage() {
    if (builder->usage() == told) return;
    told = builder->usage();
    listener.used(told, {}, 1);
  }

  bool take(std::string_view bytes) {
    auto events = parser.take(bytes);
    if (!events) {
      error = mind_failure("invalid_reply", events.error().message);
      return false;
    }
    for (const auto& event : *events) {
      auto text = builder->take(event);
      tell_usage();
      if (!text) {
        error = std::move(text.error());
        return false;
      }
      if (text->empty()) continue;
      has_spoken = true;
      listener.text(*text);
    }
    return true;
  }
};

class HttpMind final : public Mind {
 public:
  HttpMind(Loop& loop, WebClient& web, Keys& keys, Random& random, Provider provider, ProxySettings proxy)
      : loop_(loop),
        web_(web),
        keys_(keys),
        random_(random),
        provider_(std::move(provider)),
        proxy_(std::move(proxy)) {}

  Task<Result<Reply>> think(Request request, Listener& listener, Stop& stop) override {
    auto key = co_await keys_.find(provider_);
    if (!key) co_return fail(std::move(key.error()));
    auto sent = to_web_request(request, *key);
    for (int64_t attempt = 0;; ++attempt) {
      if (stop.requested()) co_return fail(cancelled());
      Hearing hearing{.builder = make_builder(), .parser = {}, .listener = listener};
      auto reply = co_await try_once(sent, hearing, stop);
      if (reply) co_return finish(*std::move(reply), request.model);
      tell_wasted(listener, hearing.builder->usage(), request.model);
      auto& trouble = reply.error();
      redact(trouble.error, key->value);
      if (stop.requested()) co_return fail(cancelled());
      if (!trouble.may_retry || attempt >= provider_.retries) co_return fail(std::move(trouble.error));
      if (hearing.has_spoken) listener.restarted();
      auto wait = back_off(attempt, trouble.retry_after, random_.next());
      auto why = failure_type(trouble.error);
      listener.waiting(why == "timed_out" ? "connection" : why, wait);
      if (!co_await pause(loop_, wait, stop)) co_return fail(cancelled());
    }
  }

 private:
  static Error cancelled() { return mind_failure("cancelled", "the reply was cancelled"); }

  bool is_anthropic() const { return provider_.kind == ProviderKind::anthropic; }

  std::unique_ptr<ReplyBuilder> make_builder() const {
    if (is_anthropic()) return std::make_unique<AnthropicBuilder>();
    return std::make_unique<OpenaiBuilder>(provider_.name, random_.next());
  }

  WebRequest to_web_request(const Request& request, const Key& key) const {
    WebRequest out;
    out.method = "POST";
    out.headers = {{"content-type", "application/json"}, {"accept", "text/event-stream"}};
    if (!request.traceparent.empty()) out.headers.emplace_back("traceparent", request.traceparent);
    if (is_anthropic()) {
      out.url = without_slash(provider_.base_url) + "/v1/messages";
      out.headers.emplace_back("anthropic-version", anthropic_version);
      if (!key.value.empty()) out.headers.emplace_back("x-api-key", key.value);
      out.body = to_text(to_anthropic(request));
    } else {
      // Both ".../v1" and the bare address are found in the wild.
      auto base = without_slash(provider_.base_url);
      out.url = base + (base.ends_with("/v1") ? "" : "/v1") + "/chat/completions";
      if (!key.value.empty()) out.headers.emplace_back("authorization", "Bearer " + key.value);
      out.body = to_text(to_openai(request, base.find("//api.openai.com") != std::string::npos));
    }
    out.proxy = proxy_.proxy;
    out.no_proxy = proxy_.no_proxy;
    out.ca_file = provider_.ca_file;
    out.connect_timeout = provider_.connect_timeout;
    out.first_byte_timeout = provider_.first_byte_timeout;
    out.idle_timeout = provider_.idle_timeout;
    out.allow_plain_http = provider_.allow_plain_http;
    return out;
  }

  Task<std::expected<Reply, Trouble>> try_once(WebRequest sent, Hearing& hearing, Stop& stop) {
    auto take = [&hearing](std::string_view bytes) { return hearing.take(bytes); };
    auto answer = co_await web_.fetch(std::move(sent), take, stop);
    if (hearing.error) {
      auto may_retry = may_pass(*hearing.error);
      co_return std::unexpected(Trouble{*std::move(hearing.error), may_retry});
    }
    if (!answer) co_return std::unexpected(trouble_from_web(std::move(answer.error())));
    if (answer->status < 200 || answer->status >= 300) {
      auto trouble = trouble_from_status(provider_.name, answer->status, answer->body,
                                         answer->header("retry-after"), loop_.clock().wall());
      if (answer->status == 429 && trouble.may_retry) note_limit(trouble, *answer);
      if (answer->header("x-should-retry") == "false") trouble.may_retry = false;
      co_return std::unexpected(std::move(trouble));
    }
    auto reply = hearing.builder->finish();
    if (reply) co_return *std::move(reply);
    auto may_retry = may_pass(reply.error());
    co_return std::unexpected(Trouble{std::move(reply.error()), may_retry});
  }

  /// A limit that lasts is not waited for here. One that is near is, and its time is told if it outlasts the
  /// last attempt.
  void note_limit(Trouble& trouble, const HttpReply& answer) const {
    auto now = loop_.clock().wall();
    auto until = reset_in(
        {.retry_after = std::string(answer.header("retry-after")),
         .unified_reset = std::string(answer.header("anthropic-ratelimit-unified-reset")),
         .requests_reset =
             first_of(answer, "anthropic-ratelimit-requests-reset", "x-ratelimit-reset-requests"),
         .tokens_reset = first_of(answer, "anthropic-ratelimit-tokens-reset", "x-ratelimit-reset-tokens"),
         .input_reset = std::string(answer.header("anthropic-ratelimit-input-tokens-reset")),
         .output_reset = std::string(answer.header("anthropic-ratelimit-output-tokens-reset"))},
        now);
    if (!until || *until < now) return;
    if (*until > now + longest_retry) trouble.may_retry = false;
    if (!trouble.retry_after) trouble.retry_after = *until - now;
    trouble.error = with_limit(std::move(trouble.error), until, now);
  }

  static std::string first_of(const HttpReply& answer, const char* name, const char* other) {
    auto found = std::string(answer.header(name));
    return found.empty() ? std::string(answer.header(other)) : found;
  }

  static void tell_wasted(Listener& listener, const Usage& usage, const Model& model) {
    if (usage.total() == 0) return;
    listener.wasted(usage, model.prices ? std::optional(cost_of(*model.prices, usage)) : std::nullopt);
  }

  static Reply finish(Reply reply, const Model& model) {
    if (model.prices) reply.cost_usd = cost_of(*model.prices, reply.usage);
    if (reply.model_version.empty()) reply.model_version = model.id;
    return reply;
  }

  /// A server may quote what it was sent.
  static void redact(Error& error, const std::string& key) {
    for (auto* text : {&error.message, &error.hint, &error.details}) *text = without_key(*text, key);
  }

  Loop& loop_;
  WebClient& web_;
  Keys& keys_;
  Random& random_;
  const Provider provider_;
  const ProxySettings proxy_;
};

}  // namespace

ProxySettings proxy_for(const Provider& provider, const std::map<std::string, std::string>& environment) {
  auto find = [&](std::initializer_list<const char*> names) {
    for (const auto* name : names)
      if (auto set = environment.find(name); set != environment.end() && !set->second.empty())
        return set->second;
    return std::string();
  };
  if (!provider.proxy.empty()) return {provider.proxy, {}};
  bool is_plain = provider.base_url.starts_with("http://");
  ProxySettings settings;
  // HTTP_PROXY in capitals can be set by a stranger's header where a program runs as CGI; libcurl ignores it.
  settings.proxy = is_plain ? find({"http_proxy", "all_proxy", "ALL_PROXY"})
                            : find({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
  if (settings.proxy.empty()) return settings;
  settings.no_proxy = find({"no_proxy", "NO_PROXY"});
  settings.no_proxy +=
      (settings.no_proxy.empty() ? "" : ",") + std::string("localhost,127.0.0.0/8,127.0.0.1,::1");
  return settings;
}

std::unique_ptr<Mind> http_mind(Loop& loop, WebClient& web, Keys& keys, Random& random, Provider provider,
                                ProxySettings proxy) {
  return std::make_unique<HttpMind>(loop, web, keys, random, std::move(provider), std::move(proxy));
}

}  // namespace cru::minds
