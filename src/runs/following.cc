// Following a run: the keeper says how far its output has grown, and that becomes events: at most ten a
// second, the first at once, each after the file was synced. A run's end is recorded after its last output.
#include <fmt/format.h>

#include "base/sha256.h"
#include "platform/files/log.h"
#include "runs/active_run.h"
#include "store/retry.h"

namespace cru::runs {
namespace {

constexpr Duration between_events = 100ms;
constexpr Duration before_retry = 1s;
constexpr Duration starting_limit = 5s;
constexpr size_t follow_bytes = 256 << 10;
constexpr size_t max_question_bytes = 1 << 20;
/// An agent program tells its report in one of its last lines.
constexpr int64_t report_records = 64, max_report_records = 1024;
constexpr size_t max_report_bytes = 16 << 20;

/// What a later line says counts; what it leaves out was said before. Codex tells all of a thread's tokens
/// each time.
Report joined(const std::optional<Report>& before, Report after) {
  if (before && !after.tokens) after.tokens = before->tokens;
  if (before && !after.cost_usd) after.cost_usd = before->cost_usd;
  return after;
}

}  // namespace

bool is_of_stream(std::string_view record, std::string_view stream) {
  auto at = record.find(R"("stream":")");
  return at != std::string_view::npos && record.substr(at + 10).starts_with(stream);
}

std::string question_id(std::string_view uid, std::string_view key) {
  // The key is the program's choice: with a weaker hash it could be chosen so that the id is another's.
  return "q-" + sha256(fmt::format("run:{}:{}", uid, key)).substr(0, 16);
}

Runs::ActiveRunPtr Runs::follow(const Run& run) {
  auto active = std::make_shared<ActiveRun>(loop_, run);
  active_[run.uid] = active;
  return active;
}

void Runs::unfollow(const ActiveRunPtr& active) {
  active_.erase(active->uid);
  if (!active->waits_for.empty()) tell_waiting();
  active->changed.notify();
}

void Runs::note_process(const ActiveRunPtr& active, const ProcessIdentity& process) {
  active->process = process;
  active->changed.notify();
}

Task<std::optional<ProcessIdentity>> Runs::process_of(std::string uid) {
  auto found = active_.find(uid);
  if (found == active_.end()) co_return std::nullopt;
  auto active = found->second;
  auto until = loop_.clock().boot() + starting_limit;
  while (!active->process && active_.contains(uid) && loop_.clock().boot() < until)
    co_await active->changed.wait(until - loop_.clock().boot());
  co_return active->process;
}

void Runs::note_growth(const Growth& growth) {
  auto found = active_.find(growth.uid);
  if (found == active_.end()) return;
  auto& active = found->second;
  if (growth.marked > 0) {
    // A notice names the first mark since the one before; further ones may follow up to where it has grown.
    if (active->marked_to == 0) active->marked_from = growth.marked;
    active->marked_to = std::max(growth.marked, growth.last_seq);
  }
  if (growth.last_seq <= active->known_seq) return;
  active->known_seq = growth.last_seq;
  active->changed.notify();
  wake_pump(active);
}

void Runs::note_end(const ActiveRunPtr& active, Input end) {
  if (active->end || !active_.contains(active->uid)) return;
  active->end = std::move(end);
  active->ending.notify();
  wake_pump(active);
}

void Runs::wake_pump(const ActiveRunPtr& active) {
  if (active->pumping || !active->is_recorded) return;
  active->pumping = true;
  loop_.spawn(pump(active));
}

void Runs::mark_recorded(const ActiveRunPtr& active) {
  active->is_recorded = true;
  wake_pump(active);
}

Task<void> Runs::pump(ActiveRunPtr active) {
  while (active->known_seq > active->told_seq || active->end) {
    auto since_last = loop_.clock().boot() - active->told_at;
    if (!active->end && active->told_at.count() > 0 && since_last < between_events)
      co_await active->ending.wait(between_events - since_last);
    bool told = true;
    if (active->known_seq > active->told_seq) told = co_await tell_growth(active);
    if (told && active->known_seq == active->told_seq && active->end) {
      if (auto* ended = std::get_if<Ended>(&*active->end)) ended->report = co_await read_report(active);
      auto ended = co_await record_end(active);
      // Gone or started anew: then there is nothing left to record.
      if (ended || ended.error().code == Code::not_found || ended.error().code == Code::conflict) break;
      log_error("cannot record the end of a run; retrying", ended.error(), active->about());
      told = false;
    }
    // The output is on disk, and the keeper keeps the exit until we forget it, so a store that is unwell only
    // delays the telling.
    if (!told) co_await loop_.sleep(before_retry);
  }
  active->pumping = false;
  if (active->end) unfollow(active);
}

/// A kill that could not be recorded comes first: it is why the run has ended.
Task<Result<Run>> Runs::record_end(ActiveRunPtr active) {
  if (active->kill) {
    auto killed = co_await apply(active->task_id, active->uid, KillRequested{*active->kill});
    if (!killed && is_transient(killed.error().code)) co_return killed;
    active->kill.reset();
  }
  co_return co_await apply(active->task_id, active->uid, *active->end);
}

/// Nothing of `active` changes before the commit, so that a failure leaves all of it to be done again.
Task<bool> Runs::tell_growth(const ActiveRunPtr& active) {
  auto to = active->known_seq;
  auto scan = co_await find_questions(active, to);
  auto synced = co_await output_.sync(active->output_file);
  if (!synced && synced.error().code == Code::not_found) {
    // Somebody removed the file: there is nothing left to make durable, and the run goes on.
    if (!active->file_is_missing) log_error("an output file is missing", synced.error(), active->about());
    active->file_is_missing = true;
    synced = Result<>();
  }
  Error error;
  if (scan && synced) {
    auto grown =
        co_await apply(active->task_id, active->uid, Grew{to, scan->scanned_seq}, std::move(scan->asked));
    if (grown) {
      active->told_seq = to;
      active->scanned_seq = scan->scanned_seq;
      active->marked_from = std::max(active->marked_from, to + 1);  // marks may have come while we searched
      if (active->marked_to <= to) active->marked_to = 0;
      active->told_at = loop_.clock().boot();
      co_return true;
    }
    error = grown.error();
  } else {
    error = scan ? synced.error() : scan.error();
  }
  log_error("cannot record output; retrying", error, active->about());
  co_return false;
}

/// What the program said of its work in its last lines. Lines that cannot be read say nothing. A long line
/// has many records: where few do not tell, more are read.
Task<Report> Runs::read_report(ActiveRunPtr active) {
  std::optional<Report> report;
  if (active->adapter == &command_adapter()) co_return Report();
  for (int64_t count = report_records; !report && count <= max_report_records; count *= 4) {
    auto since = std::max<int64_t>(0, active->known_seq - count);
    bool is_all = since == 0;
    std::string line;
    while (since < active->known_seq) {
      auto page = co_await output_.read(active->output_file, since, static_cast<size_t>(count), follow_bytes);
      if (!page || page->last_seq <= since) break;
      since = page->last_seq;
      for (const auto& record : page->lines) {
        auto text = page->json(record);
        if (!is_of_stream(text, "stdout")) continue;
        auto decoded = decode_line(text);
        if (!decoded) continue;
        if (line.size() < max_report_bytes) line += decoded->data;
        if (!decoded->eol) continue;
        if (auto said = active->adapter->read_report(line)) report = joined(report, *std::move(said));
        line.clear();
      }
    }
    // The last line of all may lack its end.
    if (auto said = active->adapter->read_report(line)) report = joined(report, *std::move(said));
    if (is_all) break;
  }
  co_return report.value_or(Report());
}

Task<void> Runs::close_stdin(const ActiveRunPtr& active) {
  auto closed = co_await keeper_.write(active->uid, "end-of-input", "", true);
  if (!closed && closed.error().code != Code::not_running)
    log_error("cannot close standard input", closed.error(), active->about());
}

Task<Result<Runs::Scan>> Runs::find_questions(const ActiveRunPtr& active, int64_t to) {
  Scan scan{{}, to};
  bool is_marked = active->marked_to > 0 && active->marked_from <= to;
  bool is_within_line = active->scanned_seq < active->told_seq;
  if (!active->asks_in_output || (!active->adapter->mark().empty() && !is_marked && !is_within_line))
    co_return scan;

  int64_t since = active->scanned_seq;
  if (!active->adapter->mark().empty() && !is_within_line) since = std::max(since, active->marked_from - 1);
  scan.scanned_seq = since;
  std::string line;
  while (since < to) {
    auto page = co_await output_.read(active->output_file, since, 4096, follow_bytes);
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
      if (!decoded->eol && line.size() < max_question_bytes) continue;
      co_await read_line(active, record.seq, line, scan.asked);
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
Task<void> Runs::read_line(const ActiveRunPtr& active, int64_t seq, const std::string& line,
                           std::vector<inbox::Question>& asked) {
  if (active->adapter->is_last_line(line) && !(keeps_input_ && keeps_input_(active->uid)))
    co_await close_stdin(active);
  auto found = active->adapter->read_line(seq, line);
  if (!found) co_return;
  asked.push_back({.id = question_id(active->uid, found->key),
                   .task_id = active->task_id,
                   .run_uid = active->uid,
                   .kind = found->kind,
                   .prompt = std::move(found->prompt),
                   .options = std::move(found->options),
                   .reply_context = std::move(found->reply_context)});
}

}  // namespace cru::runs
