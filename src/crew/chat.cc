#include "crew/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "crew/conversation.h"
#include "crew/reflection.h"

namespace cru::crew {
namespace {

constexpr std::array kind_names = {"chat", "run", "client"};
constexpr std::array chat_status_names = {"active", "completed", "failed"};
constexpr std::array status_names = {"queued", "running", "completed", "failed", "cancelled"};
constexpr std::array role_names = {"user", "assistant", "tool", "note"};

template <class E, size_t N>
E from(const std::array<const char*, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<E>(i);
  return static_cast<E>(0);
}

std::vector<std::string> texts(const json::object& record, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* list = array_at(record, key))
    for (const auto& item : *list)
      if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

std::string text(const json::object& record, std::string_view key) {
  return std::string(text_or(record, key));
}

json::value to_value(const std::optional<Time>& time) {
  return time ? json::value(to_millis(*time)) : json::value(nullptr);
}
std::optional<Time> time_at(const json::object& record, std::string_view key) {
  const auto* value = record.if_contains(key);
  if (!value || !value->is_int64()) return {};
  return from_millis(value->get_int64());
}
std::optional<int64_t> maybe_int(const json::object& record, std::string_view key) {
  const auto* value = record.if_contains(key);
  if (!value || !value->is_int64()) return {};
  return value->get_int64();
}

Permissions permissions_at(const json::object& record, std::string_view key) {
  Permissions all;
  for (const auto& name : texts(record, key))
    if (auto permission = definitions::permission_from(name)) all.add(*permission);
  return all;
}

json::object spent_record(const Spent& spent) {
  auto record = minds::to_json(spent.usage);
  record["cost_usd"] = json_or_null(spent.cost_usd);
  return record;
}
Spent spent_at(const json::object& record, std::string_view key) {
  Spent spent;
  const auto* object = object_at(record, key);
  if (!object) return spent;
  spent.usage = {.input = int_or(*object, "input"),
                 .output = int_or(*object, "output"),
                 .cache_read = int_or(*object, "cache_read"),
                 .cache_write = int_or(*object, "cache_write")};
  if (const auto* cost = object->if_contains("cost_usd"); cost && cost->is_number())
    spent.cost_usd = cost->to_number<double>();
  return spent;
}

json::object failure_record(const Failure& failure) {
  return {{"type", failure.type}, {"message", failure.message}, {"trace", failure.trace}};
}
Failure failure_at(const json::object& record, std::string_view key) {
  const auto* object = object_at(record, key);
  if (!object) return {};
  return {text(*object, "type"), text(*object, "message"), text(*object, "trace")};
}

json::array iterations_record(const std::vector<Iteration>& iterations) {
  json::array all;
  for (const auto& iteration : iterations) all.push_back(to_json(iteration));
  return all;
}
std::vector<Iteration> iterations_at(const json::object& record, std::string_view key) {
  std::vector<Iteration> all;
  const auto* list = array_at(record, key);
  for (const auto& item : list ? *list : json::array()) {
    if (!item.is_object()) continue;
    const auto& one = item.get_object();
    Iteration iteration{.attempt = int_or(one, "attempt"),
                        .passed = bool_or(one, "passed"),
                        .critique = text(one, "critique"),
                        .issues = texts(one, "issues"),
                        .is_retried = bool_or(one, "retried"),
                        .tokens = int_or(one, "tokens"),
                        .took = Duration(int_or(one, "duration_ms"))};
    if (const auto* score = one.if_contains("score"); score && score->is_number())
      iteration.score = score->to_number<double>();
    if (const auto* cost = one.if_contains("cost_usd"); cost && cost->is_number())
      iteration.cost_usd = cost->to_number<double>();
    all.push_back(std::move(iteration));
  }
  return all;
}

json::object reflection_record(const Reflection& reflection) {
  return {{"enabled", reflection.enabled},
          {"max_retries", reflection.max_retries},
          {"criteria", json::value_from(reflection.criteria)}};
}
Reflection reflection_at(const json::object& record, std::string_view key) {
  const auto* object = object_at(record, key);
  if (!object) return {};
  return {bool_or(*object, "enabled"), int_or(*object, "max_retries", 1), texts(*object, "criteria")};
}

}  // namespace

json::object to_json(const Iteration& iteration) {
  return {{"attempt", iteration.attempt},
          {"passed", iteration.passed},
          {"score", json_or_null(iteration.score)},
          {"critique", iteration.critique},
          {"issues", json::value_from(iteration.issues)},
          {"retried", iteration.is_retried},
          {"tokens", iteration.tokens},
          {"cost_usd", json_or_null(iteration.cost_usd)},
          {"duration_ms", iteration.took.count()}};
}

bool Subagent::is_partial() const {
  return status == Status::completed && reflection.enabled && !iterations.empty() &&
         std::ranges::none_of(iterations, &Iteration::passed);
}

json::value Subagent::reflection_json() const {
  if (!reflection.enabled) return nullptr;
  json::object out{{"outcome", nullptr},
                   {"attempts", iterations.size()},
                   {"best_attempt", nullptr},
                   {"criteria", json::value_from(reflection.criteria)},
                   {"max_retries", reflection.max_retries},
                   {"iterations", iterations_record(iterations)}};
  if (status == Status::completed && !iterations.empty()) {
    out["outcome"] = is_partial() ? "partial" : "passed";
    out["best_attempt"] = best_attempt(iterations, iterations.size());
  }
  return out;
}

std::string_view name(Kind kind) { return kind_names[static_cast<size_t>(kind)]; }
std::string_view name(ChatStatus status) { return chat_status_names[static_cast<size_t>(status)]; }
std::string_view name(Status status) { return status_names[static_cast<size_t>(status)]; }
std::string_view name(Role role) { return role_names[static_cast<size_t>(role)]; }
std::optional<Role> role_from(std::string_view name) {
  for (size_t i = 0; i < role_names.size(); ++i)
    if (role_names[i] == name) return static_cast<Role>(i);
  return {};
}

std::string_view severity(const Failure& failure) {
  if (failure.type == "cancelled") return "warning";
  if (failure.type == "not_configured" || failure.type == "authentication") return "fatal";
  return "error";
}

Failure failure_from(const Error& error) {
  Failure failure{minds::failure_type(error), error.message, {}};
  if (failure.type.empty()) failure.type = std::string(cru::name(error.code));
  if (!error.hint.empty()) failure.message += "; " + error.hint;
  if (auto details = parse_json(error.details); details && details->is_object())
    failure.trace = text(details->get_object(), "trace");
  return failure;
}

void Spent::add(const minds::Reply& reply) {
  usage += reply.usage;
  if (reply.cost_usd) cost_usd = cost_usd.value_or(0) + *reply.cost_usd;
}

void Spent::add(const Spent& other) {
  usage += other.usage;
  if (other.cost_usd) cost_usd = cost_usd.value_or(0) + *other.cost_usd;
}

std::optional<Duration> Subagent::duration() const {
  if (!started_at || !completed_at) return {};
  return *completed_at - *started_at;
}

std::string in_words(const Parked& parked) {
  return fmt::format("usage limit of {}, until {}", parked.provider, to_rfc3339(parked.until));
}

json::value to_json(const std::optional<Parked>& parked) {
  if (!parked) return nullptr;
  return json::object{
      {"until", to_rfc3339(parked->until)}, {"provider", parked->provider}, {"why", parked->why}};
}

namespace {

json::value parked_record(const std::optional<Parked>& parked) {
  if (!parked) return nullptr;
  return json::object{
      {"until", to_millis(parked->until)}, {"provider", parked->provider}, {"why", parked->why}};
}

std::optional<Parked> parked_at(const json::object& record) {
  const auto* parked = object_at(record, "parked");
  if (!parked) return {};
  return Parked{from_millis(int_or(*parked, "until")), text(*parked, "provider"), text(*parked, "why")};
}

}  // namespace

json::object to_record(const Chat& chat) {
  return {{"id", chat.id},
          {"title", chat.title},
          {"kind", name(chat.kind)},
          {"owner", chat.owner},
          {"status", name(chat.status)},
          {"turn_running", chat.turn_running},
          {"turns", chat.turns},
          {"agent", chat.agent},
          {"prompt", chat.prompt},
          {"model", chat.model},
          {"model_source", chat.model_source},
          {"model_version", chat.model_version},
          {"provider", chat.provider},
          {"permissions", json::value_from(chat.permissions.names())},
          {"tools", json::value_from(chat.tools)},
          {"disallowed_tools", json::value_from(chat.disallowed_tools)},
          {"requires_approval", json::value_from(chat.requires_approval)},
          {"max_turns", json_or_null(chat.max_turns)},
          {"resume", chat.resume},
          {"again", chat.again},
          {"parked", parked_record(chat.parked)},
          {"spent", spent_record(chat.spent)},
          {"failure", failure_record(chat.failure)},
          {"trace_id", chat.trace_id},
          {"caller", chat.caller},
          {"started_at", to_millis(chat.started_at)},
          {"ended_at", to_value(chat.ended_at)}};
}

Chat chat_from(const json::object& record) {
  return {.id = text(record, "id"),
          .title = text(record, "title"),
          .kind = from<Kind>(kind_names, text_or(record, "kind")),
          .owner = text(record, "owner"),
          .status = from<ChatStatus>(chat_status_names, text_or(record, "status")),
          .turn_running = bool_or(record, "turn_running"),
          .turns = int_or(record, "turns"),
          .agent = text(record, "agent"),
          .prompt = text(record, "prompt"),
          .model = text(record, "model"),
          .model_source = text(record, "model_source"),
          .model_version = text(record, "model_version"),
          .provider = text(record, "provider"),
          .permissions = permissions_at(record, "permissions"),
          .tools = texts(record, "tools"),
          .disallowed_tools = texts(record, "disallowed_tools"),
          .requires_approval = texts(record, "requires_approval"),
          .max_turns = maybe_int(record, "max_turns"),
          .resume = text(record, "resume"),
          .again = int_or(record, "again"),
          .parked = parked_at(record),
          .spent = spent_at(record, "spent"),
          .failure = failure_at(record, "failure"),
          .trace_id = text(record, "trace_id"),
          .caller = text(record, "caller"),
          .started_at = from_millis(int_or(record, "started_at")),
          .ended_at = time_at(record, "ended_at")};
}

json::object to_record(const Subagent& subagent) {
  return {{"task_id", subagent.task_id},
          {"chat_id", subagent.chat_id},
          {"parent", subagent.parent},
          {"parent_use", subagent.parent_use},
          {"agent", subagent.agent},
          {"task", subagent.task},
          {"attempting", subagent.attempting},
          {"prompt", subagent.prompt},
          {"status", name(subagent.status)},
          {"depth", subagent.depth},
          {"model", subagent.model},
          {"model_source", subagent.model_source},
          {"model_override", subagent.model_override},
          {"model_version", subagent.model_version},
          {"provider", subagent.provider},
          {"permissions", json::value_from(subagent.permissions.names())},
          {"requested", json::value_from(subagent.requested)},
          {"inherited", subagent.inherited},
          {"tools", json::value_from(subagent.tools)},
          {"disallowed_tools", json::value_from(subagent.disallowed_tools)},
          {"requires_approval", json::value_from(subagent.requires_approval)},
          {"approvals", json::value_from(subagent.approvals)},
          {"max_turns", json_or_null(subagent.max_turns)},
          {"spent", spent_record(subagent.spent)},
          {"reflection", reflection_record(subagent.reflection)},
          {"iterations", iterations_record(subagent.iterations)},
          {"result", subagent.result},
          {"summary", subagent.summary},
          {"failure", failure_record(subagent.failure)},
          {"trace_id", subagent.trace_id},
          {"caller", subagent.caller},
          {"parent_chain", json::value_from(subagent.parent_chain)},
          {"is_program", subagent.is_program},
          {"resume", subagent.resume},
          {"again", subagent.again},
          {"parked", parked_record(subagent.parked)},
          {"reported_to", subagent.reported_to},
          {"spawned_at", to_millis(subagent.spawned_at)},
          {"started_at", to_value(subagent.started_at)},
          {"completed_at", to_value(subagent.completed_at)}};
}

Subagent subagent_from(const json::object& record) {
  return {.task_id = text(record, "task_id"),
          .chat_id = text(record, "chat_id"),
          .parent = text(record, "parent"),
          .parent_use = text(record, "parent_use"),
          .agent = text(record, "agent"),
          .task = text(record, "task"),
          .attempting = text(record, "attempting"),
          .prompt = text(record, "prompt"),
          .status = from<Status>(status_names, text_or(record, "status")),
          .depth = int_or(record, "depth"),
          .model = text(record, "model"),
          .model_source = text(record, "model_source"),
          .model_override = text(record, "model_override"),
          .model_version = text(record, "model_version"),
          .provider = text(record, "provider"),
          .permissions = permissions_at(record, "permissions"),
          .requested = texts(record, "requested"),
          .inherited = bool_or(record, "inherited"),
          .tools = texts(record, "tools"),
          .disallowed_tools = texts(record, "disallowed_tools"),
          .requires_approval = texts(record, "requires_approval"),
          .approvals = texts(record, "approvals"),
          .max_turns = maybe_int(record, "max_turns"),
          .spent = spent_at(record, "spent"),
          .reflection = reflection_at(record, "reflection"),
          .iterations = iterations_at(record, "iterations"),
          .result = text(record, "result"),
          .summary = text(record, "summary"),
          .failure = failure_at(record, "failure"),
          .trace_id = text(record, "trace_id"),
          .caller = text(record, "caller"),
          .parent_chain = texts(record, "parent_chain"),
          .is_program = bool_or(record, "is_program"),
          .resume = text(record, "resume"),
          .again = int_or(record, "again"),
          .parked = parked_at(record),
          // Rows from before this was written need no second telling.
          .reported_to = std::string(text_or(record, "reported_to", "?")),
          .spawned_at = from_millis(int_or(record, "spawned_at")),
          .started_at = time_at(record, "started_at"),
          .completed_at = time_at(record, "completed_at")};
}

namespace {

json::value time_or_null(const std::optional<Time>& time) {
  return time ? json::value(to_rfc3339(*time)) : json::value(nullptr);
}

}  // namespace

json::object to_json(const Subagent& subagent, const std::string& folder) {
  auto duration = subagent.duration();
  return {{"task_id", subagent.task_id},
          {"agent", subagent.agent},
          {"parked", to_json(subagent.parked)},
          {"chat_id", subagent.chat_id},
          {"task", subagent.task},
          {"status", name(subagent.status)},
          {"depth", subagent.depth},
          {"model", subagent.model},
          {"model_source", subagent.model_source},
          {"permissions", json::value_from(subagent.permissions.names())},
          {"inherited", subagent.inherited},
          {"summary", subagent.summary},
          {"file", fmt::format("{}/{}.md", folder, subagent.name())},
          {"tokens", subagent.spent.usage.total()},
          {"cost_usd", json_or_null(subagent.spent.cost_usd)},
          {"duration_ms", duration ? json::value(duration->count()) : json::value(nullptr)},
          {"error_type", json_or_null(subagent.failure.type)},
          {"error_message", json_or_null(subagent.failure.message)},
          {"reflection", subagent.reflection_json()},
          {"trace_id", subagent.trace_id},
          {"parent_chain", json::value_from(subagent.parent_chain)},
          {"run_id", subagent.is_program ? json::value(subagent.name()) : json::value(nullptr)},
          {"spawned_at", to_rfc3339(subagent.spawned_at)},
          {"completed_at", time_or_null(subagent.completed_at)}};
}

std::string bounded(std::string text, size_t most, std::string_view where) {
  if (text.size() <= most) return text;
  // The marker counts too.
  size_t end = character_start(text, most - std::min(most, where.size() + 48));
  auto left_out = text.size() - end;
  text.resize(end);
  return fmt::format("{}\n\n[… {} more bytes{}{}]", text, left_out, where.empty() ? "" : " in ", where);
}

json::object to_json(const Entry& entry, size_t most) {
  json::array tools, results;
  for (const auto& use : entry.message.uses) {
    json::value input = use.input;
    if (auto text = to_text(input); text.size() > most)
      input = json::object{{"truncated", bounded(std::move(text), most, "")}};
    tools.push_back({{"id", use.id}, {"name", use.name}, {"input", std::move(input)}});
  }
  for (const auto& result : entry.message.results)
    results.push_back(
        {{"id", result.id}, {"text", bounded(result.text, most, "")}, {"is_error", result.is_error}});
  json::object out{{"n", entry.n},
                   {"role", name(entry.role)},
                   {"text", bounded(entry.message.text, most, "")},
                   {"tools", std::move(tools)},
                   {"results", std::move(results)},
                   {"at", to_rfc3339(entry.at)}};
  if (!entry.about.empty()) out["about"] = entry.about;
  return out;
}

}  // namespace cru::crew
