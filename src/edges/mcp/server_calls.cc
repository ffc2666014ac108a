// The requests that the daemon answers: tools, resources, prompts and completions.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "edges/mcp/long_task.h"
#include "edges/mcp/server.h"
#include "edges/mcp/ticker.h"
#include "edges/mcp/tool_result.h"
#include "edges/quoted.h"

namespace cru::mcp {
namespace {

constexpr size_t max_completions = 100, max_quoted_bytes = 8192;

RpcError unavailable(const Error& error) { return {internal_error, error.message, cru::to_json(error)}; }

/// Whether progress keeps this client's timer from running out. Codex gives up when its time for a tool is
/// over, whatever it hears; for those that are runs of ours that time is a day.
bool is_prolonged(std::string_view progress_token, const api::Call& call) {
  return !progress_token.empty() && (call.caller == api::run || !call.client.starts_with("codex"));
}

/// How long a call waits: as its argument says, else as long as the row does. A tool that waits of its own
/// accord waits as long as its work takes for a caller that hears of the progress, because that keeps the
/// caller's own timer from running out.
Wait wait_of(const api::Operation& operation, const json::object& input, bool hears_progress) {
  for (const auto& field : operation.fields) {
    if (field.name != "wait_seconds") continue;
    int64_t fallback = 0;
    for (char digit : field.fallback) fallback = fallback * 10 + (digit - '0');
    if (!input.contains(field.name) && fallback > 0 && hears_progress) return {field.max, true};
    return {std::clamp<int64_t>(int_or(input, field.name, fallback), 0, field.max)};
  }
  return {};
}

std::string completion_result(std::vector<std::string> values, std::string_view typed, Version version) {
  std::erase_if(values, [&](const std::string& value) { return !value.starts_with(typed); });
  std::ranges::sort(values);
  auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
  json::array shown;
  for (const auto& value : values)
    if (shown.size() < max_completions) shown.emplace_back(value);
  auto text = to_text(json::object{{"completion", json::object{{"values", shown},
                                                               {"total", values.size()},
                                                               {"hasMore", values.size() > shown.size()}}}});
  text.pop_back();
  return text.append(result_end(version));
}

/// A message of the user, as `prompts/get` gives it.
std::string prompt_result(std::string_view description, std::string text, Version version) {
  json::object message{{"role", "user"},
                       {"content", json::object{{"type", "text"}, {"text", std::move(text)}}}};
  auto body =
      to_text(json::object{{"description", description}, {"messages", json::array{std::move(message)}}});
  body.pop_back();
  return body.append(result_end(version));
}

/// A message of the user's is obeyed, so what another agent wrote is no part of its own words.
std::string resume_text(const json::object& handoff) {
  auto quoted = edges::quoted_handoff(handoff);
  if (quoted.size() > max_quoted_bytes)
    quoted = std::string(cut_at_character(quoted, max_quoted_bytes)) + "…\n(cut; see read_handoff)\n";
  return fmt::format(
      "Continue the work that {} handed over at {}. {}\n\n{}\nCall register_session, check that the files "
      "are as described, call acquire_lock for the files that you will edit, and continue with the open "
      "work. Call write_handoff before you finish.",
      edges::note(text_or(handoff, "written_by", text_or(handoff, "agent_name", "?"))),
      edges::note(text_or(handoff, "created_at", "?")), edges::quoted_lines_are, quoted);
}

std::string plan_text(std::string_view goal) {
  return fmt::format(
      "Split this goal into work items that several agents can do at the same time:\n\n{}\n\nFor each item "
      "call submit_work with a task_type, a self-contained description, a priority (1 is the most urgent) "
      "and depends_on for the items that must be completed before it. Add a verify command where a program "
      "can check the result. Call list_work first and do not submit work that already exists.",
      goal);
}

}  // namespace

void Server::call_tool(Request request, Answer answer) {
  auto& params = request.message.params;
  auto name = text_or(params, "name");
  const auto* operation = find_tool(name);
  if (!operation) return answer.error(bad_params(fmt::format("unknown tool: {}", name.substr(0, 200))));
  json::object input;
  if (auto* arguments = params.if_contains("arguments"); arguments && !arguments->is_null()) {
    if (!arguments->is_object()) return answer.error(bad_params("arguments must be an object"));
    input = std::move(arguments->get_object());
  }
  auto wait = wait_of(*operation, input, is_prolonged(request.progress_token, *request.call));
  bool waits = wait.seconds > 0;
  if (waits && waiting_ >= max_waiting)
    return answer.error({is_modern(request.version) ? internal_error : overloaded,
                         fmt::format("{} calls are already pending", max_waiting)});
  if (wait.is_open) input["wait_seconds"] = wait.seconds;
  used_ = true;
  auto id = answer.id();
  auto& sink = answer.sink();
  ToolCall call{*operation, std::move(input), std::move(request), wait};
  auto way = &Server::run_tool;
  if (waits && call.request.takes_tasks && can_be_task(operation->name))
    way = &Server::run_as_task;
  else if (waits && is_elicited(call, sink))
    way = is_modern(call.request.version) ? &Server::run_asking_in_rounds : &Server::run_asking;
  start_call(std::move(id), sink, waits, (this->*way)(std::move(call), std::move(answer)));
}

Task<void> Server::run_tool(ToolCall call, Answer answer) {
  auto& [operation, input, request, wait] = call;
  Ticker ticker(loop_, answer.sink(), request.progress_token, operation.title, wait);
  SignsOfLife signs(loop_, backend_, *request.call, wait);
  auto reply = co_await backend_.call(operation, std::move(request.call), std::move(input));
  answer.result(tell_tool(operation, reply, request, answer));
}

std::string Server::tell_tool(const api::Operation& operation, const Result<api::Reply>& reply,
                              const Request& request, Answer& answer) {
  if (reply) {
    bool is_error = reply->status() == 400 || reply->status() == 404;
    if (is_error) answer.tool_failed();
    return tool_result(reply->text(), is_error, request.version);
  }
  answer.tool_failed();
  if (reply.error().code == Code::session_expired)
    say(answer.sink(), &request, "warning", "this agent session has expired: call register_session");
  // An agent reads `success` first, whatever the tool.
  auto told = api::error_reply(operation, reply.error());
  if (!told.contains("success")) told["success"] = false;
  return tool_result(to_text(told), true, request.version);
}

Task<void> Server::run(Work work, Request request, Answer answer) {
  auto result = co_await (this->*work)(std::move(request));
  if (result)
    answer.result(*result);
  else
    answer.error(result.error());
}

Task<std::expected<std::vector<std::string>, RpcError>> Server::offered(const std::vector<Offer>& all,
                                                                        const api::Call& call) {
  std::vector<std::string> texts;
  for (const auto& offer : all) {
    auto allowed = co_await backend_.may_call(*offer.row, call);
    if (allowed)
      texts.push_back(offer.text);
    else if (allowed.error().code != Code::forbidden)
      // A short list would look like the answer, and be kept: rather none.
      co_return std::unexpected(unavailable(allowed.error()));
  }
  co_return texts;
}

Task<Server::RpcResult> Server::list_tools(Request request) {
  auto texts = co_await offered(tools(request.version), *request.call);
  if (!texts) co_return std::unexpected(texts.error());
  co_return list_page("tools", *texts, request.message.params, request.version);
}

Task<Server::RpcResult> Server::list_templates(Request request) {
  auto texts = co_await offered(resource_templates(), *request.call);
  if (!texts) co_return std::unexpected(texts.error());
  co_return list_page("resourceTemplates", *texts, request.message.params, request.version);
}

Task<Server::RpcResult> Server::list_prompts(Request request) {
  auto texts = co_await offered(prompts(), *request.call);
  if (!texts) co_return std::unexpected(texts.error());
  co_return list_page("prompts", *texts, request.message.params, request.version);
}

/// A read on the way to something else.
Task<Result<json::object>> Server::ask(std::string_view operation, Boxed<api::Call> call,
                                       json::object input) {
  const auto* row = api::find_operation(operation);
  CRU_ASSERT(row != nullptr);
  call->request_id.clear();
  auto reply = co_await backend_.call(*row, std::move(call), std::move(input));
  if (!reply) co_return fail(reply.error());
  auto value = parse_json(reply->text());
  if (!value || !value->is_object()) co_return fail(Code::internal, "the reply is not an object");
  co_return std::move(value->get_object());
}

/// The fixed resources, the latest handoffs and the most urgent work.
Task<Server::RpcResult> Server::list_resources(Request request) {
  auto fixed = co_await offered(fixed_resources(), *request.call);
  if (!fixed) co_return std::unexpected(fixed.error());
  auto items = *std::move(fixed);
  auto add = [&](const Result<json::object>& reply, std::string_view list, auto describe) {
    const auto* entries = reply ? array_at(*reply, list) : nullptr;
    for (size_t i = 0; entries && i < entries->size(); ++i)
      if (const auto* entry = (*entries)[i].if_object()) items.push_back(to_text(describe(*entry)));
  };
  auto resource = [](std::string_view kind, std::string_view id, std::string name) {
    return json::object{
        {"uri", fmt::format("{}://{}", kind, id)}, {"name", name}, {"mimeType", "application/json"}};
  };
  add(co_await ask("list_handoffs", request.call, {{"limit", 20}}), "handoffs",
      [&](const json::object& entry) {
        return resource(
            "handoffs", text_or(entry, "id"),
            fmt::format("handoff of {}, {}", text_or(entry, "written_by", text_or(entry, "agent_name")),
                        text_or(entry, "created_at")));
      });
  add(co_await ask("list_work", request.call, {{"status", "pending"}, {"limit", 100}}), "work",
      [&](const json::object& entry) {
        return resource("work", text_or(entry, "task_id"),
                        fmt::format("{} {}", text_or(entry, "task_type"), text_or(entry, "task_id")));
      });
  co_return list_page("resources", items, request.message.params, request.version);
}

Task<Server::RpcResult> Server::read_resource(Request request) {
  std::string uri(text_or(request.message.params, "uri"));
  auto missing = [&] {
    return std::unexpected(RpcError{is_modern(request.version) ? invalid_params : resource_not_found,
                                    "unknown resource",
                                    json::object{{"uri", std::string_view(uri).substr(0, 4096)}}});
  };
  auto wanted = resource_call(uri);
  if (!wanted.operation) co_return missing();
  request.call->request_id.clear();
  auto reply = co_await backend_.call(*wanted.operation, request.call, std::move(wanted.input));
  if (!reply) {
    auto code = reply.error().code;
    // Who asks is at fault, not what is asked for.
    if (reply.error().field == "Cru-Agent-Id")
      co_return std::unexpected(RpcError{invalid_params, reply.error().message, cru::to_json(reply.error())});
    if (code == Code::not_found || code == Code::invalid_argument) co_return missing();
    co_return std::unexpected(unavailable(reply.error()));
  }
  if (reply->status() == 404 || reply->status() == 400) co_return missing();
  std::string out = R"({"contents":[{"uri":)";
  append_json_string(out, uri);
  out += R"(,"mimeType":"application/json","text":)";
  append_json_string(out, reply->text());
  out += "}]";
  out += fresh_end(request.version);
  co_return out;
}

Task<Server::RpcResult> Server::get_prompt(Request request) {
  const auto& params = request.message.params;
  auto name = text_or(params, "name");
  const auto* given = object_at(params, "arguments");
  const json::object none;
  const auto& arguments = given ? *given : none;
  for (const auto& argument : arguments)
    if (!argument.value().is_string())
      co_return std::unexpected(
          bad_params(fmt::format("{} must be a string", std::string_view(argument.key()))));
  const auto* row = prompt_row(name);
  if (!row) co_return std::unexpected(bad_params(fmt::format("unknown prompt: {}", name.substr(0, 200))));
  if (auto allowed = co_await backend_.may_call(*row, *request.call); !allowed)
    co_return std::unexpected(bad_params(allowed.error().message));
  if (name == "plan_work") {
    auto goal = text_or(arguments, "goal");
    if (goal.empty()) co_return std::unexpected(bad_params("goal is missing"));
    co_return prompt_result("Split a goal into work items", plan_text(goal), request.version);
  }
  json::object input{{"limit", 1}, {"empty", false}};
  std::string agent(text_or(arguments, "agent_name"));
  if (!agent.empty()) input["agent_name"] = agent;
  auto found = co_await ask("read_handoff", request.call, input);
  const auto* handoffs = found ? array_at(*found, "handoffs") : nullptr;
  // Nothing of one's own: whoever was here last.
  if (handoffs && handoffs->empty() && agent.empty()) {
    found = co_await ask("list_handoffs", request.call, {{"limit", 1}, {"empty", false}});
    handoffs = found ? array_at(*found, "handoffs") : nullptr;
  }
  if (!found) co_return std::unexpected(unavailable(found.error()));
  const auto* handoff = handoffs && !handoffs->empty() ? handoffs->front().if_object() : nullptr;
  co_return prompt_result(
      "Continue from the latest handoff",
      handoff ? resume_text(*handoff)
              : "There is no handoff. Call register_session, check list_work and check_locks, and start.",
      request.version);
}

/// One member of every entry of a list.
Task<std::vector<std::string>> Server::known(std::string_view operation, json::object input, std::string list,
                                             std::string member, Boxed<api::Call> call) {
  std::vector<std::string> values;
  auto reply = co_await ask(operation, std::move(call), std::move(input));
  const auto* entries = reply ? array_at(*reply, list) : nullptr;
  for (size_t i = 0; entries && i < entries->size(); ++i)
    if (const auto* entry = (*entries)[i].if_object())
      if (auto value = text_or(*entry, member); !value.empty()) values.emplace_back(value);
  co_return values;
}

Task<Server::RpcResult> Server::complete(Request request) {
  const auto& params = request.message.params;
  const auto* ref = object_at(params, "ref");
  const auto* argument = object_at(params, "argument");
  if (!ref || !argument) co_return std::unexpected(bad_params("ref and argument are required"));
  auto type = text_or(*ref, "type");
  auto name = text_or(*argument, "name");
  std::string typed(text_or(*argument, "value"));
  std::vector<std::string> values;
  if (type == "ref/prompt") {
    auto prompt = text_or(*ref, "name");
    if (!prompt_row(prompt))
      co_return std::unexpected(bad_params(fmt::format("unknown prompt: {}", prompt.substr(0, 200))));
    if (prompt == "resume_from_handoff" && name == "agent_name") {
      values = co_await known("list_handoffs", {{"limit", 1000}}, "handoffs", "agent_name", request.call);
      auto agents = co_await known("discover_agents", {}, "agents", "agent_id", request.call);
      values.insert(values.end(), agents.begin(), agents.end());
    }
  } else if (type == "ref/resource") {
    auto uri = text_or(*ref, "uri");
    if (uri == "work://{task_id}") {
      if (name == "task_id")
        values = co_await known("list_work", {{"limit", 1000}}, "work", "task_id", request.call);
    } else if (uri == "handoffs://{id}") {
      if (name == "id")
        values = co_await known("list_handoffs", {{"limit", 1000}}, "handoffs", "id", request.call);
    } else if (uri == "locks://path/{+path}") {
      if (name == "path") values = co_await known("check_locks", {}, "result", "file_path", request.call);
    } else if (!resource_call(uri).operation) {
      co_return std::unexpected(bad_params("unknown resource"));
    }
  } else {
    co_return std::unexpected(bad_params("ref must be a ref/prompt or a ref/resource"));
  }
  co_return completion_result(std::move(values), typed, request.version);
}

}  // namespace cru::mcp
