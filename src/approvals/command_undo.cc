#include "approvals/command_undo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cru::approvals {
namespace {

/// Only read, whatever they are given: none of them has an option that writes or runs something.
constexpr std::array<std::string_view, 20> only_read = {
    "basename", "cat", "cmp", "cut", "dirname", "du",   "echo", "false", "grep",  "head",
    "id",       "ls",  "nl",  "pwd", "stat",    "tail", "true", "wc",    "which", "whoami"};

/// A program that destroys or publishes: always, or with one of these words among its own. A word that ends
/// with `*` is the beginning of one.
struct Destroyer {
  std::string_view program;
  std::vector<std::string_view> words;
  std::string_view why;
};
const std::vector<Destroyer>& destroyers() {
  static const std::vector<Destroyer> list = {
      {"rm", {}, "deletes files for good"},
      {"unlink", {}, "deletes files for good"},
      {"shred", {}, "destroys files"},
      {"truncate", {}, "cuts files"},
      {"dd", {}, "overwrites what it is given"},
      {"wipefs", {}, "destroys a file system"},
      {"find", {"-delete"}, "deletes files for good"},
      {"git", {"push"}, "publishes what others may fetch at once"},
      {"git", {"clean", "restore"}, "discards changes that are in no commit"},
      {"git", {"filter-branch", "filter-repo", "prune", "update-ref"}, "rewrites history"},
      {"kubectl", {"delete", "drain", "replace"}, "deletes what runs in a cluster"},
      {"helm", {"uninstall", "delete", "rollback"}, "removes what runs in a cluster"},
      {"terraform", {"destroy", "apply"}, "changes infrastructure"},
      {"tofu", {"destroy", "apply"}, "changes infrastructure"},
      {"pulumi", {"destroy", "up"}, "changes infrastructure"},
      {"docker", {"rm", "rmi", "prune"}, "removes containers, images or volumes"},
      {"podman", {"rm", "rmi", "prune"}, "removes containers, images or volumes"},
      {"npm", {"publish", "unpublish", "deprecate"}, "publishes a package"},
      {"pnpm", {"publish", "unpublish"}, "publishes a package"},
      {"yarn", {"publish"}, "publishes a package"},
      {"cargo", {"publish", "yank"}, "publishes a package"},
      {"gem", {"push", "yank"}, "publishes a package"},
      {"twine", {"upload"}, "publishes a package"},
      {"gh", {"delete", "merge", "publish"}, "changes what others see"},
      {"aws", {"delete*", "terminate*", "rm", "rb", "purge*"}, "deletes in the cloud"},
      {"gcloud", {"delete"}, "deletes in the cloud"},
      {"az", {"delete", "purge"}, "deletes in the cloud"},
      {"curl", {"DELETE", "-XDELETE", "--request=DELETE"}, "deletes at a server"},
      {"redis-cli", {"flushall", "flushdb", "FLUSHALL", "FLUSHDB"}, "empties a database"},
      {"dropdb", {}, "deletes a database"},
      {"crontab", {"-r"}, "deletes the table of timed commands"},
      {"kill", {}, "ends processes"},
      {"pkill", {}, "ends processes"},
      {"killall", {}, "ends processes"},
      {"shutdown", {}, "stops the machine"},
      {"reboot", {}, "stops the machine"},
      {"halt", {}, "stops the machine"},
      {"poweroff", {}, "stops the machine"}};
  return list;
}

bool has_word(std::span<const std::string> words, std::string_view wanted) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return wanted.ends_with('*') ? word.starts_with(wanted.substr(0, wanted.size() - 1)) : word == wanted;
  });
}
bool has_any(std::span<const std::string> words, std::initializer_list<std::string_view> wanted) {
  return std::ranges::any_of(wanted, [&](std::string_view one) { return has_word(words, one); });
}

/// From the verb on: `git -C sub reset --hard` resets.
std::span<const std::string> from_verb(std::span<const std::string> words) {
  while (!words.empty() && words[0].starts_with('-')) {
    bool takes_value = is_one_of(words[0], {"-C", "-c", "--git-dir", "--work-tree", "--namespace"});
    words = words.subspan(takes_value && words.size() > 1 ? 2 : 1);
  }
  return words;
}

/// Of git, what depends on more than the verb.
bool discards(std::span<const std::string> words) {
  auto is = [&](std::string_view verb, std::initializer_list<std::string_view> with) {
    return !words.empty() && words[0] == verb && has_any(words, with);
  };
  return is("reset", {"--hard", "--merge"}) || is("checkout", {"--", ".", "-f", "--force"}) ||
         is("switch", {"-f", "--force", "--discard-changes"}) || is("branch", {"-D", "-d", "--delete"}) ||
         is("tag", {"-d", "--delete"}) || is("stash", {"drop", "clear"}) || is("worktree", {"remove"}) ||
         is("reflog", {"expire", "delete"});
}

/// What this part is known to destroy or publish, in words; empty: nothing is known.
std::string destroyed_by(const Words& part) {
  auto program = program_name(part[0]);
  auto words = std::span(part).subspan(1);
  if (program.starts_with("mkfs")) return fmt::format("{} destroys a file system", program);
  bool is_git = program == "git";
  if (is_git) words = from_verb(words);
  auto looked_at = is_git ? words.first(std::min<size_t>(words.size(), 1)) : words;
  for (const auto& [name, verbs, why] : destroyers())
    if (name == program &&
        (verbs.empty() || std::ranges::any_of(verbs, [&](auto verb) { return has_word(looked_at, verb); })))
      return fmt::format("{} {}", program, why);
  // Of `run` these are mounts.
  if (is_one_of(program, {"docker", "podman", "docker-compose"}) && has_word(words, "down") &&
      has_any(words, {"-v", "--volumes"}))
    return fmt::format("{} removes volumes", program);
  if (is_git && discards(words)) return "git discards what is in no commit";
  if (is_one_of(program,
                {"psql", "mysql", "mariadb", "sqlite3", "duckdb", "mongosh", "sqlcmd", "clickhouse"}))
    for (const auto& word : words)
      if (auto what = destroyed_by_statement(word); !what.empty()) return what;
  return {};
}

}  // namespace

bool is_named_as_system(std::string_view word) {
  return !word.contains('/') || word == "/bin/" + std::string(program_name(word)) ||
         word == "/usr/bin/" + std::string(program_name(word));
}

std::string destroyed_by_statement(std::string_view statement) {
  std::string word, before;
  for (size_t i = 0; i <= statement.size(); ++i) {
    char c = i < statement.size() ? to_upper(statement[i]) : ' ';
    if (is_letter_or_digit(c) || c == '_') {
      word += c;
      continue;
    }
    if (word.empty()) continue;
    if (is_one_of(word, {"DROP", "TRUNCATE", "DROPDATABASE"}))
      return fmt::format("{} deletes data for good", word);
    if (before == "DELETE" && word == "FROM") return "DELETE deletes data for good";
    before = std::exchange(word, {});
  }
  return {};
}

UndoVerdict judge_undo(const CommandParts& command,
                       const std::function<bool(std::string_view word)>& is_system) {
  for (const auto& [part, is_mentioned] : command.possible)
    if (auto what = is_mentioned || part.empty() ? std::string() : destroyed_by(part); !what.empty())
      return {Undo::irreversible, std::move(what)};
  bool reads =
      command.is_certain() && std::ranges::all_of(command.parts, [&](const Words& part) {
        return std::ranges::find(only_read, program_name(part[0])) != only_read.end() && is_system(part[0]);
      });
  if (!reads) return {Undo::unknown, "it is not known what the command does"};
  return {Undo::reversible, command.parts.size() == 1
                                ? fmt::format("{} only reads", program_name(command.parts[0][0]))
                                : "its commands only read"};
}

}  // namespace cru::approvals
