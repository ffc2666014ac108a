#include "minds/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "minds/builtin_script.h"

namespace cru::minds {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return std::ranges::search(text, part, [](char a, char b) { return to_lower(a) == to_lower(b); }).begin() !=
             text.end() ||
         part.empty();
}

int64_t turns_before(std::span<const Message> messages) {
  return std::ranges::count(messages, Message::Role::assistant, &Message::role);
}

/// The name of the tool that the last message answers; of the last answer, if there are several.
std::string_view answered_tool(std::span<const Message> messages) {
  if (messages.size() < 2 || messages.back().results.empty()) return {};
  const auto& uses = messages[messages.size() - 2].uses;
  auto use = std::ranges::find(uses, messages.back().results.back().id, &ToolUse::id);
  return use == uses.end() ? std::string_view() : std::string_view(use->name);
}

bool fits(const ScriptCondition& when, std::span<const Message> messages, const std::string& agent) {
  auto words = last_words(messages);
  if (!when.contains.empty() && !contains(words, when.contains)) return false;
  if (!when.pattern.empty() && !matches_glob(when.pattern, words)) return false;
  if (when.turn && *when.turn != turns_before(messages) + 1) return false;
  if (!when.agent.empty() && when.agent != agent) return false;
  return when.after_tool.empty() || when.after_tool == answered_tool(messages);
}

/// The entry for the turn that follows `messages`, marked as used.
const ScriptEntry* choose(const Script& script, std::span<const Message> messages, const std::string& agent,
                          std::set<size_t>& used) {
  for (size_t at = 0; at < script.replies.size(); ++at) {
    const auto& entry = script.replies[at];
    if ((!entry.repeat && used.contains(at)) || !fits(entry.when, messages, agent)) continue;
    used.insert(at);
    return &entry;
  }
  return script.otherwise ? &*script.otherwise : nullptr;
}

struct Placeholders {
  std::string_view task;
  std::string result;
  std::string_view agent;
  std::string seed;
  std::string fill(std::string_view text) const;
};

std::string Placeholders::fill(std::string_view text) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    auto open = text.find("{{", at);
    auto close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) return out.append(text.substr(at));
    out.append(text.substr(at, open - at));
    auto name = text.substr(open + 2, close - open - 2);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name == "task")
      out.append(task);
    else if (name == "result")
      out.append(result);
    else if (name == "agent")
      out.append(agent);
    else if (name == "seed")
      out.append(seed);
    else
      out.append(text.substr(open, close + 2 - open));
    at = close + 2;
  }
  return out;
}

// A script nests 32 levels at most (base/yaml.h), so this does too.
json::value fill(const json::value& value, const Placeholders& words) {
  if (const auto* text = value.if_string()) return json::value(words.fill(*text));
  if (const auto* list = value.if_array()) {
    json::array out;
    for (const auto& item : *list) out.push_back(fill(item, words));
    return out;
  }
  if (const auto* object = value.if_object()) {
    json::object out;
    for (const auto& member : *object) out[member.key()] = fill(member.value(), words);
    return out;
  }
  return value;
}

Placeholders placeholders_of(const Request& request, int64_t seed) {
  Placeholders words{last_words(request.messages), {}, request.agent, std::to_string(seed)};
  if (request.messages.empty()) return words;
  for (const auto& result : request.messages.back().results) {
    if (!words.result.empty()) words.result += "\n";
    words.result += result.text;
  }
  return words;
}

size_t bytes_of(const Message& message) {
  size_t bytes = message.text.size();
  for (const auto& use : message.uses) bytes += use.name.size() + to_text(use.input).size();
  for (const auto& result : message.results) bytes += result.text.size();
  return bytes;
}

/// Splitmix64: the same seed and turn give the same choice, on every machine.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

void finish(ScriptedReply& reply, const Request& request, const ScriptEntry* entry) {
  auto turn = turns_before(request.messages) + 1;
  size_t heard = request.system.size();
  for (const auto& message : request.messages) heard += bytes_of(message);
  size_t said = reply.say.size();
  for (size_t at = 0; at < reply.tools.size(); ++at) {
    auto& use = reply.tools[at];
    said += use.name.size() + to_text(use.input).size();
    use.id = fmt::format("script-{}-{}", turn, at + 1);
  }
  reply.usage.input = entry && entry->input_tokens ? *entry->input_tokens : estimate_tokens(heard);
  reply.usage.output = entry && entry->output_tokens ? *entry->output_tokens : estimate_tokens(said);
}

ScriptedReply to_reply(const ScriptEntry& entry, const Request& request, int64_t seed) {
  auto words = placeholders_of(request, seed);
  auto turn = static_cast<uint64_t>(turns_before(request.messages)) + 1;
  ScriptedReply reply;
  reply.delay = entry.delay;
  reply.pace = entry.pace;
  if (!entry.say.empty())
    reply.say = words.fill(entry.say[mix(static_cast<uint64_t>(seed) ^ mix(turn)) % entry.say.size()]);
  for (const auto& use : entry.tools)
    reply.tools.push_back({{}, use.name, fill(use.input, words).as_object()});
  if (entry.chunk > 0) reply.chunk = entry.chunk;
  reply.failure = entry.fail;
  return reply;
}

}  // namespace

int64_t estimate_tokens(size_t bytes) { return static_cast<int64_t>((bytes + 3) / 4); }

bool matches_glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || to_lower(pattern[p]) == to_lower(text[t]))) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Script builtin_script() {
  Script script;
  script.is_builtin = true;
  return script;
}

Result<ScriptedReply> next_reply(const Script& script, const Request& request, int64_t seed) {
  if (script.is_builtin) {
    auto reply = builtin_reply(request);
    finish(reply, request, nullptr);
    return reply;
  }
  // Earlier turns are chosen again, each from what had been said before it: so it is known what they used.
  std::set<size_t> used;
  std::span messages(request.messages);
  for (size_t at = 0; at < messages.size(); ++at)
    if (messages[at].role == Message::Role::assistant)
      choose(script, messages.first(at), request.agent, used);
  const auto* entry = choose(script, messages, request.agent, used);
  if (!entry)
    return fail(mind_failure("script_failed",
                             fmt::format("the script has no reply for turn {}", turns_before(messages) + 1),
                             "add a reply, or `otherwise:`"));
  auto reply = to_reply(*entry, request, seed);
  finish(reply, request, entry);
  return reply;
}

}  // namespace cru::minds
