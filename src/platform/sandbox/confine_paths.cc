#include "platform/sandbox/confine_paths.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/guarded_paths.h"
#include "platform/files/files.h"

namespace cru {
namespace {

bool is_there(const std::string& path) {
  struct stat about{};
  return ::lstat(path.c_str(), &about) == 0;
}

/// A folder that a variable names, else one below the home folder.
std::string home_folder(const char* variable, const char* below_home) {
  const char* set = ::getenv(variable);
  if (set && set[0] == '/') return set;
  const char* home = ::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + below_home : std::string();
}

std::vector<std::string> candidates(const std::string& root) {
  std::vector<std::string> paths = {root + "/.coven", root + "/.crucible/sessions"};
  // Links are followed: what is hidden is where it really stands.
  std::error_code error;
  auto keys =
      std::filesystem::canonical(home_folder("XDG_CONFIG_HOME", "/.config") + "/crucible/keys", error);
  if (!error && keys.is_absolute()) paths.push_back(keys.string());
  // The keys by which people are known to the daemons, and what they trust.
  auto state = std::filesystem::canonical(home_folder("XDG_STATE_HOME", "/.local/state") + "/cru", error);
  if (!error && state.is_absolute()) paths.push_back(state.string());
  return paths;
}

}  // namespace

std::vector<std::string> guarded_in(const std::string& root) {
  std::vector<std::string> paths;
  std::error_code error;
  bool is_folder = std::filesystem::is_directory(std::filesystem::symlink_status(root + "/.git", error));
  for (auto each : guarded_paths()) {
    if (each == ".coven" && is_there(root + "/.coven")) continue;  // it is hidden
    // A repository that is made anew has hooks and a configuration of its own.
    if (is_folder || !each.starts_with(".git/")) paths.push_back(fmt::format("{}/{}", root, each));
  }
  // The project is itself a worktree or a submodule: the file says where git finds its settings.
  if (!is_folder && is_there(root + "/.git")) paths.push_back(root + "/.git");
  for (std::filesystem::directory_iterator at(root + "/.git/worktrees", error), end; !error && at != end;
       at.increment(error))
    for (auto name : {"config.worktree", "commondir", "gitdir"})
      paths.push_back((at->path() / name).string());
  return paths;
}

std::vector<std::string> entries_but(const std::string& folder, const std::vector<std::string>& closed) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    auto path = entry.path().string();
    if (entry.is_symlink(error) || std::ranges::find(closed, path) != closed.end()) continue;
    if (std::ranges::any_of(closed, [&](const auto& each) { return each.starts_with(path + "/"); })) {
      auto inner = entries_but(path, closed);
      out.insert(out.end(), inner.begin(), inner.end());
    } else {
      out.push_back(std::move(path));
    }
  }
  return out;
}

std::vector<std::string> user_sockets(const std::string& root) {
  std::vector<std::string> paths;
  for (std::string path : {"/run/user", "/run/dbus", "/run/docker.sock", "/run/containerd", "/run/podman"})
    if (!root.starts_with(path + "/")) paths.push_back(path);
  return paths;
}

std::vector<std::string> sockets_of_user() {
  std::set<std::string> found;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    auto at = line.find(" /");
    struct stat status{};
    if (at == std::string::npos || ::lstat(line.c_str() + at + 1, &status) != 0) continue;
    if (S_ISSOCK(status.st_mode) && status.st_uid == ::geteuid()) found.insert(line.substr(at + 1));
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> hidden_paths(const std::string& root) {
  auto paths = candidates(root);
  for (auto& path : user_sockets(root)) paths.push_back(std::move(path));
  return paths;
}

std::vector<std::string> secret_paths(const std::string& root) {
  auto paths = candidates(root);
  std::erase_if(paths, [](const std::string& path) { return !is_there(path); });
  return paths;
}

std::string cache_folder() { return home_folder("XDG_CACHE_HOME", "/.cache"); }

std::vector<std::string> absent_of(std::vector<std::string> guarded) {
  std::erase_if(guarded, is_there);
  return guarded;
}

std::string set_aside_new(const std::vector<std::string>& absent) {
  std::string told;
  for (const auto& path : absent) {
    if (!is_there(path)) continue;
    auto aside = path + ".refused";
    for (int number = 2; is_there(aside) && number < 1000; ++number)
      aside = fmt::format("{}.refused-{}", path, number);
    if (::rename(path.c_str(), aside.c_str()) == 0)
      told += fmt::format("cru confine: commands may not create {}; renamed to {}\n", path, aside);
    else
      told += fmt::format("cru confine: a command created {}, which is not allowed; renaming failed: {}\n",
                          path, std::strerror(errno));
  }
  return told;
}

}  // namespace cru
