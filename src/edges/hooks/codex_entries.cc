// Codex' config.toml. Its format is not read: the block stands at the end, and whatever stands before is
// left.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "edges/hooks/entries.h"

namespace cru::hooks {
namespace {

constexpr std::string_view opening = "# >>> cru >>>\n";
constexpr std::string_view closing = "# <<< cru <<<\n";
constexpr std::string_view joined_line = "# The line break before this block is part of it.\n";
constexpr std::string_view kept_empty = "# The file was there before, and empty.\n";

struct CodexEvent {
  std::string_view name, verb, matcher;
  int timeout;
};
// Codex has no SessionEnd: a session that stops is found by its missing heartbeat.
constexpr std::array<CodexEvent, 5> codex_events = {
    {{"SessionStart", "session-start", "", 5},
     {"UserPromptSubmit", "user-prompt-submit", "", 2},
     {"PreToolUse", "pre-tool-use", "^(Bash|apply_patch)$", 2},
     {"PostToolUse", "post-tool-use", "", 2},
     {"Stop", "stop", "", 2}}};

/// A basic string: TOML reads JSON's escapes.
std::string toml_text(std::string_view text) { return to_text(json::value(text)); }

std::string block_for(const Installation& installation) {
  std::string out = "# Added by: cru hooks install --codex. Removed by: cru hooks uninstall --codex.\n";
  out += fmt::format("[mcp_servers.cru]\ncommand = {}\nargs = [\"mcp\"]\n", toml_text(installation.program));
  for (const auto& event : codex_events) {
    out += fmt::format("\n[[hooks.{}]]\n", event.name);
    if (!event.matcher.empty()) out += fmt::format("matcher = {}\n", toml_text(event.matcher));
    out += fmt::format("[[hooks.{}.hooks]]\ntype = \"command\"\ncommand = {}\ntimeout = {}\n", event.name,
                       toml_text(fmt::format("{} hook {} --codex --user {}", shell_word(installation.program),
                                             event.verb, mark)),
                       event.timeout);
  }
  return out;
}

struct Block {
  size_t begin = 0, end = 0;
};
/// Where our block stands. Errors: invalid_argument if it has a beginning and no end.
Result<std::optional<Block>> find_block(std::string_view text) {
  size_t begin = text.find(opening);
  while (begin != std::string_view::npos && begin > 0 && text[begin - 1] != '\n')
    begin = text.find(opening, begin + 1);
  if (begin == std::string_view::npos) return std::optional<Block>();
  size_t end = text.find(closing, begin);
  if (end == std::string_view::npos) {
    // Somebody's editor may have dropped the last line break.
    auto bare = closing.substr(0, closing.size() - 1);
    if (!text.ends_with(bare))
      return fail(Code::invalid_argument, "the block of cru has no end: \"# <<< cru <<<\" is missing");
    return Block{begin, text.size()};
  }
  return Block{begin, end + closing.size()};
}

/// What in the user's own part would make the block wrong TOML: a key cannot be said twice. Empty if nothing.
std::string contradiction(std::string_view text) {
  std::string table;
  int number = 0;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    auto line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.starts_with('[')) table = line.substr(0, line.find(']') + 1);
    auto key = trim(line.substr(0, line.find('=')));
    auto says = [&](std::string_view what) {
      return fmt::format("line {}: the file already defines {}", number, what);
    };
    if (line.starts_with("[mcp_servers.cru]") || line.starts_with("[mcp_servers.\"cru\"]"))
      return says("[mcp_servers.cru]");
    if (table.empty() && (key == "mcp_servers" || key.starts_with("mcp_servers.cru"))) return says(key);
    if (table == "[mcp_servers]" && (key == "cru" || key.starts_with("cru."))) return says("mcp_servers.cru");
    if (table.empty() && key == "hooks") return says("hooks");
    for (const auto& event : codex_events)
      if ((table == "[hooks]" && key == event.name) ||
          (table.empty() && key == fmt::format("hooks.{}", event.name)))
        return says(fmt::format("hooks.{}", event.name));
  }
  return {};
}

}  // namespace

Result<FileText> add_to_codex(const FileText& before, const Installation& installation) {
  auto clean = take_from_codex(before);
  if (!clean) return clean;
  std::string text = clean->value_or("");
  if (auto why = contradiction(text); !why.empty())
    return fail(Code::conflict, why, {}, "remove that entry first, or keep it and do not install for Codex");
  std::string notes;
  if (*clean && text.empty()) notes += kept_empty;
  if (!text.empty() && !text.ends_with('\n')) {
    text += '\n';
    notes += joined_line;
  }
  text += fmt::format("{}{}{}{}", opening, notes, block_for(installation), closing);
  // The block may stand anywhere, as long as it says the same.
  if (before && before->find(block_for(installation)) != std::string::npos) return before;
  return FileText(std::move(text));
}

Result<FileText> take_from_codex(const FileText& before) {
  if (!before) return before;
  auto block = find_block(*before);
  if (!block) return fail(block.error());
  if (!*block) return before;
  auto [begin, end] = **block;
  auto body = std::string_view(*before).substr(begin + opening.size(), end - begin - opening.size());
  bool has_break = body.starts_with(joined_line) && begin > 0 && end == before->size();
  bool was_there = body.starts_with(kept_empty);
  auto text = before->substr(0, begin - (has_break ? 1 : 0)) + before->substr(end);
  if (text.empty() && !was_there) return FileText();
  return FileText(std::move(text));
}

Result<Installed> in_codex(const FileText& text) {
  if (!text) return Installed::no;
  auto block = find_block(*text);
  if (!block) return fail(block.error());
  return *block ? Installed::yes : Installed::no;
}

}  // namespace cru::hooks
