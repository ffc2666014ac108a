#include "traces/work_trace.h"

#include <fmt/format.h>

#include "base/text.h"
#include "store/event_table.h"

namespace cru::traces {
namespace {

using coordination::Work;

constexpr size_t max_events = 2000;
constexpr int max_pages = 64;

/// Follows an item through its events.
class Story {
 public:
  explicit Story(const Work& work)
      : trace_{.id = work.task_id,
               .kind = "work",
               .trace_id = coordination::trace_id_of(work),
               .title = std::string(first_line(work.description)),
               .status = std::string(coordination::name(work.status)),
               .began = work.created_at,
               .ended = work.completed_at,
               .spans = {}},
        chain_{"user", work.task_type},
        waits_since_(work.created_at) {
    Span item{.id = work.task_id,
              .kind = "work",
              .name = work.task_type,
              .status = trace_.status,
              .trace_id = trace_.trace_id,
              .chain = chain_,
              .asked_at = work.created_at,
              .began = work.created_at,
              .ended = work.completed_at};
    if (work.status == coordination::WorkStatus::failed)
      item.failure = {"work_failed", work.error_message, "error", {}};
    trace_.spans.push_back(std::move(item));
    is_blocked_ = !work.depends_on.empty();
    dependencies_ = work.depends_on;
  }

  void take(const WorkEvent& event) {
    if (event.type == "work.unblocked" && is_blocked_) unblock(event.at, "done");
    if (event.type == "work.claimed") begin(event);
    if (event.type == "work.verifying") verify(event);
    if (event.type == "work.requeued") end(event, "failed");
    if (event.type == "work.completed") end(event, "completed");
    if (event.type == "work.failed") end(event, "failed");
    if (event.type == "work.cancelled") end(event, "cancelled");
  }

  Trace finish(const Work& work) {
    if (is_blocked_ && work.waits_for > 0 && !coordination::is_closed(work.status)) unblock({}, "open");
    return std::move(trace_);
  }

 private:
  void unblock(std::optional<Time> at, const char* outcome) {
    is_blocked_ = false;
    trace_.spans.front().waits.push_back(
        {"dependency",
         dependencies_.size() == 1 ? dependencies_.front() : fmt::format("{} items", dependencies_.size()),
         outcome, waits_since_, at});
    waits_since_ = at.value_or(waits_since_);
  }

  void begin(const WorkEvent& event) {
    is_blocked_ = false;
    Span attempt{.id = fmt::format("{}#{}", trace_.id, ++attempts_),
                 .parent = trace_.id,
                 .kind = "attempt",
                 .name = std::string(text_or(event.data, "claimed_by", "?")),
                 .status = "running",
                 .trace_id = trace_.trace_id,
                 .chain = chain_,
                 .asked_at = waits_since_,
                 .began = event.at};
    attempt.chain.push_back(attempt.name);
    open_ = trace_.spans.size();
    trace_.spans.push_back(std::move(attempt));
  }

  void verify(const WorkEvent& event) {
    auto run = std::string(text_or(event.data, "verify_run"));
    if (!open_ || run.empty()) return;
    auto chain = trace_.spans[*open_].chain;
    chain.emplace_back("verify");
    trace_.spans.push_back({.id = run,
                            .parent = trace_.spans[*open_].id,
                            .kind = "run",
                            .name = "verify",
                            .status = "unknown",
                            .trace_id = trace_.trace_id,
                            .chain = std::move(chain),
                            .asked_at = event.at,
                            .began = event.at,
                            .ended = event.at});
  }

  void end(const WorkEvent& event, std::string status) {
    waits_since_ = event.at;
    if (!open_) return;
    auto& attempt = trace_.spans[*open_];
    open_.reset();
    attempt.ended = event.at;
    attempt.status = std::move(status);
    if (attempt.status == "failed")
      attempt.failure = {"attempt_failed", std::string(text_or(event.data, "error_message", "given back")),
                         "error", trace_.title};
  }

  Trace trace_;
  const std::vector<std::string> chain_;
  Time waits_since_;
  bool is_blocked_ = false;
  std::vector<std::string> dependencies_;
  int64_t attempts_ = 0;
  std::optional<size_t> open_;  ///< the attempt under way
};

}  // namespace

Trace to_work_trace(const Work& work, const std::vector<WorkEvent>& events) {
  Story story(work);
  for (const auto& event : events) story.take(event);
  return story.finish(work);
}

Trace read_work_trace(Reader& reader, const Work& work) {
  std::vector<WorkEvent> events;
  EventFilter filter{.entity = work.task_id, .types = {"work.*"}};
  // What happened before events were forgotten is told by the row alone.
  int64_t cursor = 0;
  for (int pages = 0; pages < max_pages && events.size() < max_events; ++pages) {
    auto page = read_events(reader, cursor, filter, max_events - events.size());
    for (auto& event : page.events) {
      auto data = parse_json(event.data);
      events.push_back(
          {event.type, event.at, data && data->is_object() ? std::move(data->get_object()) : json::object()});
    }
    if (!page.more || page.scanned <= cursor) break;
    cursor = page.scanned;
  }
  return to_work_trace(work, events);
}

}  // namespace cru::traces
