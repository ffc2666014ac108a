// The lines of `codex exec --json` and of `gemini --output-format stream-json`.
#include <fmt/format.h>

#include "minds/program_lines.h"

namespace cru::minds {
namespace {

json::object object_or_empty(const json::object& data, std::string_view key) {
  const auto* found = object_at(data, key);
  return found ? *found : json::object();
}

ProgramEvent tool(std::string name, json::object input) {
  return {.kind = ProgramEvent::Kind::tool, .text = std::move(name), .input = std::move(input)};
}

class CodexReader final : public JsonLinesReader {
 public:
  CodexReader() { reply_.reports_heard.emplace(); }
  std::vector<ProgramEvent> read_object(std::string_view type, const json::object& data) override {
    if (type == "thread.started") reply_.resume = text_or(data, "thread_id");
    if (type == "item.started") return read_start(object_or_empty(data, "item"));
    if (type == "item.completed") return read_end(object_or_empty(data, "item"));
    if (type == "turn.completed") {
      ended_ = true;
      failure_.reset();
      count(object_or_empty(data, "usage"));
      replies_ = std::max<int64_t>(replies_, 1);
    }
    if (type == "turn.failed" || type == "error") {
      auto error = object_or_empty(data, "error");
      auto words = std::string(text_or(error, "message", text_or(data, "message")));
      fail_with(type_of_words(words), words);
    }
    return {};
  }

 private:
  static std::vector<ProgramEvent> read_start(const json::object& item) {
    auto type = text_or(item, "type");
    if (type == "command_execution") return {tool("shell", {{"command", text_or(item, "command")}})};
    if (type == "mcp_tool_call")
      return {tool(fmt::format("mcp__{}__{}", text_or(item, "server"), text_or(item, "tool")),
                   object_or_empty(item, "arguments"))};
    if (type == "web_search") return {tool("web_search", {{"query", text_or(item, "query")}})};
    return {};
  }

  std::vector<ProgramEvent> read_end(const json::object& item) {
    auto type = text_or(item, "type");
    if (type == "file_change") {
      const auto* changes = array_at(item, "changes");
      return {tool("file_change", {{"changes", changes ? *changes : json::array()}})};
    }
    if (type == "mcp_tool_call") hear_result(object_or_empty(item, "result"));
    if (type != "agent_message") return {};
    reply_.message.text = text_or(item, "text");  // the last is the answer
    ++replies_;
    return say(reply_.message.text);
  }

  /// Of a call that failed or was given up there is none.
  void hear_result(const json::object& result) {
    const auto* parts = array_at(result, "content");
    for (const auto& part : parts ? *parts : json::array())
      if (part.is_object()) hear(text_or(part.get_object(), "text"));
  }

  void count(const json::object& usage) {
    auto cached = tokens_or(usage, "cached_input_tokens"),
         written = tokens_or(usage, "cache_write_input_tokens");
    auto input = tokens_or(usage, "input_tokens");
    reply_.usage = {input >= cached ? input - cached : input, tokens_or(usage, "output_tokens"), cached,
                    written};
  }
};

class GeminiReader final : public JsonLinesReader {
 public:
  std::vector<ProgramEvent> read_object(std::string_view type, const json::object& data) override {
    if (type == "init") {
      reply_.resume = text_or(data, "session_id");
      reply_.model_version = text_or(data, "model");
    }
    if (type == "message" && text_or(data, "role") == "assistant") return read_message(data);
    if (type == "tool_use") {
      begins_ = true;
      return {tool(std::string(text_or(data, "tool_name")), object_or_empty(data, "parameters"))};
    }
    if (type == "error" && text_or(data, "severity") == "error")
      fail_with(type_of_words(text_or(data, "message")), std::string(text_or(data, "message")));
    if (type == "result") read_result(data);
    return {};
  }

 private:
  std::vector<ProgramEvent> read_message(const json::object& data) {
    auto text = text_or(data, "content");
    // After a tool, or where it is no piece, a new text begins: the last is the answer.
    bool fresh = std::exchange(begins_, false) || !bool_or(data, "delta");
    if (fresh) {
      reply_.message.text.clear();
      ++replies_;
    }
    reply_.message.text += text;
    if (fresh) return say(text);
    return {{.text = std::string(text)}};
  }

  void read_result(const json::object& data) {
    ended_ = true;
    replies_ = std::max<int64_t>(replies_, 1);
    auto stats = object_or_empty(data, "stats");
    auto cached = tokens_or(stats, "cached");
    auto input = tokens_or(stats, "input_tokens");
    reply_.usage = {input >= cached ? input - cached : input, tokens_or(stats, "output_tokens"), cached, 0};
    if (text_or(data, "status", "success") == "success") {
      failure_.reset();
      return;
    }
    auto error = object_or_empty(data, "error");
    auto words = std::string(text_or(error, "message"));
    if (!words.empty() || !failure_) fail_with(type_of_words(words), words);
  }

  bool begins_ = true;
};

}  // namespace

std::unique_ptr<ProgramReader> codex_reader() { return std::make_unique<CodexReader>(); }
std::unique_ptr<ProgramReader> gemini_reader() { return std::make_unique<GeminiReader>(); }

}  // namespace cru::minds
