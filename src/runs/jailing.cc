#include "runs/jailing.h"

#include <algorithm>

#include "base/guarded_paths.h"

namespace cru::runs {
namespace {

using Paths = std::vector<std::string>;

std::string value_or(const std::map<std::string, std::string>& environment, const std::string& name,
                     std::string fallback) {
  auto found = environment.find(name);
  if (found != environment.end() && found->second.starts_with('/')) return found->second;
  return fallback;
}

bool is_in(const Paths& list, const std::string& name) { return std::ranges::find(list, name) != list.end(); }

/// Of our own state, nothing but such a folder is a place to work in.
bool is_worktree(const JailPlaces& places) {
  return places.folder.starts_with(places.root + "/.coven/worktrees/");
}

/// What a program makes for itself in its own folder.
void add_program_folder(const JailPlaces& places, JailPlan& plan) {
  const auto& program = places.program;
  if (program.path.empty()) return;
  auto own = places.own + "/program";
  plan.make_folders.push_back(own);
  plan.jail.view.binds.push_back({own, program.path, true});
  if (!program.variable.empty()) plan.environment[program.variable] = program.path;
  auto bind = [&](const std::string& name, bool is_folder, bool writable) {
    if (is_folder)
      plan.make_folders.push_back(own + "/" + name);
    else
      plan.make_copies.push_back({"", own + "/" + name, false});
    plan.jail.view.binds.push_back({program.path + "/" + name, program.path + "/" + name, writable});
  };
  Paths seen;
  for (const auto& entry : program.shared) {
    auto name = entry.ends_with('/') ? entry.substr(0, entry.size() - 1) : entry;
    seen.push_back(name);
    if (entry.ends_with('/')) plan.make_folders.push_back(program.path + "/" + name);
    if (entry.ends_with('/') || is_in(places.files, name)) bind(name, entry.ends_with('/'), true);
  }
  for (const auto& name : places.folders)
    if (!is_in(seen, name)) bind(name, true, false);
  for (const auto& name : places.files) {
    if (is_in(seen, name)) continue;
    if (is_in(program.readonly, name))
      bind(name, false, false);
    else
      plan.make_copies.push_back({program.path + "/" + name, own + "/" + name, false});
  }
  for (const auto& copy : program.copies) plan.make_copies.push_back({copy.from, own + "/" + copy.at, false});
}

/// Its own /tmp, in which what stands in everybody's and is needed is seen.
void add_temporary(const JailPlaces& places, JailPlan& plan) {
  auto own = places.own + "/tmp";
  plan.make_folders.push_back(own);
  auto& view = plan.jail.view;
  for (std::string shared : {"/tmp", "/var/tmp"}) {
    view.first.push_back({own, shared, true});
    view.writable.push_back(shared);
    for (const auto& path : places.needed) {
      if (!is_or_is_below(path, shared) || path == shared) continue;
      plan.make_folders.push_back(own + path.substr(shared.size()));
      view.first.push_back({path, path, true});
      if (path != places.root && !is_or_is_below(places.root, path)) view.readonly.push_back(path);
    }
  }
  plan.environment["TMPDIR"] = "/tmp";
}

/// What is let in by `--permit`, wherever it stands.
Paths passages_for(const JailRights& rights, const JailPlaces& places) {
  Paths out;
  if (rights.passages.contains(Passage::ssh_agent)) out.push_back(places.ssh_socket);
  if (rights.passages.contains(Passage::docker)) out.push_back(places.docker_socket);
  if (rights.passages.contains(Passage::gpg)) {
    out.push_back(places.gpg_sockets);
    out.push_back(places.home + "/.gnupg");
  }
  std::erase(out, "");
  return out;
}

/// Of everybody's /tmp nothing is there but what is needed: a socket in it has to be put into the run's own.
void add_passages(const JailRights& rights, const JailPlaces& places, JailPlan& plan) {
  auto own = places.own + "/tmp";
  auto contains = [](const std::string& path) {
    return [&path](const std::string& folder) { return is_or_is_below(path, folder); };
  };
  for (const auto& path : passages_for(rights, places)) {
    plan.jail.view.shown.push_back(path);
    if (path == places.gpg_sockets || std::ranges::any_of(places.needed, contains(path))) continue;
    for (std::string shared : {"/tmp", "/var/tmp"}) {
      if (!path.starts_with(shared + "/")) continue;
      auto copy = own + path.substr(shared.size());
      plan.make_folders.push_back(copy.substr(0, copy.rfind('/')));
      plan.make_copies.push_back({"", copy, false});
      plan.jail.view.first.push_back({path, path, true});
    }
  }
}

Paths hidden_for(const JailRights& rights, const JailPlaces& places) {
  Paths hidden{places.root + "/.coven", places.root + "/.crucible/sessions", places.keys, places.state};
  auto let_in = passages_for(rights, places);
  for (const auto& path : places.sockets) {
    bool is_docker = path.find("docker") != std::string::npos;
    bool is_let_in = std::ranges::any_of(
        let_in, [&](const std::string& passage) { return is_or_is_below(path, passage); });
    if (!is_let_in && !(is_docker && rights.passages.contains(Passage::docker))) hidden.push_back(path);
  }
  if (!rights.passages.contains(Passage::ssh_agent)) hidden.push_back(places.home + "/.ssh");
  if (!rights.passages.contains(Passage::gpg)) hidden.push_back(places.home + "/.gnupg");
  std::erase_if(hidden, [](const std::string& path) { return path.empty() || !path.starts_with('/'); });
  return hidden;
}

/// Where nothing can be mounted, the program is told of a folder of the run's own, with links to what it
/// shares with people and to what it may read. Landlock decides what it can write through them.
void add_linked_folder(const JailPlaces& places, JailPlan& plan) {
  const auto& program = places.program;
  if (program.path.empty()) return;
  auto own = places.own + "/program";
  bool has_own = !program.variable.empty();  // else it looks for the folder where it stands
  auto link = [&](const std::string& name) {
    if (has_own) plan.make_links.push_back({program.path + "/" + name, own + "/" + name, false});
  };
  Paths seen;
  for (const auto& entry : program.shared) {
    auto name = entry.ends_with('/') ? entry.substr(0, entry.size() - 1) : entry;
    seen.push_back(name);
    if (entry.ends_with('/')) plan.make_folders.push_back(program.path + "/" + name);
    if (!entry.ends_with('/') && !is_in(places.files, name)) continue;
    plan.jail.files.writable.push_back(program.path + "/" + name);
    link(name);
    // Claude Code writes a new login beside the old one and renames it, which ends the link.
    if (has_own && !entry.ends_with('/'))
      plan.returned.push_back({own + "/" + name, program.path + "/" + name, false});
  }
  if (!has_own) return;
  plan.make_folders.push_back(own);
  plan.jail.files.writable.push_back(own);
  plan.environment[program.variable] = own;
  for (const auto& name : places.folders)
    if (!is_in(seen, name)) link(name);
  for (const auto& name : places.files) {
    if (is_in(seen, name)) continue;
    if (is_in(program.readonly, name))
      link(name);
    else
      plan.make_copies.push_back({program.path + "/" + name, own + "/" + name, false});
  }
  for (const auto& copy : program.copies) plan.make_copies.push_back({copy.from, own + "/" + copy.at, false});
}

/// Without mounts nothing can be hidden or kept from being written in a folder that may be written: Landlock
/// has to list what is allowed.
void add_landlock(const JailRights& rights, const JailPlaces& places, JailPlan& plan) {
  auto own = places.own + "/tmp";
  plan.make_folders.push_back(own);
  plan.environment["TMPDIR"] = own;
  auto& files = plan.jail.files;
  files.writable = {own,           "/dev/null",    "/dev/zero", "/dev/full", "/dev/tty",
                    "/dev/random", "/dev/urandom", "/dev/pts",  "/dev/ptmx"};
  // Sockets are refused as such.
  files.unreadable = {places.root + "/.coven",
                      places.root + "/.crucible/sessions",
                      places.keys,
                      places.state,
                      places.home + "/.ssh",
                      places.home + "/.gnupg"};
  std::erase_if(files.unreadable, [](const std::string& path) { return !path.starts_with('/'); });
  files.readable = {places.own, places.door};
  if (is_worktree(places)) files.readable.push_back(places.folder);
  add_linked_folder(places, plan);
  if (!rights.may_write) return;
  files.writable.insert(files.writable.end(), places.open.begin(), places.open.end());
  if (!places.cache.empty()) files.writable.push_back(places.cache);
}

}  // namespace

ProgramFolder folder_of_program(std::string_view program,
                                const std::map<std::string, std::string>& environment) {
  auto home = value_or(environment, "HOME", "");
  if (home.empty()) return {};
  if (program == "claude") {
    auto path = value_or(environment, "CLAUDE_CONFIG_DIR", home + "/.claude");
    // With the variable set, this file is looked for in the folder.
    auto state = environment.contains("CLAUDE_CONFIG_DIR") ? path + "/.claude.json" : home + "/.claude.json";
    return {.path = path,
            .variable = "CLAUDE_CONFIG_DIR",
            .shared = {".credentials.json", "projects/", "todos/", "history.jsonl", "file-history/",
                       "shell-snapshots/", "session-env/", "tasks/", "plans/"},
            .readonly = {"settings.json", "settings.local.json", "CLAUDE.md", "keybindings.json"},
            .copies = {{state, ".claude.json", false}}};
  }
  if (program == "codex")
    return {.path = value_or(environment, "CODEX_HOME", home + "/.codex"),
            .variable = "CODEX_HOME",
            .shared = {"auth.json", "sessions/", "archived_sessions/", "history.jsonl", "log/"},
            .readonly = {"config.toml", "hooks.json", "AGENTS.md", "AGENTS.override.md"},
            .copies = {}};
  if (program == "gemini")
    return {.path = home + "/.gemini",
            .variable = "",
            .shared = {"oauth_creds.json", "google_accounts.json", "tmp/", "history/"},
            .readonly = {"settings.json", "GEMINI.md", ".env", "trustedFolders.json"},
            .copies = {}};
  return {};
}

JailPlan plan_jail(const JailRights& rights, const JailPlaces& places, const JailMeans& means) {
  JailPlan plan;
  auto& jail = plan.jail;
  jail.namespaces = means.namespaces;
  jail.network = rights.may_use_network;
  jail.view.empty_network = !rights.may_use_network;
  plan.removed = {"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY"};
  if (!rights.passages.contains(Passage::ssh_agent)) plan.removed.emplace_back("SSH_AUTH_SOCK");
  if (!rights.passages.contains(Passage::docker)) plan.removed.emplace_back("DOCKER_HOST");
  if (!means.namespaces) {
    jail.landlock = true;
    add_landlock(rights, places, plan);
    return plan;
  }
  add_temporary(places, plan);
  auto& view = jail.view;
  view.hidden = hidden_for(rights, places);
  view.shown = {places.door};
  if (is_worktree(places)) view.shown.push_back(places.folder);
  if (rights.may_write) {
    view.writable.push_back(places.root);
    if (!places.cache.empty()) view.writable.push_back(places.cache);
    view.kept = {places.root + "/.git"};
    view.readonly.insert(view.readonly.end(), places.guarded.begin(), places.guarded.end());
  } else if (is_or_is_below(places.root, "/tmp") || is_or_is_below(places.root, "/var/tmp")) {
    view.readonly.push_back(places.root);
  }
  add_passages(rights, places, plan);
  add_program_folder(places, plan);
  // Whoever could put a socket of his own there would be taken for the daemon.
  view.binds.push_back({places.door, places.door, false});
  return plan;
}

}  // namespace cru::runs
