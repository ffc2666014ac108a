#include "crew/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "crew/chat_files.h"

namespace cru::crew {
namespace {

json::value error_of(const Failure& failure, const std::string& attempting) {
  if (failure.type.empty()) return nullptr;
  return json::object{{"type", failure.type},
                      {"message", failure.message},
                      {"severity", severity(failure)},
                      {"attempting", json_or_null(attempting)}};
}

json::object primary_span(const Chat& chat, Time end) {
  return {{"id", chat.id},
          {"parent", nullptr},
          {"order", 0},
          {"agent", chat.agent},
          {"model", chat.model},
          {"status", chat.turn_running ? "running" : name(chat.status)},
          {"depth", 0},
          {"trace_id", chat.trace_id},
          {"parent_chain", {"user", chat.agent}},
          {"started_at", to_rfc3339(chat.started_at)},
          {"offset_ms", 0},
          {"queued_ms", 0},
          {"duration_ms", (end - chat.started_at).count()},
          {"tokens", chat.spent.usage.total()},
          {"cost_usd", json_or_null(chat.spent.cost_usd)},
          {"error", error_of(chat.failure, {})},
          {"reflection", nullptr},
          {"file", chat_folder(chat.id) + "/session.md"}};
}

json::object span_of(const Chat& chat, const Subagent& subagent, int64_t order, Time now) {
  auto begin = subagent.started_at.value_or(subagent.spawned_at);
  auto end = subagent.completed_at.value_or(now);
  bool is_the_persons = chat.kind == Kind::run && subagent.parent == chat.id;
  return {{"id", subagent.task_id},
          {"parent", is_the_persons ? json::value(nullptr) : json::value(subagent.parent)},
          {"order", order},
          {"agent", subagent.agent},
          {"model", subagent.model},
          {"status", name(subagent.status)},
          {"depth", subagent.depth},
          {"trace_id", subagent.trace_id},
          {"parent_chain", json::value_from(subagent.parent_chain)},
          {"started_at", to_rfc3339(begin)},
          {"offset_ms", (begin - chat.started_at).count()},
          {"queued_ms", (begin - subagent.spawned_at).count()},
          {"duration_ms", std::max<Duration>(end - begin, Duration(0)).count()},
          {"tokens", subagent.spent.usage.total()},
          {"cost_usd", json_or_null(subagent.spent.cost_usd)},
          {"error", error_of(subagent.failure, subagent.attempting)},
          {"reflection", subagent.reflection_json()},
          {"file", fmt::format("{}/{}.md", chat_folder(chat.id), subagent.name())}};
}

}  // namespace

json::object to_trace(const Chat& chat, std::vector<Subagent> subagents, Time now) {
  std::ranges::sort(subagents, {},
                    [](const Subagent& one) { return std::pair(one.spawned_at, one.task_id); });
  // A chat that nobody has ended yet has lasted as long as something happened in it.
  bool is_over = chat.ended_at.has_value();
  bool is_at_work = chat.turn_running;
  Time end = chat.ended_at.value_or(chat.started_at);
  Spent total = chat.spent;
  int64_t failed = chat.status == ChatStatus::failed && chat.kind != Kind::run ? 1 : 0;
  for (const auto& subagent : subagents) {
    total.add(subagent.spent);
    failed += subagent.status == Status::failed;
    is_at_work = is_at_work || !crew::is_over(subagent.status);
    if (subagent.completed_at) end = std::max(end, *subagent.completed_at);
  }
  if (!is_over && is_at_work) end = now;
  json::array spans;
  if (chat.kind != Kind::run) spans.push_back(primary_span(chat, end));
  int64_t order = 0;
  for (const auto& subagent : subagents) spans.push_back(span_of(chat, subagent, ++order, now));
  return {{"trace_id", chat.trace_id},
          {"session_id", chat.id},
          {"title", chat.title},
          {"status", is_at_work ? "running" : name(chat.status)},
          {"started_at", to_rfc3339(chat.started_at)},
          {"duration_ms", (end - chat.started_at).count()},
          {"tokens", total.usage.total()},
          {"cost_usd", json_or_null(total.cost_usd)},
          {"agents", spans.size()},
          {"failed", failed},
          {"spans", std::move(spans)}};
}

std::string chain_of(const Subagent& subagent) {
  return fmt::format("{}", fmt::join(subagent.parent_chain, " → "));
}

std::string attribution(const Subagent& subagent) {
  auto text = fmt::format("{}, trace {}", chain_of(subagent), subagent.trace_id);
  const auto& chain = subagent.parent_chain;
  if (!subagent.attempting.empty())
    text += fmt::format(", while {} was attempting: {}", chain.size() > 1 ? chain[chain.size() - 2] : "user",
                        subagent.attempting);
  return text;
}

}  // namespace cru::crew
