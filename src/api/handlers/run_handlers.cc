#include <fmt/format.h>

#include "api/handlers/handlers.h"
#include "api/kept_replies.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "minds/work_records.h"
#include "platform/files/trouble.h"
#include "store/once.h"

namespace cru::api {
namespace {

Duration seconds(const json::object& input, std::string_view key) {
  return std::chrono::seconds(int_or(input, key));
}

std::vector<std::string> text_list(const json::object& input, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* list = array_at(input, key))
    for (const auto& item : *list) out.emplace_back(item.as_string());
  return out;
}

std::map<std::string, std::string> text_map(const json::object& input, std::string_view key) {
  std::map<std::string, std::string> out;
  if (const auto* map = object_at(input, key))
    for (const auto& entry : *map) out[std::string(entry.key())] = std::string(entry.value().as_string());
  return out;
}

/// What the handlers of runs need.
struct RunRooms {
  Store& store;
  runs::Runs& runs;
  Clock& clock;
  budgets::Budgets* budgets = nullptr;
  std::shared_ptr<KeptReplies> kept = {};
};

json::object run_to_json(Reader& reader, const runs::Run& run, int64_t pending_questions,
                         const members::Badge& badge, const RunFacts& facts) {
  auto record = runs::to_json(run);
  if (runs::is_active(run.status) && facts.is_keeper_lost) record["status"] = "unknown";
  std::string command;
  for (const auto& word : run.argv) command += (command.empty() ? "" : " ") + word;
  record["command"] = run.task.empty() ? command : run.backend + ": " + run.task;
  record["pending_questions"] = pending_questions;
  record["spent"] = json_or_null(roster::describe_spent(run.report.tokens.value_or(0), run.report.cost_usd));
  record["badge"] = members::name(badge.word);
  record["badge_since"] = to_rfc3339(badge.since);
  record["badge_evidence"] = json_or_null(badge.evidence);
  auto waits = facts.waiting.find(run.task_id);
  if (waits != facts.waiting.end() && !run.ended_at) {
    record["waits_for"] = waits->second;
    record["badge_evidence"] = "waits: " + waits->second;
  } else {
    record["waits_for"] = json_or_null(roster::parked_for(reader, run));
  }
  return record;
}

json::object describe_run(Reader& reader, const runs::Run& run, const RunFacts& facts) {
  auto badge = roster::badge_of(reader, run, roster::list_asked(reader), facts.now);
  return run_to_json(reader, run, inbox::count_pending(reader, run.task_id), badge, facts);
}

Task<Result<Reply>> reply_with(RunRooms rooms, Result<runs::Run> run) {
  if (!run) co_return fail(std::move(run.error()));
  auto record = co_await rooms.store.read(
      [run = *run, facts = run_facts(rooms.runs, rooms.clock)](Reader& reader) -> Result<json::object> {
        return describe_run(reader, run, facts);
      });
  if (!record) co_return fail(std::move(record.error()));
  co_return Reply(*std::move(record));
}

/// What a request to start a run is told, kept with the run's own record of running.
runs::KeepReply keep_reply_to(const RunRooms& rooms, const Once& once) {
  if (once.key.empty()) return {};
  return [once, is_keeper_lost = run_facts(rooms.runs, rooms.clock).is_keeper_lost](
             Tx& tx, const runs::Run& running) {
    // What an earlier run of this id was waiting for does not concern one that has only just begun.
    RunFacts facts{.now = tx.now(), .is_keeper_lost = is_keeper_lost};
    keep_reply(tx, once, {.reply = describe_run(tx, running, facts)});
  };
}

/// The reply that was kept so; or, if this is not the request that started the run, how the run is now.
Task<Result<Reply>> reply_with_kept(RunRooms rooms, Once once, Result<runs::Run> run) {
  if (run && !once.key.empty()) {
    auto kept = co_await rooms.store.read([once](Reader& reader) { return find_reply(reader, once); });
    if (kept && *kept) co_return Reply::stored(std::move((*kept)->reply));
  }
  co_return co_await reply_with(rooms, std::move(run));
}

/// Everything that the list depends on beside the store and the time.
std::string question_of(const runs::ListQuery& query, const RunFacts& facts) {
  auto text = fmt::format("{}\n{}\n{}\n{}", query.status, query.before, query.limit, facts.is_keeper_lost);
  for (const auto& [id, why] : facts.waiting) text += fmt::format("\n{}\n{}", id, why);
  return text;
}

Task<Result<Reply>> list_runs(RunRooms rooms, const Call& call, runs::ListQuery query) {
  auto facts = run_facts(rooms.runs, rooms.clock);
  auto question = question_of(query, facts);
  auto make = [query, facts = std::move(facts)](Reader& reader) -> Result<KeptReplies::Made> {
    auto one_more = query;
    ++one_more.limit;  // tells whether there are more
    auto found = runs::list(reader, one_more);
    bool more = static_cast<int64_t>(found.size()) > query.limit;
    if (more) found.resize(static_cast<size_t>(query.limit));
    auto told = tell_runs(reader, found, facts);
    return KeptReplies::Made{to_text(json::object{{"agents", std::move(told.records)}, {"more", more}}),
                             told.until};
  };
  return rooms.kept->read(call, "list_runs", std::move(question), std::move(make));
}

Task<Result<Reply>> get_run(RunRooms rooms, std::string id, Duration wait) {
  auto run = co_await rooms.runs.wait_for_end(std::move(id), wait);
  co_return co_await reply_with(rooms, std::move(run));
}

/// What a person starts may do what the person may, unless it is an agent or is to be confined. What an agent
/// starts may do no more than the agent.
Task<Result<>> add_jail(RunRooms rooms, Call call, json::object input, runs::StartRequest& request) {
  bool is_agent = !request.backend.empty();
  bool has_network = bool_or(input, "network", true);
  runs::JailRights rights{.may_write = true, .may_use_network = has_network, .permits = {}};
  for (const auto& word : text_list(input, "permit")) {
    auto permit = runs::permit_from(word);
    if (!permit)
      co_return fail(Code::invalid_argument, fmt::format("permit: unknown: {}", word), "permit",
                     "use ssh-agent, gpg or docker");
    rights.permits.insert(*permit);
  }
  bool is_wanted = is_agent || bool_or(input, "confine");
  if (bool_or(input, "confine") && !rooms.runs.confines())
    co_return fail(Code::invalid_argument, "confine: nothing can be confined while `confine: off` is set",
                   "confine", "change `confine` in your configuration, or start it without --confine");
  // Nothing but the jail keeps anybody from the network: it must not seem to be off.
  if (!has_network && !(is_wanted && rooms.runs.confines()))
    co_return fail(Code::invalid_argument, "network: only a confined run can be without network access",
                   "network", is_wanted ? "`confine: off` is set in your configuration" : "confine it too");
  if (is_wanted) request.jail = rights;
  if (call.run_id.empty()) co_return Result<>();
  auto parent = co_await rooms.runs.find(call.run_id);
  if (!parent) co_return fail(std::move(parent.error()));
  if (!parent->jail) co_return Result<>();
  request.jail = runs::both(rights, *parent->jail);
  request.is_by_confined = true;
  co_return Result<>();
}

Task<Result<Reply>> start_run(RunRooms rooms, FindCaller find_caller, Call call, json::object input,
                              runs::StartRequest request) {
  if (find_caller) request.parent = co_await find_caller(call);
  if (auto words = text(input, "budget"); !words.empty()) {
    auto budget = budgets::parse_budget(words);
    if (!budget) co_return fail(std::move(budget.error()));
    request.budget = *budget;
    request.is_budget_of_person = call.caller == person;
  }
  request.is_anew = call.caller == person;
  bool is_counted = minds::prints_work(request.backend) && !request.pty;
  auto counts = request.budget.limits;
  counts.time.reset();
  if (!is_counted && !counts.empty())
    co_return fail(Code::invalid_argument,
                   fmt::format("budget: what {} spends cannot be counted, so only its time can be limited",
                               request.pty               ? "a program at a terminal"
                               : request.backend.empty() ? "a command"
                                                         : fmt::format("the backend {}", request.backend)),
                   "budget",
                   request.pty
                       ? "start it without --pty, or limit its time: --budget time=1h"
                       : "limit its time: --budget time=1h; or run claude, codex, gemini or an agent");
  // Nothing is started for which nothing is left. What a run of that id spent before a person begins it anew
  // is past.
  std::vector<std::string> before;
  if (!request.is_anew) before.push_back(request.id);
  if (rooms.budgets && is_counted)
    for (const auto& payer : {budgets::Payer{.runs = before, .member = request.parent},
                              budgets::Payer{.runs = {}, .member = call.run_member}})
      if (auto left = co_await rooms.budgets->check(payer); !left) co_return fail(std::move(left.error()));
  auto added = co_await add_jail(rooms, call, std::move(input), request);
  if (!added) co_return fail(std::move(added.error()));
  request.keep_reply = keep_reply_to(rooms, call.once);
  auto run = co_await rooms.runs.start(std::move(request));
  co_return co_await reply_with_kept(rooms, call.once, std::move(run));
}

runs::StartRequest to_start_request(const Call& call, const json::object& input) {
  runs::StartRequest request;
  request.id = text(input, "id");
  request.argv = text_list(input, "argv");
  request.backend = text(input, "backend");
  request.task = text(input, "task");
  request.cwd = text(input, "cwd");
  request.env = text_map(input, "env");
  request.worktree = bool_or(input, "worktree");
  request.pty = bool_or(input, "pty");
  if (input.contains("stdin")) request.has_stdin = bool_or(input, "stdin");
  request.rows = int_or(input, "rows", 24);
  request.cols = int_or(input, "cols", 80);
  request.traceparent = call.trace;
  request.parent = call.run_member;
  request.within = call.run_id;
  request.once = call.once;
  return request;
}

/// Whether `member` is `above` or was spawned by it, or by one that it spawned.
bool is_of_member(Reader& reader, std::string member, const std::string& above) {
  constexpr int deepest = 64;
  for (int depth = 0; depth < deepest && !member.empty(); ++depth) {
    if (member == above) return true;
    auto found = members::find_member(reader, member);
    member = found ? found->parent : std::string();
  }
  return false;
}

/// One run does not stop another: only a person may, or whoever has started it.
Task<Result<>> may_stop(RunRooms rooms, Call call, std::string id) {
  if (call.caller == person) co_return Result<>();
  auto is_own = co_await rooms.store.read([id, member = call.run_member](Reader& reader) -> Result<bool> {
    auto run = runs::find(reader, id);
    return !run || (!member.empty() && is_of_member(reader, run->member, member));
  });
  if (!is_own) co_return fail(std::move(is_own.error()));
  if (!*is_own)
    co_return fail(
        Code::forbidden,
        fmt::format("run {} is not this agent's: an agent may only stop itself and the runs that it "
                    "has started",
                    id),
        "id", "ask the user to stop it");
  co_return Result<>();
}

Task<Result<Reply>> kill_run(RunRooms rooms, Call call, std::string id, std::optional<Duration> grace) {
  if (auto allowed = co_await may_stop(rooms, std::move(call), id); !allowed)
    co_return fail(std::move(allowed.error()));
  auto run = co_await rooms.runs.kill(std::move(id), grace);
  co_return co_await reply_with(rooms, std::move(run));
}

std::optional<Duration> grace_of(const json::object& input) {
  return input.contains("grace_seconds") ? std::optional(seconds(input, "grace_seconds")) : std::nullopt;
}

Task<Result<Reply>> restart_run(RunRooms rooms, FindCaller find_caller, Call call, std::string id,
                                runs::RestartRequest request) {
  if (find_caller) request.parent = co_await find_caller(call);
  request.within = call.run_id;
  request.keep_reply = keep_reply_to(rooms, call.once);
  auto run = co_await rooms.runs.restart(std::move(id), std::move(request));
  co_return co_await reply_with_kept(rooms, call.once, std::move(run));
}

Task<Result<Reply>> remove_run(runs::Runs& runs, std::string id, Once once) {
  auto removed = co_await runs.remove(std::move(id), std::move(once));
  if (!removed) co_return fail(std::move(removed.error()));
  co_return Reply(json::object{{"task_id", removed->task_id}, {"removed", true}});
}

/// The records of the page in words, each with its number. A page may begin in the middle of a long line: its
/// beginning is then looked for in the records before, in few of them first.
Task<Result<>> tell_in_words(runs::Runs& runs, std::string id, minds::ProviderKind kind,
                             std::vector<std::string>& records) {
  if (records.empty()) co_return Result<>();
  minds::WorkRecords work(kind);
  auto before = seq_of(records.front()) - 1;
  for (int64_t count : {8, 64, 256}) {
    runs::OutputQuery query{
        .since = std::max<int64_t>(0, before - count), .limit = {}, .stream = {}, .tail = {}};
    bool is_all = query.since == 0;
    std::vector<std::string> read;
    while (query.since < before) {
      query.limit = before - query.since;
      auto page = co_await runs.read_output(id, query);
      if (!page) co_return fail(std::move(page.error()));
      if (page->lines.empty()) break;
      query.since = page->last_seq;
      for (auto& record : page->lines)
        if (seq_of(record) <= before) read.push_back(std::move(record));
    }
    if (work.begin_after(read, is_all) || is_all) break;
  }
  for (auto& record : records) record = work.tell(std::move(record));
  co_return Result<>();
}

struct OutputReply {
  bool as_text = false, with_run = false;
};

Task<Result<Reply>> read_output(RunRooms rooms, std::string id, runs::OutputQuery query, OutputReply how) {
  auto page = co_await rooms.runs.read_output(id, std::move(query));
  if (!page) co_return fail(std::move(page.error()));
  bool is_last = !runs::is_active(page->status) && !page->more && page->lines.empty();
  std::string record;
  bool wants_run = how.as_text || (how.with_run && is_last);
  if (auto run = wants_run ? co_await rooms.runs.find(id) : fail(Code::not_found, ""); run) {
    if (auto kind = minds::prints_work(run->backend); how.as_text && kind && !run->pty)
      if (auto told = co_await tell_in_words(rooms.runs, id, *kind, page->lines); !told)
        co_return fail(std::move(told.error()));
    // One that was started again meanwhile has pages to come.
    if (how.with_run && is_last && !runs::is_active(run->status))
      if (auto reply = co_await reply_with(rooms, std::move(run))) record = ",\"run\":" + reply->text();
  }
  std::string lines;
  for (const auto& line : page->lines) {
    if (!lines.empty()) lines += ',';
    lines += line;
  }
  co_return Reply::raw(fmt::format(
      R"({{"task_id":"{}","lines":[{}],"last_seq":{},"more":{},"status":"{}","damaged":{},"missing":{}{}}})",
      id, lines, page->last_seq, page->more, name(page->status), page->damaged, page->missing, record));
}

runs::OutputQuery to_output_query(const json::object& input) {
  runs::OutputQuery query{.since = int_or(input, "since"),
                          .limit = int_or(input, "limit", 1000),
                          .stream = text(input, "stream"),
                          .tail = {},
                          .wait = seconds(input, "wait_seconds")};
  if (input.contains("tail")) query.tail = int_or(input, "tail");
  return query;
}

Task<Result<Reply>> send_input(runs::Runs& runs, Once once, json::object input) {
  std::string bytes(text_or(input, "text"));
  if (input.contains("text") && input.contains("data"))
    co_return fail(Code::invalid_argument, "text and data are mutually exclusive", "data");
  if (input.contains("data")) {
    auto decoded = from_base64(text_or(input, "data"));
    if (!decoded) co_return fail(Code::invalid_argument, decoded.error().message, "data");
    bytes = *std::move(decoded);
  } else if (input.contains("text") && !bool_or(input, "raw")) {
    bytes += "\n";
  }
  if (bytes.empty() && !bool_or(input, "eof"))
    co_return fail(Code::invalid_argument, "nothing to send", "text", "specify text, data or eof");
  auto id = text(input, "id");
  auto sent = co_await runs.send(id, bytes, bool_or(input, "eof"), std::move(once));
  if (!sent) co_return fail(std::move(sent.error()));
  co_return Reply(json::object{{"task_id", id}, {"delivered", true}, {"bytes", bytes.size()}});
}

Task<Result<Reply>> resize_run(runs::Runs& runs, std::string id, int64_t rows, int64_t cols) {
  auto done = co_await runs.resize(id, rows, cols);
  if (!done) co_return fail(std::move(done.error()));
  co_return Reply(json::object{{"task_id", id}, {"rows", rows}, {"cols", cols}});
}

}  // namespace

RunFacts run_facts(const runs::Runs& runs, Clock& clock) {
  return {clock.wall(), has_trouble(runs::keeper_trouble), runs.waiting()};
}

RunRecords tell_runs(Reader& reader, const std::vector<runs::Run>& found, const RunFacts& facts) {
  std::map<std::string, int64_t> pending;
  for (const auto& question : inbox::list(reader, "", true)) ++pending[question.task_id];
  auto asked = roster::list_asked(reader);
  RunRecords told;
  for (const auto& run : found) {
    auto waiting = pending.find(run.task_id);
    auto badge = roster::badge_of(reader, run, asked, facts.now);
    told.until = std::min(told.until, badge.until);
    told.records.push_back(
        run_to_json(reader, run, waiting == pending.end() ? 0 : waiting->second, badge, facts));
  }
  return told;
}

void bind_runs(Api& api, Loop& loop, Store& store, runs::Runs& runs, FindCaller find_caller,
               budgets::Budgets* budgets) {
  RunRooms rooms{store, runs, loop.clock(), budgets, std::make_shared<KeptReplies>(loop, store)};
  api.bind("list_runs", [rooms](const Call& call, const json::object& in) {
    return list_runs(
        rooms, call,
        {.status = text(in, "status"), .before = text(in, "before"), .limit = int_or(in, "limit", 100)});
  });
  api.bind("get_run", [rooms](const Call&, const json::object& in) {
    return get_run(rooms, text(in, "id"), seconds(in, "wait_seconds"));
  });
  api.bind(
      "start_run",
      [rooms, find_caller](const Call& call, const json::object& in) {
        return start_run(rooms, find_caller, call, in, to_start_request(call, in));
      },
      AfterCrash::claims_with_change);
  api.bind("kill_run", [rooms](const Call& call, const json::object& in) {
    return kill_run(rooms, call, text(in, "id"), grace_of(in));
  });
  api.bind(
      "restart_run",
      [rooms, find_caller](const Call& call, const json::object& in) {
        return restart_run(rooms, find_caller, call, text(in, "id"),
                           {.env = text_map(in, "env"),
                            .grace = grace_of(in),
                            .rows = int_or(in, "rows", 24),
                            .cols = int_or(in, "cols", 80),
                            .traceparent = call.trace,
                            .parent = call.run_member,
                            .once = call.once});
      },
      AfterCrash::claims_with_change);
  api.bind(
      "remove_run",
      [&runs](const Call& call, const json::object& in) {
        return remove_run(runs, text(in, "id"), call.once);
      },
      AfterCrash::finds_out);
  api.bind("read_output", [rooms](const Call&, const json::object& in) {
    return read_output(rooms, text(in, "id"), to_output_query(in),
                       {.as_text = text_or(in, "as") == "text", .with_run = bool_or(in, "with_run")});
  });
  api.bind(
      "send_input",
      [&runs](const Call& call, const json::object& in) { return send_input(runs, call.once, in); },
      AfterCrash::finds_out);
  api.bind("resize_run", [&runs](const Call&, const json::object& in) {
    return resize_run(runs, text(in, "id"), int_or(in, "rows"), int_or(in, "cols"));
  });
}

}  // namespace cru::api
