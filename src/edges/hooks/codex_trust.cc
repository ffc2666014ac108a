#include "edges/hooks/codex_trust.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "edges/hooks/codex_found.h"

namespace cru::hooks {
namespace {

/// "PreToolUse" → "pre_tool_use".
std::string label_of(std::string_view event) {
  std::string out;
  for (char c : event) {
    if (c != to_lower(c) && !out.empty()) out += '_';
    out += to_lower(c);
  }
  return out;
}

/// The hash by which Codex knows a hook: of what it says, as JSON with sorted keys
/// (codex-rs/hooks/src/engine/discovery.rs).
std::string hash_of(const CodexHook& hook) {
  const auto& handler = *hook.handler;
  auto is_true = [&](const char* name) {
    const auto* value = handler.member(name);
    return value && value->text == "true";
  };
  const auto* timeout = handler.member("timeout");
  auto seconds = timeout ? parse_json(timeout->text) : Result<json::value>(json::value(600));
  json::object command{{"async", is_true("async")}, {"command", handler.text_of("command")}};
  if (auto message = handler.text_of("statusMessage"); !message.empty()) command["statusMessage"] = message;
  command["timeout"] = seconds ? *seconds : json::value(nullptr);
  command["type"] = "command";
  json::object identity{{"event_name", label_of(hook.event())}, {"hooks", json::array{std::move(command)}}};
  bool has_matcher = hook.event() != "UserPromptSubmit" && hook.event() != "Stop";
  if (const auto* matcher = hook.group->member("matcher"); matcher && has_matcher)
    identity["matcher"] = matcher->text;
  return "sha256:" + sha256(to_text(identity));
}

}  // namespace

Result<CodexTrust> trust_in_codex(const FileText& text, std::span<const std::string> paths) {
  auto root = find_toml_places(text.value_or(""));
  if (!root) return fail(root.error());
  const auto* all = root->member("hooks");
  const auto* states = all ? all->member("state") : nullptr;
  CodexTrust trust;
  if (const auto* features = root->member("features"))
    for (const char* name : {"hooks", "codex_hooks"})
      if (const auto* feature = features->member(name)) trust.all_off = feature->text == "false";
  for (const auto& hook : own_hooks(*root)) {
    ++trust.hooks;
    const TomlPlace* state = nullptr;
    for (const auto& path : paths)
      if (!state && states)
        state = states->member(fmt::format("{}:{}:{}:{}", path, label_of(hook.event()), hook.g, hook.h));
    auto trusted = state ? state->text_of("trusted_hash") : std::string_view();
    const auto* enabled = state ? state->member("enabled") : nullptr;
    if (enabled && enabled->text == "false")
      ++trust.off;
    else if (trusted.empty())
      ++trust.untrusted;
    else if (trusted != hash_of(hook))
      ++trust.changed;
  }
  return trust;
}

std::string what_is_wrong(const CodexTrust& trust) {
  if (trust.all_off) return "hooks are turned off in Codex: features.hooks = false";
  auto waiting = trust.untrusted + trust.changed;
  if (waiting > 0)
    return fmt::format("Codex does not run {} of cru's {} hooks, because you have not trusted {}", waiting,
                       trust.hooks, trust.changed == waiting ? "them since they changed" : "them yet");
  if (trust.off > 0)
    return fmt::format("{} of cru's {} hooks are turned off in Codex", trust.off, trust.hooks);
  return {};
}

std::string_view how_to_trust() {
  return "start codex and choose \"Trust all and continue\" when it says \"Hooks need review\", or type "
         "/hooks "
         "and press t; codex exec does not ask";
}

}  // namespace cru::hooks
