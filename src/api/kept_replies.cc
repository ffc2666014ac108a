#include "api/kept_replies.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/loop/detached.h"

namespace cru::api {

Task<Result<Reply>> KeptReplies::read(const Call& call, std::string_view operation, std::string question,
                                      Make make) {
  // Who asks is part of it, whether or not this operation tells everybody the same. No coroutine: it begins
  // later, when the call may be gone.
  return read_key(
      fmt::format("{}\n{}\n{}\n{}", operation, static_cast<unsigned>(call.caller), call.run_id, question),
      std::move(make));
}

Task<Result<Reply>> KeptReplies::read_key(std::string key, Make make) {
  auto now = loop_.clock().wall();
  ++calls_;
  if (auto found = kept_.find(key); found != kept_.end() && holds(found->second, now)) {
    found->second.used = calls_;
    co_return Reply::raw(*found->second.text);
  }
  auto under_way = under_way_.find(key);
  Result<Text> text = Text();
  if (under_way != under_way_.end() && under_way->second->mark == store_.changes().mark()) {
    Completion<Result<Text>> done;
    under_way->second->waiting.push_back(done.handle());
    text = co_await done;
  } else {
    // Carried to its end also if this caller hangs up: others may be waiting for it.
    text = co_await detached(loop_, read_now(std::move(key), std::move(make)));
  }
  if (!text) co_return fail(std::move(text.error()));
  co_return Reply::raw(**text);
}

Task<Result<KeptReplies::Text>> KeptReplies::read_now(std::string key, Make make) {
  auto mine = std::make_shared<UnderWay>(store_.changes().mark());
  under_way_[key] = mine;
  auto now = loop_.clock().wall();
  auto read = co_await store_.read([make = std::move(make)](Reader& reader) -> Result<Read> {
    auto made = make(reader);
    if (!made) return fail(std::move(made.error()));
    return Read{*std::move(made), reader.tables()};
  });
  if (auto found = under_way_.find(key); found != under_way_.end() && found->second == mine)
    under_way_.erase(found);
  Result<Text> text = Text();
  if (read) {
    text = std::make_shared<const std::string>(std::move(read->made.text));
    keep(std::move(key), {*text, now, read->made.until, read->tables, mine->mark, calls_});
  } else {
    text = fail(std::move(read.error()));
  }
  for (auto& waiting : mine->waiting) waiting.complete(text);
  co_return text;
}

/// A clock that was set back may show what was before.
bool KeptReplies::holds(const Kept& kept, Time now) const {
  return now >= kept.since && now < kept.until && !store_.changes().is_changed(kept.tables, kept.mark);
}

void KeptReplies::keep(std::string key, Kept kept) {
  auto drop = [this](auto entry) {
    bytes_ -= entry->first.size() + entry->second.text->size();
    return kept_.erase(entry);
  };
  if (auto old = kept_.find(key); old != kept_.end()) drop(old);
  auto size = key.size() + kept.text->size();
  if (size > max_bytes / 4 || !holds(kept, loop_.clock().wall())) return;
  auto now = kept.since;
  if (kept_.size() >= max_kept || bytes_ + size > max_bytes)
    for (auto entry = kept_.begin(); entry != kept_.end();)
      entry = holds(entry->second, now) ? std::next(entry) : drop(entry);
  while (!kept_.empty() && (kept_.size() >= max_kept || bytes_ + size > max_bytes))
    drop(std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.used; }));
  bytes_ += size;
  kept_.emplace(std::move(key), std::move(kept));
}

}  // namespace cru::api
