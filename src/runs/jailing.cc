#include "runs/jailing.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>

#include "base/guarded_paths.h"
#include "platform/sandbox/confine_paths.h"

namespace cru::runs {
namespace {

using Paths = std::vector<std::string>;

bool is_in(const Paths& list, const std::string& name) { return std::ranges::find(list, name) != list.end(); }

/// Of our own state, nothing but such a folder is a place to work in.
bool is_worktree(const JailPlaces& places) {
  return places.folder.starts_with(places.root + "/.coven/worktrees/");
}

void add(Paths& into, const Paths& more) { into.insert(into.end(), more.begin(), more.end()); }

bool is_folder(const std::string& entry) { return entry.ends_with('/'); }
std::string name_of(const std::string& entry) {
  return is_folder(entry) ? entry.substr(0, entry.size() - 1) : entry;
}
bool contains_any(const Paths& entries, const std::string& name) {
  return std::ranges::any_of(entries,
                             [&](const std::string& each) { return is_or_is_below(name_of(each), name); });
}

/// Where an entry of the program's folder stands: people keep their settings elsewhere, and link to them.
std::string real_place(const JailPlaces& places, const std::string& name) {
  auto found = places.targets.find(name);
  return found == places.targets.end() ? places.program.path + "/" + name : found->second;
}

/// What becomes of each entry of a program's folder.
struct ProgramEntries {
  Paths shared, readonly;  ///< folders end with a slash; each after those that it is in
  Paths own;               ///< folders
  std::vector<Bind> copies;
};
ProgramEntries sort_entries(const JailPlaces& places, const std::string& own) {
  const auto& program = places.program;
  ProgramEntries out{.shared = {}, .readonly = {}, .own = program.own, .copies = {}};
  auto is_shared = [&](const std::string& name) {
    return contains_any(program.shared, name) || contains_any(program.own, name);
  };
  for (const auto& entry : program.shared)
    if (is_folder(entry) || is_in(places.files, entry)) out.shared.push_back(entry);
  for (const auto& name : places.folders)
    if (!is_shared(name)) out.readonly.push_back(name + "/");
  for (const auto& name : places.files) {
    if (is_shared(name)) continue;
    if (is_in(program.readonly, name))
      out.readonly.push_back(name);
    else
      out.copies.push_back({real_place(places, name), own + "/" + name, false});
  }
  for (const auto& entry : program.readonly)
    if (is_folder(entry)) out.readonly.push_back(entry);
  for (const auto& copy : program.copies) out.copies.push_back({copy.from, own + "/" + copy.at, false});
  return out;
}

/// Codex writes a new login beside the old one and renames it, and fails where that is a mount point: the old
/// login would be used up, and the new one lost.
bool is_replaced(const std::string& entry) { return entry == "auth.json"; }

/// What a program makes for itself in its own folder.
void add_program_folder(const JailPlaces& places, JailPlan& plan) {
  const auto& program = places.program;
  if (program.path.empty()) return;
  auto own = places.own + "/program";
  plan.make_folders.push_back(own);
  plan.jail.view.binds.push_back({own, program.path, true});
  if (!program.variable.empty()) plan.environment[program.variable] = program.path;
  auto entries = sort_entries(places, own);
  auto bind = [&](const std::string& entry, bool writable) {
    auto name = "/" + name_of(entry);
    if (is_folder(entry)) {
      plan.make_folders.push_back(real_place(places, name_of(entry)));
      plan.make_folders.push_back(own + name);
    } else {
      plan.make_copies.push_back({"", own + name, false});
    }
    plan.jail.view.binds.push_back({real_place(places, name_of(entry)), program.path + name, writable});
  };
  for (const auto& entry : entries.own) plan.make_folders.push_back(own + "/" + name_of(entry));
  for (const auto& entry : entries.shared) {
    if (!is_replaced(entry)) {
      bind(entry, true);
      continue;
    }
    plan.make_copies.push_back({real_place(places, entry), own + "/" + entry, false});
    plan.returned.push_back({own + "/" + entry, real_place(places, entry), false});
  }
  for (const auto& entry : entries.readonly) bind(entry, false);
  plan.make_copies.insert(plan.make_copies.end(), entries.copies.begin(), entries.copies.end());
}

/// Of what git keeps of worktrees, a run in one of them writes its own, except what says where git's settings
/// are.
void add_own_git(const JailPlaces& places, JailPlan& plan) {
  if (places.own_git.empty()) return;
  plan.jail.view.binds.push_back({places.own_git, places.own_git, true});
  for (auto name : worktree_settings) {
    auto path = places.own_git + "/" + std::string(name);
    plan.jail.view.binds.push_back({path, path, false});
  }
}

/// Its own /tmp, in which what stands in everybody's and is needed is seen.
void add_temporary(const JailPlaces& places, JailPlan& plan) {
  auto own = places.own + "/tmp";
  plan.make_folders.push_back(own);
  auto& view = plan.jail.view;
  for (std::string shared : {"/tmp", "/var/tmp"}) {
    view.early_binds.push_back({own, shared, true});
    view.writable.push_back(shared);
    for (const auto& path : places.needed) {
      if (!is_or_is_below(path, shared) || path == shared) continue;
      plan.make_folders.push_back(own + path.substr(shared.size()));
      // What contains the project is bound before it: only the project may be written.
      view.early_binds.push_back({path, path, is_or_is_below(path, places.root)});
    }
  }
  plan.environment["TMPDIR"] = "/tmp";
}

/// What is let in by `--permit`, wherever it stands.
Paths permits_for(const JailRights& rights, const JailPlaces& places) {
  Paths out;
  if (rights.permits.contains(Permit::ssh_agent)) out.push_back(places.ssh_socket);
  if (rights.permits.contains(Permit::docker)) out.push_back(places.docker_socket);
  if (rights.permits.contains(Permit::gpg)) {
    out.push_back(places.gpg_sockets);
    out.insert(out.end(), places.gnupg_folders.begin(), places.gnupg_folders.end());
  }
  std::erase(out, "");
  return out;
}

/// Of everybody's /tmp nothing is there but what is needed: a socket in it has to be put into the run's own.
void add_permits(const JailRights& rights, const JailPlaces& places, JailPlan& plan) {
  auto own = places.own + "/tmp";
  auto contains = [](const std::string& path) {
    return [&path](const std::string& folder) { return is_or_is_below(path, folder); };
  };
  for (const auto& path : permits_for(rights, places)) {
    plan.jail.view.shown.push_back(path);
    if (path == places.gpg_sockets || std::ranges::any_of(places.needed, contains(path))) continue;
    for (std::string shared : {"/tmp", "/var/tmp"}) {
      if (!path.starts_with(shared + "/")) continue;
      auto copy = own + path.substr(shared.size());
      plan.make_folders.push_back(copy.substr(0, copy.rfind('/')));
      plan.make_copies.push_back({"", copy, false});
      plan.jail.view.early_binds.push_back({path, path, true});
    }
  }
}

/// What is not to be read, wherever the rights are enforced.
Paths unreadable_for(const JailRights& rights, const JailPlaces& places) {
  Paths paths = places.secrets;
  if (!rights.permits.contains(Permit::ssh_agent)) add(paths, places.ssh_folders);
  if (!rights.permits.contains(Permit::gpg)) add(paths, places.gnupg_folders);
  std::erase_if(paths, [](const std::string& path) { return !path.starts_with('/'); });
  return paths;
}

Paths hidden_for(const JailRights& rights, const JailPlaces& places) {
  auto hidden = unreadable_for(rights, places);
  auto let_in = permits_for(rights, places);
  for (const auto& path : places.sockets) {
    bool is_docker = path.find("docker") != std::string::npos;
    bool is_let_in =
        std::ranges::any_of(let_in, [&](const std::string& permit) { return is_or_is_below(path, permit); });
    if (!is_let_in && !(is_docker && rights.permits.contains(Permit::docker))) hidden.push_back(path);
  }
  return hidden;
}

/// Where nothing can be mounted, the program is told of a folder of the run's own, with links to what it
/// shares with people and to what it may read. Landlock decides what it can write through them.
void add_linked_folder(const JailPlaces& places, JailPlan& plan) {
  const auto& program = places.program;
  if (program.path.empty()) return;
  auto own = places.own + "/program";
  auto entries = sort_entries(places, own);
  for (const auto& entry : entries.shared) {
    auto place = real_place(places, name_of(entry));
    if (is_folder(entry)) plan.make_folders.push_back(place);
    plan.jail.files.writable.push_back(place);
  }
  if (program.variable.empty()) return;  // it looks for the folder where it stands
  plan.make_folders.push_back(own);
  plan.jail.files.writable.push_back(own);
  plan.environment[program.variable] = own;
  for (const auto& entry : entries.own) plan.make_folders.push_back(own + "/" + name_of(entry));
  auto link = [&](const std::string& entry) {
    auto at = own + "/" + name_of(entry);
    plan.make_folders.push_back(at.substr(0, at.rfind('/')));
    plan.make_links.push_back({program.path + "/" + name_of(entry), at, false});
  };
  for (const auto& entry : entries.shared) {
    link(entry);
    // Claude Code writes a new login beside the old one and renames it, which ends the link.
    if (!is_folder(entry)) plan.returned.push_back({own + "/" + entry, real_place(places, entry), false});
  }
  // What is in a folder that is shared is seen through its link, and cannot be kept from being written.
  for (const auto& entry : entries.readonly)
    if (std::ranges::none_of(entries.shared, [&](const auto& each) { return entry.starts_with(each); }))
      link(entry);
  plan.make_copies.insert(plan.make_copies.end(), entries.copies.begin(), entries.copies.end());
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
  files.unreadable = unreadable_for(rights, places);  // sockets are refused as such
  files.readable = {places.own, places.door};
  if (is_worktree(places)) files.readable.push_back(places.folder);
  add_linked_folder(places, plan);
  if (!rights.may_write) return;
  add(files.writable, places.open);
  plan.make_folders.push_back(places.own_cache);
  files.writable.push_back(places.own_cache);
  files.readable.push_back(places.own_cache);
  plan.environment["XDG_CACHE_HOME"] = places.own_cache;
  plan.environment["npm_config_cache"] = places.own_cache + "/npm";
}

/// What is in people's own cache is executed by them later: a confined run has that of its project, in the
/// same place.
void add_cache(const JailPlaces& places, JailPlan& plan) {
  if (places.cache.empty() || is_or_is_below(places.root, places.cache)) return;
  plan.make_folders.push_back(places.own_cache);
  plan.jail.view.binds.push_back({places.own_cache, places.cache, true});
  plan.environment["npm_config_cache"] = places.cache + "/npm";
}

}  // namespace

std::string path_in(const std::map<std::string, std::string>& environment, const std::string& name,
                    std::string fallback) {
  auto found = environment.find(name);
  return found != environment.end() && found->second.starts_with('/') ? found->second : fallback;
}

void remove_places(std::map<std::string, std::string>& environment) {
  std::erase_if(environment, [](const auto& variable) {
    const auto& name = variable.first;
    bool names_folders = name == "HOME" || name == "CLAUDE_CONFIG_DIR" || name == "CODEX_HOME" ||
                         name.starts_with("XDG_") || name.starts_with("GEMINI_CLI_");
    return names_folders || name == "SSH_AUTH_SOCK" || name == "DOCKER_HOST" || name == "GNUPGHOME";
  });
}

std::string claude_project(std::string_view folder) {
  constexpr size_t longest = 200;
  std::string name;
  int32_t hash = 0;
  for (char c : folder) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) continue;  // it counts characters, and those beyond 16 bits twice
    name += std::isalnum(byte) && byte < 0x80 ? std::string(1, c) : std::string(byte >= 0xf0 ? 2 : 1, '-');
    hash = static_cast<int32_t>(static_cast<uint32_t>(hash) * 31 + byte);
  }
  if (name.size() <= longest) return name;
  std::string digits;
  for (auto left = static_cast<uint64_t>(std::abs(static_cast<int64_t>(hash))); left > 0; left /= 36)
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[left % 36]);
  return name.substr(0, longest) + "-" + (digits.empty() ? "0" : digits);
}

ProgramFolder folder_of_program(std::string_view program,
                                const std::map<std::string, std::string>& environment,
                                const std::string& folder, const std::string& root) {
  auto home = path_in(environment, "HOME");
  if (home.empty()) return {};
  if (program == "claude") {
    auto path = path_in(environment, "CLAUDE_CONFIG_DIR", home + "/.claude");
    // With the variable set, this file is looked for in the folder.
    auto state = environment.contains("CLAUDE_CONFIG_DIR") ? path + "/.claude.json" : home + "/.claude.json";
    // Its memory of a project goes into every later session there; a worktree has its repository's.
    auto here = "projects/" + claude_project(folder) + "/", whole = "projects/" + claude_project(root) + "/";
    ProgramFolder found{
        .path = path,
        .variable = "CLAUDE_CONFIG_DIR",
        .shared = {".credentials.json", here, "todos/", "history.jsonl", "file-history/", "tasks/", "plans/"},
        .readonly = {"settings.json", "settings.local.json", "CLAUDE.md", "keybindings.json",
                     here + "memory/"},
        .own = {"projects/", "shell-snapshots/", "session-env/"},
        .copies = {{state, ".claude.json", false}}};
    if (whole != here) found.readonly.push_back(whole + "memory/");
    return found;
  }
  if (program == "codex")
    return {.path = path_in(environment, "CODEX_HOME", home + "/.codex"),
            .variable = "CODEX_HOME",
            .shared = {"auth.json", "sessions/", "archived_sessions/", "history.jsonl", "log/"},
            .readonly = {"config.toml", "hooks.json", "AGENTS.md", "AGENTS.override.md"},
            .own = {"shell_snapshots/", "tmp/"},
            .copies = {}};
  if (program == "gemini")
    return {.path = home + "/.gemini",
            .variable = "",
            // Its sessions are in tmp, and beside them programs that it executes.
            .shared = {"oauth_creds.json", "google_accounts.json", "tmp/", "history/"},
            .readonly = {"settings.json", "GEMINI.md", ".env", "trustedFolders.json", "tmp/bin/"},
            .own = {},
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
  if (!rights.permits.contains(Permit::ssh_agent)) plan.removed.emplace_back("SSH_AUTH_SOCK");
  if (!rights.permits.contains(Permit::docker)) plan.removed.emplace_back("DOCKER_HOST");
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
    add_cache(places, plan);
    view.immovable = places.above_guarded;
    view.links = places.guarded_links;
    add(view.readonly, places.guarded);
    add_own_git(places, plan);
  } else if (is_or_is_below(places.root, "/tmp") || is_or_is_below(places.root, "/var/tmp")) {
    view.readonly.push_back(places.root);
  }
  add_permits(rights, places, plan);
  add_program_folder(places, plan);
  // Whoever could put a socket of his own there would be taken for the daemon.
  view.binds.push_back({places.door, places.door, false});
  return plan;
}

}  // namespace cru::runs
