#include "minds/anthropic.h"

#include <fmt/format.h>

namespace cru::minds {
namespace {

constexpr size_t max_blocks = 1000;

json::object text_block(std::string_view text) { return {{"type", "text"}, {"text", valid_utf8(text)}}; }

/// Empty texts are refused by the API, and so is a message without content.
json::array to_content(const Message& message) {
  json::array content;
  for (const auto& result : message.results)
    content.push_back(json::object{{"type", "tool_result"},
                                   {"tool_use_id", result.id},
                                   {"content", is_blank(result.text) ? "(empty)" : valid_utf8(result.text)},
                                   {"is_error", result.is_error}});
  if (!is_blank(message.text)) content.push_back(text_block(message.text));
  for (const auto& use : message.uses)
    content.push_back(
        json::object{{"type", "tool_use"}, {"id", use.id}, {"name", use.name}, {"input", use.input}});
  return content;
}

json::array to_tools(const std::vector<ToolSpec>& tools) {
  json::array out;
  for (const auto& tool : tools)
    out.push_back(json::object{{"name", tool.name},
                               {"description", valid_utf8(tool.description)},
                               {"input_schema", schema_of(tool)}});
  return out;
}

}  // namespace

json::object to_anthropic(const Request& request) {
  const json::object cached{{"type", "ephemeral"}};
  json::object out{
      {"model", request.model.id}, {"max_tokens", request.model.max_output_tokens}, {"stream", true}};
  if (!is_blank(request.system)) {
    auto system = text_block(request.system);
    system["cache_control"] = cached;
    out["system"] = json::array{std::move(system)};
  }
  json::array messages;
  for (const auto& message : request.messages) {
    auto content = to_content(message);
    if (content.empty()) continue;
    messages.push_back(json::object{{"role", message.role == Message::Role::user ? "user" : "assistant"},
                                    {"content", content}});
  }
  out["messages"] = std::move(messages);
  if (!request.tools.empty()) {
    auto tools = to_tools(request.tools);
    tools.back().as_object()["cache_control"] = cached;
    out["tools"] = std::move(tools);
  }
  return out;
}

Result<std::string> AnthropicBuilder::take(const SseEvent& event) {
  auto parsed = parse_json(event.data);
  if (!parsed || !parsed->is_object()) return invalid_reply("an event is not a JSON object");
  const auto& data = parsed->get_object();
  auto type = text_or(data, "type", event.type);
  if (type == "error") {
    const auto* error = object_at(data, "error");
    return fail(trouble_from("anthropic", error ? text_or(*error, "type") : "api_error",
                             error ? text_or(*error, "message") : "")
                    .error);
  }
  if (type == "message_start") {
    has_begun_ = true;
    if (const auto* message = object_at(data, "message")) {
      reply_.model_version = text_or(*message, "model");
      if (const auto* usage = object_at(*message, "usage")) count(*usage);
    }
  } else if (type == "content_block_start") {
    return start_block(data);
  } else if (type == "content_block_delta") {
    return grow_block(data);
  } else if (type == "message_delta") {
    if (const auto* delta = object_at(data, "delta"))
      if (auto reason = text_or(*delta, "stop_reason"); !reason.empty()) reply_.stop_reason = reason;
    if (const auto* usage = object_at(data, "usage")) count(*usage);
  } else if (type == "message_stop") {
    has_ended_ = true;
  }
  return std::string();  // ping, and whatever comes with later versions
}

/// Numbers are totals, each time: what is named replaces what was known.
void AnthropicBuilder::count(const json::object& usage) {
  auto& known = reply_.usage;
  known.input = tokens_or(usage, "input_tokens", known.input);
  known.output = tokens_or(usage, "output_tokens", known.output);
  known.cache_read = tokens_or(usage, "cache_read_input_tokens", known.cache_read);
  known.cache_write = tokens_or(usage, "cache_creation_input_tokens", known.cache_write);
}

Result<std::string> AnthropicBuilder::start_block(const json::object& data) {
  const auto* block = object_at(data, "content_block");
  if (!block || !has_begun_) return invalid_reply("a block without a message");
  if (blocks_.size() >= max_blocks) return invalid_reply("too many blocks");
  auto [place, is_new] = blocks_.try_emplace(int_or(data, "index"));
  if (!is_new) return invalid_reply("a block starts twice");
  auto& fresh = place->second;
  if (text_or(*block, "type") == "tool_use")
    fresh.use = {std::string(text_or(*block, "id")), std::string(text_or(*block, "name")), {}};
  fresh.text = text_or(*block, "text");
  return fresh.text;
}

Result<std::string> AnthropicBuilder::grow_block(const json::object& data) {
  auto block = blocks_.find(int_or(data, "index"));
  const auto* delta = object_at(data, "delta");
  if (block == blocks_.end() || !delta) return invalid_reply("a part of a block that did not start");
  auto type = text_or(*delta, "type");
  if (type == "input_json_delta" && block->second.use)
    block->second.use->input += text_or(*delta, "partial_json");
  if (type != "text_delta") return std::string();  // thinking is its own business
  block->second.text += text_or(*delta, "text");
  return std::string(text_or(*delta, "text"));
}

Result<Reply> AnthropicBuilder::finish() {
  if (!has_begun_) return invalid_reply("it contains no message");
  if (!has_ended_) return cut_reply();
  reply_.message.role = Message::Role::assistant;
  std::vector<PartialUse> partial;
  for (auto& [index, block] : blocks_) {
    reply_.message.text += block.text;
    if (block.use) partial.push_back(std::move(*block.use));
  }
  auto uses = finish_uses(partial, reply_.stop_reason == "max_tokens");
  if (!uses) return fail(std::move(uses.error()));
  reply_.message.uses = *std::move(uses);
  return std::move(reply_);
}

}  // namespace cru::minds
