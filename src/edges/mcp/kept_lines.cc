#include "edges/mcp/kept_lines.h"

#include "edges/mcp/server.h"

namespace cru::mcp {
namespace {

constexpr size_t most_unanswered = 1024, most_bytes = 4u << 20;

}  // namespace

bool KeptLines::is_full() const { return unanswered_.size() >= most_unanswered || bytes_ >= most_bytes; }

void KeptLines::note(const Peeked& about, std::string_view line) {
  if (about.method == "tools/call") used_tools_ = true;
  if (about.method == "initialize") {
    initialize_ = line;
    initialized_.clear();
    subscriptions_.clear();
  } else if (about.method == "notifications/initialized") {
    initialized_ = line;
  } else if (about.method == "logging/setLevel") {
    set_level_ = line;
  } else if (about.method == "resources/subscribe" && subscriptions_.size() < most_subscriptions) {
    subscriptions_[std::string(member_text(about.params, "uri"))] = line;
  } else if (about.method == "resources/unsubscribe") {
    subscriptions_.erase(std::string(member_text(about.params, "uri")));
  } else if (about.method == "notifications/cancelled") {
    answered(std::string(member_text(about.params, "requestId")));
  }
}

void KeptLines::keep(uint64_t number, const Peeked& about, std::string_view line) {
  std::string id(about.is_batch ? "[" : about.id);
  if (!about.is_batch) {
    answered(id);  // used again before its answer: the server says so
    by_id_[id] = number;
  }
  unanswered_[number] = {std::move(id), std::string(line)};
  bytes_ += line.size();
}

void KeptLines::keep_listen(uint64_t number, const Peeked& about, std::string_view line) {
  if (listens_.size() < most_subscriptions) listens_[std::string(about.id)] = {number, std::string(line)};
}

void KeptLines::mark_sent(uint64_t number) {
  if (auto found = unanswered_.find(number); found != unanswered_.end()) found->second.is_sent = true;
}

void KeptLines::answered(const std::string& id) {
  listens_.erase(id);
  auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  forget(found->second);
}

void KeptLines::batch_answered() {
  for (const auto& [number, entry] : unanswered_)
    if (entry.id == "[") return forget(number);
}

void KeptLines::forget(uint64_t number) {
  auto found = unanswered_.find(number);
  if (found == unanswered_.end()) return;
  bytes_ -= found->second.line.size();
  by_id_.erase(found->second.id);
  unanswered_.erase(found);
}

}  // namespace cru::mcp
