#include "edges/mcp/kept_lines.h"

#include "base/text.h"
#include "edges/mcp/server.h"

namespace cru::mcp {
namespace {

constexpr size_t max_unanswered = 1024, max_bytes = 4u << 20;

}  // namespace

bool KeptLines::is_full() const { return unanswered_.size() >= max_unanswered || bytes_ >= max_bytes; }

bool KeptLines::is_of_note(const Peeked& about) {
  return about.is_batch ||
         is_one_of(about.method,
                   {"initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe",
                    "resources/unsubscribe", "notifications/cancelled", "subscriptions/listen"});
}

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
  } else if (about.method == "resources/subscribe" && subscriptions_.size() < max_subscriptions) {
    subscriptions_[std::string(member_text(about.params, "uri"))] = line;
  } else if (about.method == "resources/unsubscribe") {
    subscriptions_.erase(std::string(member_text(about.params, "uri")));
  } else if (about.method == "notifications/cancelled") {
    cancelled(std::string(member_text(about.params, "requestId")));
  }
}

void KeptLines::keep(uint64_t number, const Peeked& about, std::string_view line) {
  std::string id(about.is_batch ? std::string_view() : about.id);
  if (!id.empty()) by_id_[id] = number;
  unanswered_[number] = {std::move(id), std::string(line)};
  bytes_ += line.size();
}

void KeptLines::keep_listen(uint64_t number, const Peeked& about, std::string_view line) {
  if (listens_.size() < max_subscriptions) listens_[number] = {std::string(about.id), std::string(line)};
}

void KeptLines::mark_sent(uint64_t number) {
  if (auto found = unanswered_.find(number); found != unanswered_.end()) found->second.is_sent = true;
}

void KeptLines::cancelled(const std::string& id) {
  std::erase_if(listens_, [&](const auto& entry) { return entry.second.id == id; });
  if (auto found = by_id_.find(id); found != by_id_.end()) forget(found->second);
}

void KeptLines::forget(uint64_t number) {
  listens_.erase(number);
  auto found = unanswered_.find(number);
  if (found == unanswered_.end()) return;
  bytes_ -= found->second.line.size();
  if (auto latest = by_id_.find(found->second.id); latest != by_id_.end() && latest->second == number)
    by_id_.erase(latest);
  unanswered_.erase(found);
}

}  // namespace cru::mcp
