#include "members/host_program.h"

#include <algorithm>
#include <array>

namespace cru::members {
namespace {

struct Vendor {
  std::string_view name;
  std::string_view package;  ///< a part of the path of its script, as npm installs it
  std::string_view folder;   ///< a part of the path of its executable, which may be called by its version
};
constexpr std::array<Vendor, 3> vendors = {{{"claude", "/@anthropic-ai/claude-code/", "/claude/versions/"},
                                            {"codex", "/@openai/codex/", "/codex/releases/"},
                                            {"gemini", "/@google/gemini-cli/", "/gemini/versions/"}}};
constexpr std::array<std::string_view, 11> interpreters = {
    "node", "nodejs", "bun", "deno", "python3", "python", "sh", "bash", "dash", "zsh", "busybox"};

constexpr std::array<std::string_view, 5> shells = {"sh", "bash", "dash", "zsh", "busybox"};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Options of node, bun and deno that are followed by a value of their own.
constexpr std::array<std::string_view, 14> options_with_value = {"-r",
                                                                 "--require",
                                                                 "--import",
                                                                 "--loader",
                                                                 "--experimental-loader",
                                                                 "-C",
                                                                 "--conditions",
                                                                 "--env-file",
                                                                 "--title",
                                                                 "--icu-data-dir",
                                                                 "--openssl-config",
                                                                 "--redirect-warnings",
                                                                 "--max-http-header-size",
                                                                 "--stack-trace-limit"};
constexpr std::array<std::string_view, 7> text_options = {"-c", "-e", "--eval", "-m", "-p", "--print", "-pe"};

template <size_t N>
bool is_among(const std::array<std::string_view, N>& all, std::string_view word) {
  return std::ranges::find(all, word) != all.end();
}

/// "-lc": a shell's flags may stand together.
bool has_text_flag(std::string_view word) {
  return !word.starts_with("--") && word.find('c') != std::string_view::npos;
}

/// The script that an interpreter runs; empty if it is given a program text or a module.
std::string_view script_of(const std::vector<std::string>& words, bool is_shell) {
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--") return i + 1 < words.size() ? std::string_view(words[i + 1]) : std::string_view();
    if (!words[i].starts_with('-')) return words[i];
    if (is_among(text_options, words[i]) || (is_shell && has_text_flag(words[i]))) return {};
    if (is_among(options_with_value, words[i])) ++i;
  }
  return {};
}

/// "claude", "claude.js", "claude.exe"; neither "claude.md" nor somebody's "claude.sh".
bool is_named(std::string_view text, std::string_view name) {
  constexpr std::array<std::string_view, 5> endings = {".js", ".mjs", ".cjs", ".exe", ".py"};
  return text.starts_with(name) && (text == name || is_among(endings, text.substr(name.size())));
}

}  // namespace

std::optional<std::string> recognise_host(std::string_view program, std::string_view title,
                                          const std::vector<std::string>& words) {
  auto path = program;
  program = file_name(program);
  bool is_interpreter = is_among(interpreters, program);
  auto script = is_interpreter ? script_of(words, is_among(shells, program)) : std::string_view();
  for (const auto& vendor : vendors) {
    // Claude Code gives its process a title, which also replaces its command line.
    bool is_it = title == vendor.name;
    if (is_interpreter)
      is_it = is_it || is_named(file_name(script), vendor.name) ||
              script.find(vendor.package) != std::string::npos;
    else
      is_it = is_it || is_named(program, vendor.name) || path.find(vendor.folder) != std::string_view::npos ||
              (!words.empty() && is_named(file_name(words.front()), vendor.name));
    if (is_it) return std::string(vendor.name);
  }
  return {};
}

}  // namespace cru::members
