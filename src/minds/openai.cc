#include "minds/openai.h"

#include <fmt/format.h>

namespace cru::minds {
namespace {

constexpr size_t max_uses = 1000;

json::object assistant_message(const Message& message) {
  json::object out{{"role", "assistant"}, {"content", valid_utf8(message.text)}};
  if (message.uses.empty()) return out;
  json::array calls;
  for (const auto& use : message.uses)
    calls.push_back(json::object{{"id", use.id},
                                 {"type", "function"},
                                 {"function", {{"name", use.name}, {"arguments", to_text(use.input)}}}});
  out["tool_calls"] = std::move(calls);
  return out;
}

void add_message(json::array& messages, const Message& message) {
  if (message.role == Message::Role::assistant) {
    if (!is_blank(message.text) || !message.uses.empty()) messages.push_back(assistant_message(message));
    return;
  }
  for (const auto& result : message.results)
    messages.push_back(
        json::object{{"role", "tool"},
                     {"tool_call_id", result.id},
                     {"content", (result.is_error ? "Error: " : "") + valid_utf8(result.text)}});
  if (!is_blank(message.text))
    messages.push_back(json::object{{"role", "user"}, {"content", valid_utf8(message.text)}});
}

/// In Anthropic's words, which are ours.
std::string_view to_stop_reason(std::string_view reason) {
  if (reason == "stop") return "end_turn";
  if (reason == "tool_calls" || reason == "function_call") return "tool_use";
  if (reason == "length") return "max_tokens";
  if (reason == "content_filter") return "refusal";
  return reason;
}

}  // namespace

json::object to_openai(const Request& request, bool is_openai_itself) {
  json::object out{
      {"model", request.model.id},
      {is_openai_itself ? "max_completion_tokens" : "max_tokens", request.model.max_output_tokens},
      {"stream", true},
      {"stream_options", {{"include_usage", true}}}};
  json::array messages;
  if (!is_blank(request.system))
    messages.push_back(json::object{{"role", "system"}, {"content", valid_utf8(request.system)}});
  for (const auto& message : request.messages) add_message(messages, message);
  out["messages"] = std::move(messages);
  if (request.tools.empty()) return out;
  json::array tools;
  for (const auto& tool : request.tools)
    tools.push_back(json::object{{"type", "function"},
                                 {"function",
                                  {{"name", tool.name},
                                   {"description", valid_utf8(tool.description)},
                                   {"parameters", schema_of(tool)}}}});
  out["tools"] = std::move(tools);
  return out;
}

Result<std::string> OpenaiBuilder::take(const SseEvent& event) {
  if (event.data == "[DONE]") {
    has_ended_ = true;
    return std::string();
  }
  auto parsed = parse_json(event.data);
  if (!parsed || !parsed->is_object()) return invalid_reply("an event is not a JSON object");
  const auto& data = parsed->get_object();
  if (const auto* error = data.if_contains("error"); error && !error->is_null()) {
    const auto* object = error->if_object();
    return fail(trouble_from(provider_, object ? text_or(*object, "type", "api_error") : "api_error",
                             object ? text_or(*object, "message") : text_or(data, "error"))
                    .error);
  }
  if (auto model = text_or(data, "model"); !model.empty()) reply_.model_version = model;
  if (const auto* usage = object_at(data, "usage")) count(*usage);
  const auto* choices = array_at(data, "choices");
  const auto* choice = choices && !choices->empty() ? choices->front().if_object() : nullptr;
  if (!choice) return std::string();  // the one that counts
  has_begun_ = true;
  if (auto reason = text_or(*choice, "finish_reason"); !reason.empty()) {
    reply_.stop_reason = to_stop_reason(reason);
    has_ended_ = true;  // some servers leave out [DONE]
  }
  const auto* delta = object_at(*choice, "delta");
  if (!delta) return std::string();
  if (const auto* calls = array_at(*delta, "tool_calls"))
    if (auto grown = grow_uses(*calls); !grown) return fail(std::move(grown.error()));
  std::string text(text_or(*delta, "content"));
  reply_.message.text += text;
  return text;
}

Result<> OpenaiBuilder::grow_uses(const json::array& calls) {
  for (const auto& item : calls) {
    const auto* call = item.if_object();
    if (!call) return invalid_reply("a tool call is not an object");
    if (uses_.size() >= max_uses) return invalid_reply("too many tool calls");
    // Without an index, an id begins a new one and anything else goes on with the last.
    auto last = uses_.empty() ? 0 : uses_.rbegin()->first;
    auto next = text_or(*call, "id").empty() || uses_.empty() ? last : last + 1;
    auto index = int_or(*call, "index", std::min<int64_t>(next, 1'000'000));
    auto& use = uses_[index];
    if (auto id = text_or(*call, "id"); !id.empty()) use.id = id;
    if (const auto* function = object_at(*call, "function")) {
      use.name += text_or(*function, "name");
      use.input += text_or(*function, "arguments");
      // Some servers give the arguments as they are.
      if (const auto* whole = object_at(*function, "arguments")) use.input += to_text(*whole);
    }
  }
  return {};
}

void OpenaiBuilder::count(const json::object& usage) {
  const auto* details = object_at(usage, "prompt_tokens_details");
  auto prompt = tokens_or(usage, "prompt_tokens", reply_.usage.input + reply_.usage.cache_read);
  reply_.usage.cache_read = details ? std::min(tokens_or(*details, "cached_tokens"), prompt) : 0;
  reply_.usage.input = prompt - reply_.usage.cache_read;
  reply_.usage.output = tokens_or(usage, "completion_tokens", reply_.usage.output);
}

Result<Reply> OpenaiBuilder::finish() {
  if (!has_begun_) return invalid_reply("it contains no message");
  if (!has_ended_) return cut_reply();
  reply_.message.role = Message::Role::assistant;
  std::vector<PartialUse> partial;
  for (auto& [index, use] : uses_) {
    if (use.id.empty()) use.id = fmt::format("call-{:016x}-{}", chance_, index);
    partial.push_back(std::move(use));
  }
  auto uses = finish_uses(partial, reply_.stop_reason == "max_tokens");
  if (!uses) return fail(std::move(uses.error()));
  reply_.message.uses = *std::move(uses);
  // Some servers say "stop" although they call.
  if (!reply_.message.uses.empty()) reply_.stop_reason = "tool_use";
  return std::move(reply_);
}

}  // namespace cru::minds
