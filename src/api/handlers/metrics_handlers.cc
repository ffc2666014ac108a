#include "api/handlers/handlers.h"
#include "approvals/approval_table.h"
#include "inbox/question_table.h"
#include "platform/telemetry/metrics.h"
#include "work/work_table.h"

namespace cru::api {
namespace {

using telemetry::MetricsText;

/// How things stand in the store.
struct Standing {
  std::map<std::string, int64_t> runs, approvals, work;
  int64_t questions = 0;
};

Result<Standing> look(Reader& reader) {
  return Standing{.runs = runs::count_by_status(reader),
                  .approvals = approvals::count_by_state(reader),
                  .work = coordination::count_work_by_status(reader),
                  .questions = inbox::count_all_pending(reader)};
}

void add_gauges(MetricsText& text, std::string_view name, std::string_view help, std::string_view label,
                const std::map<std::string, int64_t>& counts) {
  text.family(name, "gauge", help);
  for (const auto& [value, count] : counts) text.sample({{label, value}}, static_cast<double>(count));
}

void add(MetricsText& text, std::string_view name, std::string_view type, std::string_view help,
         int64_t value) {
  text.family(name, type, help);
  text.sample({}, static_cast<double>(value));
}

Task<Result<Reply>> get_metrics(Store& store, const telemetry::Metrics& metrics, DaemonFacts facts) {
  auto standing = co_await store.read(look);
  if (!standing) co_return fail(std::move(standing.error()));
  int64_t waiting = 0;
  for (const auto* state : {"pending", "held", "asking"})
    if (auto found = standing->approvals.find(state); found != standing->approvals.end())
      waiting += found->second;
  MetricsText text;
  text.family("cru_build_info", "gauge", "The version of the daemon.");
  text.sample({{"version", facts.version}}, 1);
  text.family("process_start_time_seconds", "gauge", "When the daemon began, in seconds since 1970.");
  text.sample({}, static_cast<double>(to_millis(facts.started_at)) / 1000);
  add_gauges(text, "cru_runs", "Runs on record by status.", "status", standing->runs);
  add_gauges(text, "cru_approvals", "Approvals on record by state.", "state", standing->approvals);
  add(text, "cru_approvals_waiting", "gauge", "Approvals that wait for a person.", waiting);
  add(text, "cru_questions_waiting", "gauge", "Questions that wait for a person.", standing->questions);
  add_gauges(text, "cru_work_items", "Work items on record by status.", "status", standing->work);
  auto& events = store.events();
  add(text, "cru_events_total", "counter", "Events that were ever written.", events.last());
  add(text, "cru_event_log_events", "gauge", "Events in the log.", events.last() - events.floor());
  auto exported = facts.export_counts ? facts.export_counts() : telemetry::ExportCounts();
  add(text, "cru_spans_exported_total", "counter", "Spans that the collector has taken.", exported.exported);
  add(text, "cru_spans_dropped_total", "counter", "Spans that were not exported.", exported.dropped);
  metrics.write(text);
  co_return Reply::raw(text.take());
}

}  // namespace

void bind_metrics(Api& api, Store& store, const telemetry::Metrics& metrics, DaemonFacts facts) {
  api.bind("get_metrics", [&store, &metrics, facts = std::move(facts)](const Call&, const json::object&) {
    return get_metrics(store, metrics, facts);
  });
}

}  // namespace cru::api
