// Following a run: the keeper says how far its output has grown, and that becomes events: at most ten a
// second, the first at once, each after the file was synced. A run's end is recorded after its last output.
#include <fmt/format.h>

#include "base/id.h"
#include "platform/files/log.h"
#include "runs/live.h"

namespace cru::runs {
namespace {

constexpr Duration between_events = 100ms;
constexpr Duration before_retry = 1s;
constexpr Duration starting_limit = 5s;
constexpr size_t follow_bytes = 256 << 10;
constexpr size_t longest_question = 1 << 20;

}  // namespace

bool is_of_stream(std::string_view record, std::string_view stream) {
  auto at = record.find(R"("stream":")");
  return at != std::string_view::npos && record.substr(at + 10).starts_with(stream);
}

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

void Runs::note_process(const LivePtr& live, const ProcessIdentity& process) {
  live->process = process;
  live->changed.notify();
}

Task<std::optional<ProcessIdentity>> Runs::process_of(std::string uid) {
  auto found = live_.find(uid);
  if (found == live_.end()) co_return std::nullopt;
  auto live = found->second;
  auto until = loop_.clock().boot() + starting_limit;
  while (!live->process && live_.contains(uid) && loop_.clock().boot() < until)
    co_await live->changed.wait(until - loop_.clock().boot());
  co_return live->process;
}

void Runs::note_growth(const Growth& growth) {
  auto found = live_.find(growth.uid);
  if (found == live_.end()) return;
  auto& live = found->second;
  if (growth.marked > 0) {
    // A notice names the first mark since the one before; further ones may follow up to where it has grown.
    if (live->marked_to == 0) live->marked_from = growth.marked;
    live->marked_to = std::max(growth.marked, growth.last_seq);
  }
  if (growth.last_seq <= live->known_seq) return;
  live->known_seq = growth.last_seq;
  live->changed.notify();
  wake_pump(live);
}

void Runs::note_end(const LivePtr& live, Input end) {
  if (live->end || !live_.contains(live->uid)) return;
  live->end = std::move(end);
  live->ending.notify();
  wake_pump(live);
}

void Runs::wake_pump(const LivePtr& live) {
  if (live->pumping || !live->is_recorded) return;
  live->pumping = true;
  loop_.spawn(pump(live));
}

void Runs::mark_recorded(const LivePtr& live) {
  live->is_recorded = true;
  wake_pump(live);
}

Task<void> Runs::pump(LivePtr live) {
  while (live->known_seq > live->told_seq || live->end) {
    auto since_last = loop_.clock().boot() - live->told_at;
    if (!live->end && live->told_at.count() > 0 && since_last < between_events)
      co_await live->ending.wait(between_events - since_last);
    bool told = true;
    if (live->known_seq > live->told_seq) told = co_await tell_growth(live);
    if (told && live->known_seq == live->told_seq && live->end) {
      auto ended = co_await apply(live->task_id, live->uid, *live->end);
      // Gone or started anew: then there is nothing left to record.
      if (ended || ended.error().code == Code::not_found || ended.error().code == Code::conflict) break;
      log_error("cannot record the end of a run; retrying", ended.error(), {{"task_id", live->task_id}});
      told = false;
    }
    // The output is on disk and the exit record is kept, so a store that is unwell only delays the telling.
    if (!told) co_await loop_.sleep(before_retry);
  }
  live->pumping = false;
  if (live->end) unfollow(live);
}

/// Nothing of `live` changes before the commit, so that a failure leaves all of it to be done again.
Task<bool> Runs::tell_growth(const LivePtr& live) {
  auto to = live->known_seq;
  auto scan = co_await find_questions(live, to);
  auto synced = co_await output_.sync(live->output_file);
  if (!synced && synced.error().code == Code::not_found) {
    // Somebody removed the file: there is nothing left to make durable, and the run goes on.
    if (!live->file_is_missing)
      log_error("an output file is missing", synced.error(), {{"task_id", live->task_id}});
    live->file_is_missing = true;
    synced = Result<>();
  }
  Error error;
  if (scan && synced) {
    auto grown =
        co_await apply(live->task_id, live->uid, Grew{to, scan->scanned_seq}, std::move(scan->asked));
    if (grown) {
      live->told_seq = to;
      live->scanned_seq = scan->scanned_seq;
      live->marked_from = std::max(live->marked_from, to + 1);  // marks may have come while we searched
      if (live->marked_to <= to) live->marked_to = 0;
      live->told_at = loop_.clock().boot();
      co_return true;
    }
    error = grown.error();
  } else {
    error = scan ? synced.error() : scan.error();
  }
  log_error("cannot record output; retrying", error, {{"task_id", live->task_id}});
  co_return false;
}

Task<void> Runs::close_stdin(const LivePtr& live) {
  auto closed = co_await keeper_.write(live->uid, "end-of-input", "", true);
  if (!closed && closed.error().code != Code::not_running)
    log_error("cannot close standard input", closed.error(), {{"task_id", live->task_id}});
}

Task<Result<Runs::Scan>> Runs::find_questions(const LivePtr& live, int64_t to) {
  Scan scan{{}, to};
  bool is_marked = live->marked_to > 0 && live->marked_from <= to;
  bool is_within_line = live->scanned_seq < live->told_seq;
  if (!live->asks_in_output || (!live->adapter->mark().empty() && !is_marked && !is_within_line))
    co_return scan;

  int64_t since = live->scanned_seq;
  if (!live->adapter->mark().empty() && !is_within_line) since = std::max(since, live->marked_from - 1);
  scan.scanned_seq = since;
  std::string line;
  while (since < to) {
    auto page = co_await output_.read(live->output_file, since, 4096, follow_bytes);
    if (!page) co_return fail(std::move(page.error()));
    if (page->lines.empty()) break;
    for (const auto& record : page->lines) {
      if (record.seq > to) break;
      since = record.seq;
      auto text = page->json(record);
      if (!is_of_stream(text, "stdout")) {
        if (line.empty()) scan.scanned_seq = since;
        continue;
      }
      auto decoded = decode_line(text);
      if (!decoded) continue;
      line += decoded->data;
      if (!decoded->eol && line.size() < longest_question) continue;
      co_await read_line(live, record.seq, line, scan.asked);
      line.clear();
      scan.scanned_seq = since;
    }
    since = std::max(since, page->last_seq);
  }
  if (line.empty()) scan.scanned_seq = to;
  co_return scan;
}

/// Before the event that covers this line is committed: a crash in between reads the line again, and both the
/// end of input and the question are taken once.
Task<void> Runs::read_line(const LivePtr& live, int64_t seq, const std::string& line,
                           std::vector<inbox::Question>& asked) {
  if (live->adapter->is_last_line(line)) co_await close_stdin(live);
  auto found = live->adapter->read_line(seq, line);
  if (!found) co_return;
  asked.push_back({.id = question_id(live->uid, found->key),
                   .task_id = live->task_id,
                   .run_uid = live->uid,
                   .kind = found->kind,
                   .prompt = std::move(found->prompt),
                   .options = std::move(found->options),
                   .reply_context = std::move(found->reply_context)});
}

}  // namespace cru::runs
