#include "edges/ws/snapshots.h"

#include <algorithm>

#include "edges/ws/snapshot.h"

namespace cru::edges {
namespace {

/// One part of the time is for snapshots, so many are for everything else.
constexpr int rest_parts = 4;

std::string key_of(const api::Call& call) { return call.caller == api::person ? "" : "run:" + call.run_id; }

SharedSnapshot to_frames(const json::object& world) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->seq = int_or(world, "last_seq");
  for (const auto& text : snapshot_pages(world)) {
    auto frame = ws::text_frame(text);
    snapshot->pages.push_back({frame, frame->size() - text.size()});
  }
  return snapshot;
}

}  // namespace

ws::Frame Snapshot::frame(size_t page, std::string_view request_id) const {
  const auto& [whole, head] = pages[page];
  if (request_id.empty()) return whole;
  return ws::text_frame(with_request_id(std::string_view(*whole).substr(head), request_id));
}

/// One that is being made, and those who wait for it.
struct Snapshots::Making {
  explicit Making(Loop& loop) : done(loop) {}
  Signal done;
  std::optional<Error> error;
};

Snapshots::~Snapshots() {
  for (const auto& [_, kept] : kept_)
    if (kept.timer) loop_.cancel_timer(kept.timer);
}

Task<Result<SharedSnapshot>> Snapshots::get(api::Call call) {
  const auto needed = log_.last();
  const auto turn = turns_;
  const auto key = key_of(call);
  for (;;) {
    auto& kept = kept_[key];
    auto now = loop_.clock().boot();
    bool is_new = kept.made && (kept.made->seq >= needed || kept.turn > turn);
    if (is_new && now - kept.made_at < moment) co_return kept.made;
    if (kept.making) {
      auto making = kept.making;
      co_await making->done.wait();
      if (making->error) co_return fail(*making->error);
    } else if (now < kept.free_at) {
      co_await loop_.sleep(kept.free_at - now);
    } else {
      co_return co_await make(key, std::move(call));
    }
  }
}

Task<Result<SharedSnapshot>> Snapshots::make(std::string key, api::Call call) {
  auto making = std::make_shared<Making>(loop_);
  kept_[key].making = making;
  const auto turn = ++turns_;
  auto begun = loop_.clock().boot();
  Outcome outcome = has_too_many()
                        ? Outcome(fail(Code::overloaded, "too many slow clients", {}, "retry shortly"))
                        : co_await ask_world(std::move(call));
  auto& kept = kept_[key];
  kept.making.reset();
  kept.made = outcome.value_or(nullptr);
  kept.turn = turn;
  kept.made_at = loop_.clock().boot();
  kept.free_at = kept.made_at + std::min<Duration>(moment, (kept.made_at - begun) * rest_parts);
  if (outcome)
    alive_.push_back(*outcome);
  else
    making->error = outcome.error();
  if (!kept.timer) kept.timer = loop_.set_timer(moment, [this, key] { forget(key); });
  making->done.notify();
  co_return outcome;
}

Task<Result<SharedSnapshot>> Snapshots::ask_world(api::Call call) {
  auto reply = co_await api_.call(*api::find_operation("get_world"), std::move(call), {});
  if (!reply) co_return fail(reply.error());
  auto world = parse_json(reply->text());
  if (!world || !world->is_object()) co_return fail(Code::internal, "the world is not an object");
  co_return to_frames(world->get_object());
}

bool Snapshots::has_too_many() {
  std::erase_if(alive_, [](const auto& snapshot) { return snapshot.expired(); });
  return alive_.size() >= most;
}

void Snapshots::forget(const std::string& key) {
  auto found = kept_.find(key);
  CRU_ASSERT(found != kept_.end());
  auto& kept = found->second;
  kept.timer = 0;
  auto age = loop_.clock().boot() - kept.made_at;
  if (!kept.making && age >= moment)
    kept_.erase(found);
  else
    kept.timer = loop_.set_timer(kept.making ? moment : moment - age, [this, key] { forget(key); });
}

}  // namespace cru::edges
