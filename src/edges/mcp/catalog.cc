#include "edges/mcp/catalog.h"

#include <fmt/format.h>

#include <charconv>

#include "base/id.h"
#include "edges/mcp/long_task.h"
#include "platform/net/http/message.h"

namespace cru::mcp {
namespace {

constexpr std::string_view guidance =
    "cru coordinates the agents that work on this project. Start with register_session, then call "
    "read_handoff with empty=false to read what the previous session left. Before you edit a file, call "
    "acquire_lock; if another agent "
    "holds the lock, wait with wait_seconds or work on something else. Call release_lock when you are done. "
    "Claim work with get_work and report it with complete_work; pass the fencing_token that you received. "
    "Offer work to others with submit_work. Delegate a task to a specialised agent with spawn_agent "
    "(list_agents lists the agents): it works in its own context and returns a report. semantic_search, "
    "list_notes and read_note read the "
    "project's notes. Store what others should know with remember, and search it with recall. Ask the user "
    "with ask_user, and before you do what cannot be undone call request_approval. Before you finish, call "
    "write_handoff with what is done, what is open and the next "
    "steps.";

json::object without_required(json::object schema) {
  schema.erase("required");
  auto* properties = schema["properties"].if_object();
  json::object all = properties ? *properties : json::object();
  for (std::string_view key : {"error", "message", "field", "hint"})
    if (!all.contains(key)) all[key] = json::object{{"type", "string"}};
  if (!all.contains("success")) all["success"] = json::object{{"type", "boolean"}};
  schema["properties"] = std::move(all);
  return schema;
}

std::string end_text(std::string_view extra) {
  return fmt::format(R"(,{}"resultType":"complete","_meta":{{"{}":{}}}}})", extra, server_info_key,
                     to_text(server_info()));
}

const api::Operation* row_named(std::string_view name) {
  const auto* row = api::find_operation(name);
  CRU_ASSERT(row != nullptr);
  return row;
}

Offer resource(std::string_view row, std::string_view uri, std::string_view name, std::string_view title,
               std::string_view description) {
  return {row_named(row), to_text(json::object{{"uri", uri},
                                               {"name", name},
                                               {"title", title},
                                               {"description", description},
                                               {"mimeType", "application/json"}})};
}

Offer resource_template(std::string_view row, std::string_view uri, std::string_view name,
                        std::string_view description) {
  return {row_named(row), to_text(json::object{{"uriTemplate", uri},
                                               {"name", name},
                                               {"title", name},
                                               {"description", description},
                                               {"mimeType", "application/json"}})};
}

Offer prompt(std::string_view name, std::string_view title, std::string_view description,
             json::object argument) {
  return {prompt_row(name), to_text(json::object{{"name", name},
                                                 {"title", title},
                                                 {"description", description},
                                                 {"arguments", json::array{std::move(argument)}}})};
}

}  // namespace

const api::Operation* find_tool(std::string_view name) {
  const auto* operation = api::find_operation(name);
  return operation && !operation->title.empty() ? operation : nullptr;
}

json::object output_schema(const api::Operation& operation) {
  return without_required(api::reply_schema(operation));
}

json::object describe_tool(const api::Operation& operation, Version version) {
  json::object tool{{"name", operation.name},
                    {"description", operation.summary},
                    {"inputSchema", api::input_schema(operation)}};
  if (version >= Version::v2025_06_18) {
    tool["title"] = operation.title;
    tool["outputSchema"] = output_schema(operation);
  }
  if (version >= Version::v2025_03_26)
    tool["annotations"] = json::object{{"title", operation.title},
                                       {"readOnlyHint", operation.reads_only},
                                       {"destructiveHint", operation.destructive},
                                       {"idempotentHint", operation.idempotent},
                                       {"openWorldHint", false}};
  return tool;
}

const std::vector<Offer>& tools(Version version) {
  // One rendering for each set of fields that a version knows.
  static std::array<std::vector<Offer>, version_names.size()> made;
  auto& all = made[static_cast<size_t>(version)];
  if (all.empty())
    for (const auto& operation : api::operations())
      if (!operation.title.empty()) all.push_back({&operation, to_text(describe_tool(operation, version))});
  return all;
}

json::object server_info() {
  return {{"name", "cru"},
          {"title", "cru"},
          {"version", CRU_VERSION},
          {"description", "Coordination of the agents of one project"}};
}

std::string_view instructions() { return guidance; }

json::object capabilities(Version version) {
  json::object all{{"tools", json::object()},
                   {"resources", json::object{{"subscribe", true}, {"listChanged", true}}},
                   {"prompts", json::object()},
                   {"logging", json::object()}};
  if (version >= Version::v2025_03_26) all["completions"] = json::object();
  if (is_modern(version)) all["extensions"] = json::object{{tasks_extension, json::object()}};
  return all;
}

std::string discover_result() {
  json::array versions;
  for (auto name = version_names.rbegin(); name != version_names.rend(); ++name) versions.emplace_back(*name);
  auto body = to_text(json::object{{"supportedVersions", std::move(versions)},
                                   {"capabilities", capabilities(Version::v2026_07_28)},
                                   {"instructions", guidance}});
  body.pop_back();
  return body.append(public_end(Version::v2026_07_28));
}

std::string initialize_result(Version version) {
  return to_text(json::object{{"protocolVersion", name_of(version)},
                              {"capabilities", capabilities(version)},
                              {"serverInfo", server_info()},
                              {"instructions", guidance}});
}

std::string_view result_end(Version version) {
  static const std::string modern = end_text("");
  return is_modern(version) ? std::string_view(modern) : "}";
}

std::string_view public_end(Version version) {
  static const std::string modern = end_text(R"("ttlMs":300000,"cacheScope":"public",)");
  return is_modern(version) ? std::string_view(modern) : "}";
}

std::string_view list_end(Version version) {
  static const std::string modern = end_text(R"("ttlMs":300000,"cacheScope":"private",)");
  return is_modern(version) ? std::string_view(modern) : "}";
}

std::string_view fresh_end(Version version) {
  static const std::string modern = end_text(R"("ttlMs":0,"cacheScope":"private",)");
  return is_modern(version) ? std::string_view(modern) : "}";
}

std::expected<std::string, RpcError> list_page(std::string_view key, const std::vector<std::string>& items,
                                               const json::object& params, Version version) {
  size_t begin = 0;
  if (const auto* cursor = params.if_contains("cursor")) {
    auto text = cursor->is_string() ? from_base64(cursor->get_string()) : Result<std::string>("");
    std::string_view digits = text ? std::string_view(*text) : "";
    bool ours = digits.starts_with("after ");
    if (ours) digits.remove_prefix(6);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), begin);
    if (!ours || error != std::errc() || end != digits.data() + digits.size() || begin == 0 ||
        begin >= std::max<size_t>(items.size(), 1))
      return std::unexpected(RpcError{invalid_params, "the cursor does not belong to this list"});
  }
  std::string out = fmt::format(R"({{"{}":[)", key);
  size_t stop = std::min(begin + page_size, items.size());
  for (size_t i = begin; i < stop; ++i) {
    if (i > begin) out += ',';
    out += items[i];
  }
  out += ']';
  if (stop < items.size()) {
    out += R"(,"nextCursor":)";
    append_json_string(out, to_base64(fmt::format("after {}", stop)));
  }
  out += list_end(version);
  return out;
}

const std::vector<Offer>& fixed_resources() {
  static const std::vector<Offer> all{
      resource("check_locks", "locks://current", "locks", "Active locks", "All active locks"),
      resource("list_work", "work://pending", "pending work", "Pending work", "Unclaimed work items"),
      resource("list_handoffs", "handoffs://recent", "recent handoffs", "Recent handoffs",
               "The latest handoffs of all agents")};
  return all;
}

const std::vector<Offer>& resource_templates() {
  static const std::vector<Offer> all{
      resource_template("check_locks", "locks://path/{+path}", "Locks on a path",
                        "The locks that cover a path or a glob"),
      resource_template("get_work_item", "work://{task_id}", "Work item", "A work item by id"),
      resource_template("get_handoff", "handoffs://{id}", "Handoff", "A handoff by id")};
  return all;
}

const api::Operation* prompt_row(std::string_view name) {
  if (name == "resume_from_handoff") return row_named("read_handoff");
  if (name == "plan_work") return row_named("submit_work");
  return nullptr;
}

const std::vector<Offer>& prompts() {
  auto argument = [](std::string_view name, std::string_view description, bool required) {
    return json::object{{"name", name}, {"description", description}, {"required", required}};
  };
  static const std::vector<Offer> all{
      prompt("resume_from_handoff", "Resume from a handoff",
             "Continue where an agent stopped, from its latest handoff",
             argument("agent_name", "the agent; default: you", false)),
      prompt("plan_work", "Plan work for several agents",
             "Split a goal into work items that agents can claim", argument("goal", "the goal", true))};
  return all;
}

ResourceCall resource_call(std::string_view uri) {
  auto take = [&](std::string_view prefix) {
    if (!uri.starts_with(prefix) || uri.size() > 4096) return false;
    uri.remove_prefix(prefix.size());
    return true;
  };
  auto row = [](std::string_view name, json::object input) {
    return ResourceCall{api::find_operation(name), std::move(input)};
  };
  if (take("locks://")) {
    if (uri == "current") return row("check_locks", {});
    if (!take("path/") || uri.empty()) return {};
    auto path = http::percent_decode(uri);
    if (!path || path->empty()) return {};
    return row("check_locks", {{"file_paths", json::array{json::string(*path)}}});
  }
  if (take("work://")) {
    if (uri == "pending") return row("list_work", {{"status", "pending"}, {"limit", 100}});
    if (is_task_id(uri)) return row("get_work_item", {{"task_id", uri}});
    return {};
  }
  if (take("handoffs://")) {
    if (uri == "recent") return row("list_handoffs", {{"limit", 20}});
    if (is_task_id(uri)) return row("get_handoff", {{"id", uri}});
  }
  return {};
}

}  // namespace cru::mcp
