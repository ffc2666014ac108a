#include "guardrails/guardrail_commands.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "guardrails/guardrail_paths.h"

namespace cru::coordination {
namespace {

using Words = std::span<const ShellWord>;

bool has_word(Words words, std::string_view text) {
  return std::ranges::any_of(words, [&](const ShellWord& word) { return word.text == text; });
}

/// The sub-command and what follows it. Options before it, and the values of `takes_value`, are gone over.
Words after_options(Words words, std::initializer_list<std::string_view> takes_value) {
  size_t i = 0;
  while (i < words.size() && words[i].text.starts_with('-'))
    i += is_one_of(words[i].text, takes_value) ? 2 : 1;
  return words.subspan(std::min(i, words.size()));
}

bool is_main_branch(std::string_view name) {
  return is_one_of(name, {"main", "master", "trunk", "develop", "development", "production", "release"}) ||
         name.starts_with("release/") || name.starts_with("release-");
}

void add_git_push(Words arguments, std::vector<Danger>& dangers) {
  bool force = has_flag(arguments, 'f', "--force") || has_flag(arguments, 0, "--mirror");
  bool removes = has_flag(arguments, 'd', "--delete") || has_flag(arguments, 0, "--prune");
  auto plain = plain_arguments(arguments);
  for (size_t i = 1; i < plain.size(); ++i) {  // the first one is the remote
    force = force || (plain[i].starts_with('+') && plain[i].size() > 1);
    removes = removes || (plain[i].starts_with(':') && plain[i].size() > 1);
  }
  if (force) dangers.push_back(danger::git_force_push);
  if (removes) dangers.push_back(danger::git_remote_delete);
  if (!force &&
      (has_flag(arguments, 0, "--force-with-lease") || has_flag(arguments, 0, "--force-if-includes")))
    dangers.push_back(danger::git_force_with_lease);
}

void add_git(const Invocation& call, std::vector<Danger>& dangers) {
  auto words = after_options(call.arguments, {"-C", "-c", "--git-dir", "--work-tree", "--namespace"});
  if (words.empty()) return;
  std::string_view verb = words[0].text;
  auto arguments = words.subspan(1);
  auto plain = plain_arguments(arguments);
  auto first = plain.empty() ? std::string_view() : plain[0];
  if (verb == "push") add_git_push(arguments, dangers);
  if (is_one_of(verb, {"filter-branch", "filter-repo"})) dangers.push_back(danger::git_history_rewrite);
  if (verb == "reflog" && is_one_of(first, {"expire", "delete"}))
    dangers.push_back(danger::git_history_rewrite);
  if (verb == "update-ref" && has_flag(arguments, 'd')) dangers.push_back(danger::git_history_rewrite);
  if (verb == "gc" && has_flag(arguments, 0, "--prune")) dangers.push_back(danger::git_discard_changes);
  if (verb == "reset" && has_flag(arguments, 0, "--hard")) dangers.push_back(danger::git_discard_changes);
  if (verb == "clean" && has_flag(arguments, 'f', "--force") && !has_flag(arguments, 'n', "--dry-run"))
    dangers.push_back(danger::git_discard_changes);
  if (verb == "stash" && is_one_of(first, {"drop", "clear"})) dangers.push_back(danger::git_discard_changes);
  if (verb == "branch" && (has_flag(arguments, 'D') || has_flag(arguments, 'd', "--delete")) &&
      std::ranges::any_of(plain, is_main_branch))
    dangers.push_back(danger::git_delete_main_branch);
}

/// The worst place of all is what counts.
void add_delete(const Invocation& call, std::span<const std::string_view> targets, bool is_recursive,
                std::vector<Danger>& dangers) {
  bool found[6] = {};
  for (auto target : targets) found[static_cast<size_t>(place_of(target, call.where, call.root))] = true;
  auto has = [&](Place place) { return found[static_cast<size_t>(place)]; };
  if (!is_recursive) {
    if (has(Place::outside)) dangers.push_back(danger::delete_file_outside);
    return;
  }
  if (has(Place::outside)) dangers.push_back(danger::delete_outside);
  if (has(Place::git_folder)) dangers.push_back(danger::git_folder_delete);
  if (has(Place::whole_project)) dangers.push_back(danger::delete_project);
  if (has(Place::unknown)) dangers.push_back(danger::delete_unknown);
  if (has(Place::temporary)) dangers.push_back(danger::delete_temporary);
}

void add_rm(const Invocation& call, std::vector<Danger>& dangers) {
  bool is_recursive = has_flag(call.arguments, 'r', "--recursive") || has_flag(call.arguments, 'R');
  add_delete(call, plain_arguments(call.arguments), is_recursive, dangers);
}

void add_find(const Invocation& call, std::vector<Danger>& dangers) {
  bool removes = has_word(call.arguments, "-delete");
  for (size_t i = 0; i + 1 < call.arguments.size(); ++i)
    if (is_one_of(call.arguments[i].text, {"-exec", "-execdir", "-ok"}))
      removes = removes || is_one_of(program_name(call.arguments[i + 1].text), {"rm", "shred", "unlink"});
  if (!removes) return;
  std::vector<std::string_view> from;
  for (const auto& word : call.arguments) {
    if (word.text.starts_with('-') || word.text == "!") break;
    from.push_back(word.text);
  }
  // It deletes what it picks of a folder, so the project itself is a fair place to begin.
  std::erase_if(from,
                [&](auto path) { return place_of(path, call.where, call.root) == Place::whole_project; });
  add_delete(call, from, true, dangers);
}

bool opens_to_all(std::string_view mode) {
  if (is_one_of(mode, {"777", "0777", "1777", "666", "0666"})) return true;
  auto plus = mode.find('+');
  if (plus == std::string_view::npos || mode.substr(plus).find('w') == std::string_view::npos) return false;
  auto who = mode.substr(0, plus);
  return who.find('a') != std::string_view::npos || who.find('o') != std::string_view::npos;
}

void add_permissions(const Invocation& call, std::vector<Danger>& dangers) {
  bool is_recursive = has_flag(call.arguments, 'R', "--recursive");
  auto plain = plain_arguments(call.arguments);
  if (plain.empty()) return;
  if (call.program == "chmod" && opens_to_all(plain[0]))
    dangers.push_back(is_recursive ? danger::permissions_open : danger::permissions_world);
  plain.erase(plain.begin());
  bool leaves = std::ranges::any_of(
      plain, [&](std::string_view path) { return place_of(path, call.where, call.root) == Place::outside; });
  if (is_recursive && leaves) dangers.push_back(danger::permissions_outside);
}

void add_disk(const Invocation& call, std::vector<Danger>& dangers) {
  auto is_disk = [](const ShellWord& word) {
    std::string_view text = word.text;
    return is_block_device(text.starts_with("of=") ? text.substr(3) : text);
  };
  bool formats = call.program.starts_with("mkfs") ||
                 is_one_of(call.program, {"wipefs", "fdisk", "sgdisk", "parted", "mkswap"});
  // `cp /dev/sda image` reads it; the last word is what is written to.
  auto words = call.program == "cp" && !call.arguments.empty() ? call.arguments.last(1) : call.arguments;
  if (call.program == "dd") {
    for (const auto& word : words)
      if (word.text.starts_with("of=") && is_disk(word)) formats = true;
  } else if (!formats) {
    formats = std::ranges::any_of(words, is_disk);
  } else {
    // Looking at the list is fine, and so is the word in a sentence.
    formats = !has_flag(call.arguments, 'l', "--list") && !plain_arguments(call.arguments).empty();
  }
  if (formats) dangers.push_back(danger::disk_overwrite);
}

void add_kill(const Invocation& call, std::vector<Danger>& dangers) {
  bool signal_is_known = false;
  for (const auto& word : call.arguments) {
    bool is_option = word.text.starts_with('-') && !signal_is_known;
    if (word.text == "--") signal_is_known = true;
    if (is_option) {
      signal_is_known = true;
      continue;
    }
    if (word.text == "-1" || word.text == "1") dangers.push_back(danger::kill_everything);
  }
  if (dangers.size() > 1) dangers.resize(1);
}

void add_shutdown(const Invocation& call, std::vector<Danger>& dangers) {
  auto plain = plain_arguments(call.arguments);
  auto first = plain.empty() ? std::string_view() : plain[0];
  bool is_one = is_one_of(call.program, {"shutdown", "reboot", "halt", "poweroff"});
  if (call.program == "init" || call.program == "telinit") is_one = is_one_of(first, {"0", "6"});
  if (call.program == "systemctl")
    is_one = is_one_of(first, {"poweroff", "reboot", "halt", "kexec", "isolate"});
  if (is_one && !has_flag(call.arguments, 'c') && !has_flag(call.arguments, 0, "--help"))
    dangers.push_back(danger::machine_shutdown);
}

void add_container(const Invocation& call, std::vector<Danger>& dangers) {
  auto words = after_options(call.arguments, {"-H", "--host", "--context", "-f", "-p"});
  auto word = [&](size_t i) {
    return i < words.size() ? std::string_view(words[i].text) : std::string_view();
  };
  if (is_one_of(word(0), {"system", "volume"}) && word(1) == "prune")
    dangers.push_back(danger::container_prune);
  if (word(0) == "volume" && is_one_of(word(1), {"rm", "remove"})) dangers.push_back(danger::container_prune);
  bool is_down = has_word(words, "down") && (word(0) == "compose" || call.program == "docker-compose");
  if (is_down && has_flag(words, 'v', "--volumes")) dangers.push_back(danger::container_volumes);
}

void add_infrastructure(const Invocation& call, std::vector<Danger>& dangers) {
  auto plain = plain_arguments(call.arguments);
  auto has = [&](std::string_view text) { return std::ranges::find(plain, text) != plain.end(); };
  if (call.program == "kubectl" || call.program == "oc") {
    if (has("delete") && !has_flag(call.arguments, 0, "--dry-run"))
      dangers.push_back(danger::kubernetes_delete);
  } else if (call.program == "helm") {
    if (has("uninstall") || has("delete")) dangers.push_back(danger::kubernetes_delete);
  } else if (has("destroy") || has_word(call.arguments, "-destroy")) {
    dangers.push_back(danger::infrastructure_destroy);
  }
}

void add_cloud(const Invocation& call, std::vector<Danger>& dangers) {
  auto plain = plain_arguments(call.arguments);
  auto has = [&](std::string_view text) { return std::ranges::find(plain, text) != plain.end(); };
  bool removes = has("delete") && call.program != "aws";
  if (call.program == "aws") {
    removes = (has("s3") && (has("rb") || (has("rm") && has_flag(call.arguments, 0, "--recursive"))));
    for (auto word : plain)
      removes = removes || word.starts_with("delete-") || word.starts_with("terminate-");
  }
  if (call.program == "gh") removes = removes && has("repo");
  if (removes) dangers.push_back(danger::cloud_delete);
}

void add_publish(const Invocation& call, std::vector<Danger>& dangers) {
  auto plain = plain_arguments(call.arguments);
  auto first = plain.empty() ? std::string_view() : plain[0];
  auto second = plain.size() < 2 ? std::string_view() : plain[1];
  bool publishes = is_one_of(first, {"publish", "unpublish"}) || (first == "npm" && second == "publish");
  if (call.program == "twine") publishes = first == "upload";
  if (call.program == "gem") publishes = first == "push";
  if (publishes && !has_flag(call.arguments, 0, "--dry-run")) dangers.push_back(danger::package_publish);
}

void add_database(const Invocation& call, std::vector<Danger>& dangers) {
  bool drops = call.program == "dropdb" && !plain_arguments(call.arguments).empty();
  for (const auto& word : call.arguments) {
    std::string text = word.text.substr(0, 4096);
    if (call.program == "redis-cli")
      drops = drops || is_one_of(text, {"FLUSHALL", "flushall", "FLUSHDB", "flushdb"});
    if (call.program == "mongosh" || call.program == "mongo")
      drops = drops || text.find("dropDatabase(") != std::string::npos ||
              text.find(".drop(") != std::string::npos;
    if (call.program == "mysqladmin") drops = drops || text == "drop";
  }
  if (drops) dangers.push_back(danger::database_drop);
}

void add_crontab(const Invocation& call, std::vector<Danger>& dangers) {
  if (has_flag(call.arguments, 'r')) dangers.push_back(danger::schedule_removed);
}

using Rule = void (*)(const Invocation&, std::vector<Danger>&);

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> table = {{"git", add_git},
                                                                   {"rm", add_rm},
                                                                   {"find", add_find},
                                                                   {"chmod", add_permissions},
                                                                   {"chown", add_permissions},
                                                                   {"chgrp", add_permissions},
                                                                   {"dd", add_disk},
                                                                   {"mkfs", add_disk},
                                                                   {"wipefs", add_disk},
                                                                   {"fdisk", add_disk},
                                                                   {"sgdisk", add_disk},
                                                                   {"parted", add_disk},
                                                                   {"mkswap", add_disk},
                                                                   {"tee", add_disk},
                                                                   {"shred", add_disk},
                                                                   {"cp", add_disk},
                                                                   {"kill", add_kill},
                                                                   {"shutdown", add_shutdown},
                                                                   {"reboot", add_shutdown},
                                                                   {"halt", add_shutdown},
                                                                   {"poweroff", add_shutdown},
                                                                   {"init", add_shutdown},
                                                                   {"telinit", add_shutdown},
                                                                   {"systemctl", add_shutdown},
                                                                   {"docker", add_container},
                                                                   {"podman", add_container},
                                                                   {"docker-compose", add_container},
                                                                   {"kubectl", add_infrastructure},
                                                                   {"oc", add_infrastructure},
                                                                   {"helm", add_infrastructure},
                                                                   {"terraform", add_infrastructure},
                                                                   {"tofu", add_infrastructure},
                                                                   {"pulumi", add_infrastructure},
                                                                   {"terragrunt", add_infrastructure},
                                                                   {"cdk", add_infrastructure},
                                                                   {"aws", add_cloud},
                                                                   {"gcloud", add_cloud},
                                                                   {"az", add_cloud},
                                                                   {"gh", add_cloud},
                                                                   {"npm", add_publish},
                                                                   {"pnpm", add_publish},
                                                                   {"yarn", add_publish},
                                                                   {"cargo", add_publish},
                                                                   {"twine", add_publish},
                                                                   {"gem", add_publish},
                                                                   {"poetry", add_publish},
                                                                   {"dropdb", add_database},
                                                                   {"redis-cli", add_database},
                                                                   {"mongosh", add_database},
                                                                   {"mongo", add_database},
                                                                   {"mysqladmin", add_database},
                                                                   {"crontab", add_crontab}};
  return table;
}

std::unordered_map<std::string_view, ProgramKind> all_kinds() {
  std::unordered_map<std::string_view, ProgramKind> kinds;
  for (const auto& [program, rule] : rules()) kinds[program] = ProgramKind::checked;
  for (auto program : {"sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "eval", "source", "."})
    kinds[program] = ProgramKind::shell;
  for (auto program :
       {"sudo",  "doas",    "env",     "command", "exec",   "builtin", "nohup", "nice",     "ionice",
        "time",  "timeout", "xargs",   "setsid",  "stdbuf", "watch",   "ssh",   "parallel", "chroot",
        "flock", "unshare", "nsenter", "strace",  "su",     "runuser", "entr"})
    kinds[program] = ProgramKind::wrapper;
  for (auto program : {"psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "clickhouse-client", "duckdb",
                       "cockroach", "bq", "mycli", "pgcli", "cqlsh"})
    kinds[program] = ProgramKind::sql;
  for (auto program :
       {"echo", "printf",  "grep", "egrep",  "fgrep", "rg",    "ag",    "ack",     "cat",  "man",  "which",
        "type", "whereis", "head", "tail",   "less",  "more",  "wc",    "sed",     "awk",  "jq",   "test",
        "[",    "[[",      "ls",   "cd",     "pushd", "mkdir", "touch", "stat",    "file", "diff", "sort",
        "uniq", "mv",      "ln",   "export", "curl",  "wget",  "apt",   "apt-get", "brew", "pip",  "pip3"})
    kinds[program] = ProgramKind::plain;
  return kinds;
}

}  // namespace

ProgramKind kind_of(std::string_view program) {
  static const auto kinds = all_kinds();
  auto found = kinds.find(program);
  if (found != kinds.end()) return found->second;
  return program.starts_with("mkfs.") ? ProgramKind::checked : ProgramKind::other;
}

bool is_program_in_prose(std::string_view program) {
  static const std::unordered_set<std::string_view> programs = {
      "git",  "rm",        "dd",        "mkfs",  "chmod", "chown",  "docker",  "podman", "kubectl",
      "helm", "tofu",      "terraform", "npm",   "pnpm",  "pulumi", "yarn",    "twine",  "dropdb",
      "psql", "redis-cli", "aws",       "mysql", "bash",  "sudo",   "sqlite3", "wipefs", "gcloud"};
  return programs.contains(program) || program.starts_with("mkfs.");
}

std::string program_name(std::string_view word) {
  if (word.size() > 4096) return {};
  while (word.ends_with('/')) word.remove_suffix(1);
  return std::string(word.substr(word.rfind('/') + 1));
}

std::vector<Danger> dangers_of(const Invocation& call) {
  std::vector<Danger> dangers;
  auto rule = rules().find(call.program.starts_with("mkfs.") ? std::string_view("mkfs") : call.program);
  if (rule != rules().end()) rule->second(call, dangers);
  return dangers;
}

bool has_flag(std::span<const ShellWord> arguments, char letter, std::string_view name) {
  for (const auto& word : arguments) {
    std::string_view text = word.text;
    if (text == "--") return false;
    if (text.starts_with("--")) {
      if (!name.empty() && text.substr(0, text.find('=')) == name) return true;
    } else if (letter && text.starts_with('-') && text.size() <= 16 &&
               text.substr(1, text.find('=') - 1).find(letter) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::vector<std::string_view> plain_arguments(std::span<const ShellWord> arguments) {
  std::vector<std::string_view> plain;
  bool all = false;
  for (const auto& word : arguments) {
    if (!all && word.text == "--")
      all = true;
    else if (all || !word.text.starts_with('-'))
      plain.push_back(word.text);
  }
  return plain;
}

}  // namespace cru::coordination
