// Following a run: the keeper says how far its output has grown, and that becomes events: at most ten a
// second, the first at once, each after the file was synced. A run's end is recorded after its last output.
#include <fmt/format.h>

#include "base/id.h"
#include "platform/log.h"
#include "runs/live.h"

namespace cru::runs {
namespace {

constexpr Duration between_events = 100ms;
constexpr Duration before_retry = 1s;
constexpr size_t page_bytes = 256 << 10;
constexpr size_t longest_question = 1 << 20;

bool is_stream(std::string_view record, std::string_view stream) {
  auto at = record.find(R"("stream":")");
  return at != std::string_view::npos && record.substr(at + 10).starts_with(stream);
}

}  // namespace

std::string question_id(std::string_view uid, std::string_view key) {
  return "q-" + fnv1a_hex(fmt::format("{}:{}", uid, key));
}

Runs::LivePtr Runs::follow(const Run& run) {
  auto live = std::make_shared<Live>(loop_, run);
  live_[run.uid] = live;
  return live;
}

void Runs::unfollow(const LivePtr& live) {
  live_.erase(live->uid);
  live->changed.notify();
}

void Runs::note_growth(const Growth& growth) {
  auto found = live_.find(growth.uid);
  if (found == live_.end()) return;
  auto& live = found->second;
  if (growth.marked > 0 && live->marked_seq == 0) live->marked_seq = growth.marked;
  if (growth.last_seq <= live->known_seq) return;
  live->known_seq = growth.last_seq;
  live->changed.notify();
  wake_pump(live);
}

void Runs::note_end(const LivePtr& live, Input end) {
  if (live->end) return;
  live->end = std::move(end);
  wake_pump(live);
}

void Runs::wake_pump(const LivePtr& live) {
  if (live->pumping) return;
  live->pumping = true;
  loop_.spawn(pump(live));
}

Task<void> Runs::pump(LivePtr live) {
  while (live->known_seq > live->told_seq || live->end) {
    auto since_last = loop_.clock().boot() - live->told_at;
    if (!live->end && live->told_at.count() > 0 && since_last < between_events)
      co_await loop_.sleep(between_events - since_last);
    bool told = true;
    if (live->known_seq > live->told_seq) told = co_await tell_growth(live);
    if (told && live->known_seq == live->told_seq && live->end) {
      auto ended = co_await apply(live->task_id, live->uid, *live->end);
      if (ended) break;
      log_error("cannot record the end of a run; trying again", ended.error(), {{"task_id", live->task_id}});
      told = false;
    }
    // The output is on disk and the exit record is kept, so a store that is unwell only delays the telling.
    if (!told) co_await loop_.sleep(before_retry);
  }
  live->pumping = false;
  if (live->end) unfollow(live);
}

Task<bool> Runs::tell_growth(const LivePtr& live) {
  auto to = live->known_seq;
  auto asked = co_await find_questions(live, to);
  auto synced = co_await output_.sync(live->output_file);
  if (!synced) {
    log_error("cannot sync output", synced.error(), {{"task_id", live->task_id}});
    co_return false;
  }
  auto grown = co_await apply(live->task_id, live->uid, Grew{to}, std::move(asked));
  if (!grown) {
    log_error("cannot record output; trying again", grown.error(), {{"task_id", live->task_id}});
    co_return false;
  }
  live->told_seq = to;
  live->told_at = loop_.clock().boot();
  co_return true;
}

Task<void> Runs::close_stdin(const LivePtr& live) {
  auto closed = co_await keeper_.write(live->uid, "end-of-input", "", true);
  if (!closed && closed.error().code != Code::not_running)
    log_error("cannot close standard input", closed.error(), {{"task_id", live->task_id}});
}

Task<std::vector<inbox::Question>> Runs::find_questions(const LivePtr& live, int64_t to) {
  std::vector<inbox::Question> asked;
  bool reads_all = live->adapter->mark().empty() || !live->partial.empty();
  if (!reads_all && (live->marked_seq == 0 || live->marked_seq > to)) co_return asked;
  int64_t since = reads_all ? live->told_seq : std::max(live->told_seq, live->marked_seq - 1);
  live->marked_seq = 0;
  auto partial = live->partial;
  while (since < to) {
    auto page = co_await output_.read(live->output_file, since, 4096, page_bytes);
    if (!page || page->lines.empty()) break;
    for (const auto& line : page->lines) {
      if (line.seq > to) break;
      since = line.seq;
      if (!is_stream(page->json(line), "stdout")) continue;
      auto record = decode_line(page->json(line));
      if (!record) continue;
      partial += record->data;
      if (!record->eol && partial.size() < longest_question) continue;
      // Before the event that covers this line is committed: a crash in between reads the line again.
      if (live->adapter->is_last_line(partial)) co_await close_stdin(live);
      if (auto found = live->adapter->read_line(line.seq, partial))
        asked.push_back({.id = question_id(live->uid, found->key),
                         .task_id = live->task_id,
                         .run_uid = live->uid,
                         .kind = found->kind,
                         .prompt = std::move(found->prompt),
                         .options = std::move(found->options),
                         .reply_context = std::move(found->reply_context)});
      partial.clear();
    }
    since = std::max(since, page->last_seq);
  }
  live->partial = std::move(partial);
  co_return asked;
}

}  // namespace cru::runs
