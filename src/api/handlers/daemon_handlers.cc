#include "api/handlers/handlers.h"
#include "inbox/question_table.h"
#include "platform/files/trouble.h"
#include "platform/process/self.h"

namespace cru::api {
namespace {

/// State and the number of the last event from one read transaction: a cursor that misses nothing.
Task<Result<Reply>> get_state(Store& store, RunFacts facts, Call call) {
  auto state = co_await store.read([facts, call](Reader& reader) -> Result<json::object> {
    auto all = runs::list(reader, {.status = {}, .before = {}, .limit = 1000});
    auto agents = tell_runs(reader, all, facts).records;
    json::array questions;
    for (const auto& question : inbox::list(reader, "", true))
      if (may_read(call, question)) questions.push_back(inbox::to_json(question));
    return json::object{{"agents", std::move(agents)},
                        {"questions", std::move(questions)},
                        {"last_seq", reader.last_event()},
                        {"troubles", json::value_from(troubles())}};
  });
  if (!state) co_return fail(std::move(state.error()));
  co_return Reply(*std::move(state));
}

/// Where spans go and what became of them; null where none are exported.
json::value tell_export(const DaemonFacts& facts) {
  if (!facts.export_counts) return nullptr;
  auto counts = facts.export_counts();
  return json::object{{"endpoint", counts.place},
                      {"exported", counts.exported},
                      {"dropped", counts.dropped},
                      {"last_error", json_or_null(counts.last_error)}};
}

Task<Result<Reply>> at_once(json::object value) { co_return Reply(std::move(value)); }

}  // namespace

void bind_daemon(Api& api, Store& store, runs::Keeper& keeper, const runs::Runs& runs, Clock& clock,
                 DaemonFacts facts) {
  api.bind("health", [](const Call&, const json::object&) { return at_once({{"status", "ok"}}); });
  api.bind("version", [facts, &keeper](const Call&, const json::object&) {
    return at_once({{"version", facts.version},
                    {"pid", own_pid()},
                    {"keeper_pid", keeper.pid() == 0 ? json::value(nullptr) : json::value(keeper.pid())},
                    {"project", facts.root},
                    {"url", facts.url},
                    {"started_at", to_rfc3339(facts.started_at)},
                    {"traces", tell_export(facts)},
                    {"troubles", json::value_from(troubles())}});
  });
  api.bind("get_state", [&store, &runs, &clock](const Call& call, const json::object&) {
    return get_state(store, run_facts(runs, clock), call);
  });
  api.bind("shutdown", [facts](const Call&, const json::object&) {
    facts.shut_down();
    return at_once({{"status", "stopping"}});
  });
}

}  // namespace cru::api
