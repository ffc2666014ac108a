// Approvals as JSON: the row's own, and what people and programs are told.
#include "approvals/approval.h"

namespace cru::approvals {
namespace {

json::value time_or_null(const std::optional<Time>& time) {
  return time ? json::value(to_rfc3339(*time)) : json::value(nullptr);
}
json::value milliseconds(const std::optional<Duration>& duration) {
  return duration ? json::value(duration->count()) : json::value(nullptr);
}
std::optional<Duration> duration_at(const json::object& record, std::string_view key) {
  const auto* value = record.if_contains(key);
  if (!value || !value->is_int64()) return {};
  return Duration(value->get_int64());
}
std::optional<Time> time_at(const json::object& record, std::string_view key) {
  return parse_rfc3339(text_or(record, key));
}

json::array to_list(const std::vector<Exchange>& context) {
  json::array list;
  for (const auto& one : context)
    list.push_back({{"question", one.question},
                    {"answer", json_or_null(one.answer)},
                    {"asked_at", to_rfc3339(one.asked_at)},
                    {"answered_at", time_or_null(one.answered_at)}});
  return list;
}

json::object deadline_record(const Deadline& deadline) {
  return {{"wall", to_millis(deadline.wall)}, {"boot_id", deadline.boot_id}, {"boot", deadline.boot.count()}};
}

std::vector<std::string> words_at(const json::object& record, std::string_view key) {
  std::vector<std::string> words;
  if (const auto* list = array_at(record, key))
    for (const auto& item : *list)
      if (item.is_string()) words.emplace_back(item.get_string());
  return words;
}

/// Older rows know only whether it is checked at execution: what was not was a question of a run.
Via via_in(const json::object& record) {
  auto word = text_or(record, "via");
  for (auto via : {Via::tool, Via::question, Via::hook, Via::client})
    if (word == name(via)) return via;
  return bool_or(record, "checked_at_execution", true) ? Via::tool : Via::question;
}

Request request_from(const json::object& record) {
  auto text = [&](std::string_view key) { return std::string(text_or(record, key)); };
  Request request{.thread = text("thread"),
                  .use = text("use"),
                  .chat_id = text("chat_id"),
                  .task_id = text("task_id"),
                  .member = text("member"),
                  .agent = text("agent"),
                  .trace_id = text("trace_id"),
                  .chain = words_at(record, "chain"),
                  .task = text("task"),
                  .reason = text("reason"),
                  .schema = text("schema"),
                  .proposal = {},
                  .via = via_in(record),
                  .timeout = duration_at(record, "timeout_ms"),
                  .on_timeout = text("on_timeout") == "approve" ? OnTimeout::approve : OnTimeout::abort,
                  .replaces = text("replaces")};
  if (const auto* proposal = object_at(record, "proposal")) request.proposal = proposal_from(*proposal);
  return request;
}

}  // namespace

json::object to_record(const Approval& approval) {
  const auto& request = approval.request;
  json::object out{{"id", approval.id},
                   {"thread", request.thread},
                   {"use", request.use},
                   {"chat_id", request.chat_id},
                   {"task_id", request.task_id},
                   {"member", request.member},
                   {"agent", request.agent},
                   {"trace_id", request.trace_id},
                   {"chain", json::value_from(request.chain)},
                   {"task", request.task},
                   {"reason", request.reason},
                   {"schema", request.schema},
                   {"proposal", to_record(request.proposal)},
                   {"via", name(request.via)},
                   {"timeout_ms", milliseconds(request.timeout)},
                   {"on_timeout", name(request.on_timeout)},
                   {"replaces", request.replaces},
                   {"digest", approval.digest},
                   {"state", name(approval.state)},
                   {"resumes", name(approval.resumes)},
                   {"requested_at", to_rfc3339(approval.requested_at)},
                   {"left_ms", milliseconds(approval.left)},
                   {"decided_by", approval.decided_by},
                   {"rule", approval.rule},
                   {"why_asked", approval.why_asked},
                   {"decision_reason", approval.decision_reason},
                   {"decided_at", time_or_null(approval.decided_at)},
                   {"used_at", time_or_null(approval.used_at)},
                   {"changes", approval.changes},
                   {"context", to_list(approval.context)}};
  if (approval.deadline) out["deadline"] = deadline_record(*approval.deadline);
  return out;
}

Approval approval_from(const json::object& record) {
  auto text = [&](std::string_view key) { return std::string(text_or(record, key)); };
  Approval approval{.id = text("id"), .request = request_from(record), .digest = text("digest")};
  // A state that cannot be read is one in which nothing is carried out.
  approval.state = state_from(text("state")).value_or(State::withdrawn);
  approval.resumes = text("resumes") == "held" ? State::held : State::pending;
  approval.requested_at = time_at(record, "requested_at").value_or(Time());
  if (const auto* deadline = object_at(record, "deadline"))
    approval.deadline =
        Deadline{from_millis(int_or(*deadline, "wall")), std::string(text_or(*deadline, "boot_id")),
                 BootTime(int_or(*deadline, "boot"))};
  approval.left = duration_at(record, "left_ms");
  approval.decided_by = text("decided_by");
  approval.rule = text("rule");
  approval.why_asked = text("why_asked");
  approval.decision_reason = text("decision_reason");
  approval.decided_at = time_at(record, "decided_at");
  approval.used_at = time_at(record, "used_at");
  if (const auto* changes = array_at(record, "changes"))
    for (const auto& change : *changes)
      if (const auto* fields = change.if_object();
          fields && fields->contains("from") && fields->contains("to"))
        approval.changes.push_back(change);
  if (const auto* context = array_at(record, "context"))
    for (const auto& item : *context) {
      const auto* fields = item.if_object();
      if (!fields) continue;
      Exchange exchange{.question = std::string(text_or(*fields, "question")),
                        .asked_at = time_at(*fields, "asked_at").value_or(Time()),
                        .answered_at = time_at(*fields, "answered_at")};
      if (fields->contains("answer") && fields->at("answer").is_string())
        exchange.answer = std::string(text_or(*fields, "answer"));
      approval.context.push_back(std::move(exchange));
    }
  // Asking nobody anything cannot be answered.
  if (approval.state == State::asking && approval.context.empty()) approval.state = State::pending;
  return approval;
}

json::object to_summary(const Approval& approval) {
  const auto& request = approval.request;
  return {
      {"id", approval.id},
      {"status", name(approval.state)},
      {"tool", request.proposal.tool},
      {"what", request.proposal.what},
      {"reason", json_or_null(request.reason)},
      {"impact", request.proposal.impact},
      {"reversible", approval.can_be_undone()},
      {"undo", name(request.proposal.undo)},
      {"agent", request.agent},
      {"member", json_or_null(request.member)},
      {"task_id", json_or_null(request.task_id)},
      {"chat_id", json_or_null(request.chat_id)},
      {"question_id", json_or_null(request.via == Via::question ? request.use : std::string())},
      {"task", json_or_null(request.task)},
      {"parent_chain", json::value_from(request.chain)},
      {"trace_id", json_or_null(request.trace_id)},
      {"via", name(request.via)},
      {"requested_at", to_rfc3339(approval.requested_at)},
      {"expires_at", approval.deadline ? json::value(to_rfc3339(approval.deadline->wall)) : nullptr},
      {"on_timeout", name(request.on_timeout)},
      {"outcome", is_open(approval.state) ? json::value(nullptr) : json::value(describe_outcome(approval))},
      {"decided_by", json_or_null(approval.decided_by)},
      {"rule", json_or_null(approval.rule)},
      {"why_asked", json_or_null(approval.why_asked)},
      {"decided_at", time_or_null(approval.decided_at)},
      {"decision_reason", json_or_null(approval.decision_reason)},
      {"used_at", time_or_null(approval.used_at)},
      {"replaces", json_or_null(request.replaces)}};
}

json::object to_json(const Approval& approval, const Moment& now) {
  auto out = to_summary(approval);
  const auto& request = approval.request;
  auto proposal = to_record(request.proposal);
  for (auto key : {"input", "folder", "executable", "files", "preview", "undo_why"}) out[key] = proposal[key];
  out["confirm"] = !approval.can_be_undone();
  out["digest"] = approval.digest;
  out["checked"] = request.is_checked_at_execution() ? "at execution" : "at answer";
  out["timeout_seconds"] = request.timeout ? json::value(static_cast<double>(request.timeout->count()) / 1000)
                                           : json::value(nullptr);
  auto left = approval.deadline
                  ? std::optional(std::max<Duration>(until(*approval.deadline, now), Duration(0)))
                  : approval.left;
  out["seconds_left"] = left ? json::value(static_cast<double>(left->count()) / 1000) : json::value(nullptr);
  auto schema = parse_json(request.schema);
  out["schema"] = schema && schema->is_object() ? *std::move(schema) : json::value(nullptr);
  out["changes"] = approval.changes;
  out["context"] = to_list(approval.context);
  return out;
}

json::object to_audit(const Approval& approval) {
  return {{"id", approval.id},
          {"agent", approval.request.agent},
          {"task_id", json_or_null(approval.request.task_id)},
          {"tool", approval.proposal().tool},
          {"what", approval.proposal().what},
          {"digest", approval.digest},
          {"status", name(approval.state)},
          {"outcome", describe_outcome(approval)},
          {"reason", json_or_null(approval.decision_reason)},
          {"decided_by", json_or_null(approval.decided_by)},
          {"rule", json_or_null(approval.rule)},
          {"requested_at", to_rfc3339(approval.requested_at)},
          {"decided_at", time_or_null(approval.decided_at)},
          {"used_at", time_or_null(approval.used_at)},
          {"changes", approval.changes},
          {"context", to_list(approval.context)}};
}

}  // namespace cru::approvals
