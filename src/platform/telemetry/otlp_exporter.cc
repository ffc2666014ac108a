#include "platform/telemetry/otlp_exporter.h"

#include <fmt/format.h>

#include "platform/files/log.h"
#include "platform/files/trouble.h"

namespace cru::telemetry {
namespace {

constexpr int max_attempts = 5;
const std::string export_trouble = "export of traces";

/// Without its path, which may hold a key.
std::string to_place(const std::string& url) {
  auto address = parse_web_address(url);
  return address ? fmt::format("{}://{}:{}", address->scheme, address->host, address->port) : "?";
}

bool may_pass(const Error& error) {
  auto type = web_failure(error);
  return type == "connection" || type == "timed_out";
}

}  // namespace

OtlpExporter::OtlpExporter(Loop& loop, Random& random, OtlpSettings settings, ExportProxy proxy)
    : loop_(loop),
      random_(random),
      settings_(std::move(settings)),
      proxy_(std::move(proxy)),
      client_(loop),
      news_(loop),
      hurry_(loop),
      idle_(loop) {
  counts_.place = to_place(settings_.url);
}

void OtlpExporter::take(Span span) {
  if (queue_.size() >= settings_.max_queue) return give_up(1, "the queue of spans was full");
  queue_.push_back(std::move(span));
  if (queue_.size() == 1 || queue_.size() == settings_.max_batch) news_.notify();
}

Task<void> OtlpExporter::run() {
  for (;;) {
    while (queue_.empty()) {
      idle_.notify();
      co_await news_.wait();
    }
    auto due = loop_.clock().boot() + settings_.delay;
    while (queue_.size() < settings_.max_batch && !is_hurried_) {
      auto left = due - loop_.clock().boot();
      if (left <= Duration(0)) break;
      co_await news_.wait(left);
    }
    std::vector<Span> batch;
    while (!queue_.empty() && batch.size() < settings_.max_batch) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    is_sending_ = true;
    co_await send(std::move(batch));
    is_sending_ = false;
  }
}

Task<void> OtlpExporter::send(std::vector<Span> batch) {
  WebRequest request{.method = "POST",
                     .url = settings_.url,
                     .headers = {{"content-type", "application/json"}, {"user-agent", "cru/" CRU_VERSION}},
                     .body = to_text(to_otlp(batch, settings_.resource)),
                     .proxy = proxy_.proxy,
                     .no_proxy = proxy_.no_proxy,
                     .ca_file = settings_.ca_file,
                     .connect_timeout = settings_.timeout,
                     .first_byte_timeout = settings_.timeout,
                     .idle_timeout = settings_.timeout,
                     .max_bytes = 1u << 20,
                     // The person named this address, and nothing that was said is in a span.
                     .allow_plain_http = true};
  for (const auto& header : settings_.headers) request.headers.push_back(header);
  for (int attempt = 1;; ++attempt) {
    std::string body, retry_after;
    auto answer = co_await client_.fetch(
        request,
        [&body](std::string_view bytes) {
          body += bytes;
          return true;
        },
        stop_);
    ExportReply reply;
    if (answer) {
      reply = read_export_reply(answer->status, body);
      retry_after = answer->header("retry-after");
    } else {
      reply = {.may_retry = may_pass(answer.error()), .why = answer.error().message};
    }
    if (reply.is_taken) {
      auto rejected = std::min<int64_t>(reply.rejected, static_cast<int64_t>(batch.size()));
      counts_.exported += static_cast<int64_t>(batch.size()) - rejected;
      counts_.last_error.clear();
      end_trouble(export_trouble);
      if (rejected > 0) give_up(static_cast<size_t>(rejected), reply.why);
      co_return;
    }
    if (!reply.may_retry || attempt >= max_attempts || is_hurried_)
      co_return give_up(batch.size(), reply.why);
    // A wait of nothing would be one without a limit.
    co_await hurry_.wait(std::max<Duration>(export_back_off(attempt, retry_after, random_.next()), 1ms));
  }
}

void OtlpExporter::give_up(size_t spans, std::string why) {
  counts_.dropped += static_cast<int64_t>(spans);
  counts_.last_error = std::move(why);
  auto sentence = fmt::format("spans are not exported to {}: {} ({} dropped so far)", counts_.place,
                              counts_.last_error, counts_.dropped);
  if (tell_trouble(export_trouble, sentence)) log_warn(sentence);
}

Task<void> OtlpExporter::flush(Duration limit) {
  auto end = loop_.clock().boot() + limit;
  is_hurried_ = true;
  news_.notify();
  hurry_.notify();
  while (!queue_.empty() || is_sending_) {
    auto left = end - loop_.clock().boot();
    if (left <= Duration(0)) break;
    co_await idle_.wait(left);
  }
  is_hurried_ = false;
}

}  // namespace cru::telemetry
