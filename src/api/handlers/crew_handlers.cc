// Subagents and chats.
#include "crew/crew_service.h"

#include <fmt/format.h>

#include "api/handlers/coordination_handlers.h"
#include "api/handlers/crew_handlers.h"
#include "crew/chat_files.h"
#include "crew/conversation.h"

namespace cru::api {
namespace {

using crew::Crew;
using crew::Subagent;

/// Whom a spawn is for. A run or a client that does not say who it is cannot be held to its rights.
Result<crew::Spawner> spawner_of(const Call& call, const json::object& input) {
  crew::Spawner spawner;
  auto who = who_of("spawn_agent", call, input);
  if (!who) return fail(std::move(who.error()));
  spawner.once = who->once;
  spawner.member = who->member;
  if (call.caller == person && (who->agent_type == "person" || call.agent_id.empty())) return spawner;
  spawner.kind = call.caller == run ? crew::Spawner::Kind::run : crew::Spawner::Kind::client;
  spawner.id = call.caller == run ? call.run_id : who->session_id;
  spawner.name = who->agent_type;
  // A session id alone is no key: whoever is not known to be its member has spawned nothing.
  if (spawner.kind == crew::Spawner::Kind::client && who->member.empty())
    return fail(Code::not_found, "no agent was spawned by this session", "task_id");
  if (spawner.id.empty())
    return fail(Code::forbidden, "a process of an unidentified run may not spawn agents");
  return spawner;
}

json::object subagent_to_json(const Crew& crew, const Subagent& subagent) {
  auto out = crew::to_json(subagent, crew::chat_folder(subagent.chat_id));
  out["success"] = true;
  if (is_over(subagent.status)) {
    auto result = crew.result_of(subagent);
    out["truncated"] = result.find("\n\n[… ") != std::string::npos && result.ends_with(".md]");
    out["result"] = result;
    out["abbreviated"] = crew::is_abbreviated(subagent.result);
  } else {
    out["queue_position"] = crew.queue_position(subagent.task_id);
    out["message"] =
        fmt::format("{}; poll with get_subagent, task_id {}", name(subagent.status), subagent.task_id);
  }
  return out;
}

Task<Result<Reply>> spawn_agent(Crew& crew, Result<crew::Spawner> spawner, crew::SpawnRequest request,
                                std::string budget, Duration wait) {
  if (!spawner) co_return fail(std::move(spawner.error()));
  if (!budget.empty()) {
    auto limits = budgets::parse_budget(budget);
    if (!limits) co_return fail(std::move(limits.error()));
    request.budget = *limits;
  }
  auto spawned = co_await crew.spawn(*spawner, std::move(request));
  if (spawned) spawned = co_await crew.report_to(*spawner, spawned->task_id, wait);
  if (!spawned) co_return fail(std::move(spawned.error()));
  co_return Reply(subagent_to_json(crew, *spawned));
}

/// Nobody but a person is told of another's subagents, not even that they are there.
Task<Result<Subagent>> find_own(Crew& crew, Result<crew::Spawner> spawner, std::string task_id) {
  if (!spawner) co_return fail(std::move(spawner.error()));
  auto found = co_await crew.wait_for(task_id, Duration(0));
  if (!found) co_return found;
  auto own = co_await crew.is_of(*std::move(spawner), found->chat_id);
  if (!own) co_return fail(std::move(own.error()));
  if (!*own) co_return fail(Code::not_found, fmt::format("subagent not found: {}", task_id), "task_id");
  co_return found;
}

Task<Result<Reply>> get_subagent(Crew& crew, Result<crew::Spawner> spawner, std::string task_id,
                                 Duration wait) {
  if (spawner && task_id == "latest") {
    auto latest = co_await crew.latest_of(*spawner);
    if (!latest) co_return fail(std::move(latest.error()));
    task_id = *std::move(latest);
  }
  auto found = co_await find_own(crew, spawner, task_id);
  if (found) found = co_await crew.report_to(*spawner, task_id, wait);
  if (!found) co_return fail(std::move(found.error()));
  co_return Reply(subagent_to_json(crew, *found));
}

Task<Result<Reply>> list_subagents(Crew& crew, std::string chat_id, int64_t limit) {
  auto found = co_await crew.subagents(std::move(chat_id), limit);
  if (!found) co_return fail(std::move(found.error()));
  json::array all;
  for (const auto& subagent : *found)
    all.push_back(crew::to_json(subagent, crew::chat_folder(subagent.chat_id)));
  co_return Reply(json::object{{"subagents", std::move(all)}});
}

Task<Result<Reply>> cancel_subagent(Crew& crew, Result<crew::Spawner> spawner, std::string task_id) {
  auto found = co_await find_own(crew, std::move(spawner), task_id);
  if (found) found = co_await crew.cancel(task_id);
  if (!found) co_return fail(std::move(found.error()));
  co_return Reply(subagent_to_json(crew, *found));
}

Task<Result<Reply>> chat_reply(Task<Result<crew::ChatView>> asked) {
  auto view = co_await asked;
  if (!view) co_return fail(std::move(view.error()));
  co_return Reply(to_json(*view));
}

Task<Result<Reply>> start_chat(Crew& crew, std::string budget, crew::NewChat wanted) {
  if (!budget.empty()) {
    auto limits = budgets::parse_budget(budget);
    if (!limits) co_return fail(std::move(limits.error()));
    wanted.budget = *limits;
  }
  co_return co_await chat_reply(crew.start_chat(std::move(wanted)));
}

Task<Result<Reply>> list_chats(Crew& crew, std::string status, int64_t limit) {
  auto found = co_await crew.list(std::move(status), limit);
  if (!found) co_return fail(std::move(found.error()));
  json::array all;
  for (const auto& view : *found) all.push_back(to_json(view));
  co_return Reply(json::object{{"chats", std::move(all)}});
}

Task<Result<Reply>> prune_chats(Crew& crew, int64_t days, bool dry_run) {
  auto pruned = co_await crew.prune(std::chrono::days(days), dry_run);
  if (!pruned) co_return fail(std::move(pruned.error()));
  json::object reply{{"chats", json::value_from(*pruned)},
                     {"removed", dry_run ? 0 : static_cast<int64_t>(pruned->size())}};
  co_return Reply(std::move(reply));
}

Task<Result<Reply>> run_command(Crew& crew, std::string run_id, json::object input) {
  auto said = co_await crew.run_command(std::move(run_id), std::move(input));
  if (!said) co_return fail(std::move(said.error()));
  co_return Reply(json::object{{"success", true}, {"result", *said}});
}

Duration seconds_at(const json::object& in, int64_t fallback) {
  return std::chrono::seconds(int_or(in, "wait_seconds", fallback));
}

}  // namespace

void bind_subagents(Api& api, Crew& crew) {
  api.bind("spawn_agent", [&crew](const Call& call, const json::object& in) {
    crew::SpawnRequest request{
        .agent = text(in, "agent"), .task = text(in, "task"), .permissions = {}, .model = text(in, "model")};
    if (in.contains("permissions")) request.permissions = texts_at(in, "permissions");
    if (call.run_id.empty()) request.account = call.account;  // a run has the account of its own chat
    request.traceparent = call.trace;
    return spawn_agent(crew, spawner_of(call, in), std::move(request), text(in, "budget"),
                       seconds_at(in, 50));
  });
  // `cru mcp` sends again what a daemon that died has not answered.
  api.bind(
      "run_command",
      [&crew](const Call& call, const json::object& in) { return run_command(crew, call.run_id, in); },
      AfterCrash::claimed);
  api.bind("get_subagent", [&crew](const Call& call, const json::object& in) {
    return get_subagent(crew, spawner_of(call, in), text(in, "task_id"), seconds_at(in, 0));
  });
  api.bind("list_subagents", [&crew](const Call&, const json::object& in) {
    return list_subagents(crew, text(in, "chat"), int_or(in, "limit", 100));
  });
  api.bind("cancel_subagent", [&crew](const Call& call, const json::object& in) {
    return cancel_subagent(crew, spawner_of(call, in), text(in, "task_id"));
  });
}

void bind_chats(Api& api, Crew& crew) {
  api.bind(
      "start_chat",
      [&crew](const Call& call, const json::object& in) {
        return start_chat(crew, text(in, "budget"),
                          {.agent = text(in, "agent"),
                           .model = text(in, "model"),
                           .message = text(in, "message"),
                           .title = text(in, "title"),
                           .permissions = texts_at(in, "permissions"),
                           .account = call.account,
                           .traceparent = call.trace,
                           .once = call.once});
      },
      AfterCrash::finds_out);
  api.bind(
      "send_message",
      [&crew](const Call& call, const json::object& in) {
        return chat_reply(crew.send(text(in, "id"), text(in, "text"), call.account, call.once));
      },
      AfterCrash::finds_out);
  api.bind("cancel_turn", [&crew](const Call&, const json::object& in) {
    return chat_reply(crew.cancel_turn(text(in, "id")));
  });
  api.bind("end_chat", [&crew](const Call&, const json::object& in) {
    return chat_reply(crew.end_chat(text(in, "id")));
  });
  api.bind("get_chat", [&crew](const Call&, const json::object& in) {
    return chat_reply(crew.view(text(in, "id"), int_or(in, "after"), int_or(in, "limit", 200)));
  });
  api.bind("list_chats", [&crew](const Call&, const json::object& in) {
    return list_chats(crew, text(in, "status"), int_or(in, "limit", 50));
  });
  api.bind("prune_chats", [&crew](const Call&, const json::object& in) {
    return prune_chats(crew, int_or(in, "older_than_days"), bool_or(in, "dry_run"));
  });
}

}  // namespace cru::api
