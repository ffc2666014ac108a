#include "platform/sandbox/confine_paths.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/guarded_paths.h"
#include "platform/files/files.h"
#include "platform/files/passing_file.h"
#include "platform/sandbox/git_settings.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

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
  auto keys = fs::canonical(home_folder("XDG_CONFIG_HOME", "/.config") + "/crucible/keys", error);
  if (!error && keys.is_absolute()) paths.push_back(keys.string());
  // The keys by which people are known to the daemons, and what they trust.
  auto state = fs::canonical(home_folder("XDG_STATE_HOME", "/.local/state") + "/cru", error);
  if (!error && state.is_absolute()) paths.push_back(state.string());
  return paths;
}

}  // namespace

std::vector<std::string> guarded_in(const std::string& root) {
  std::vector<std::string> paths;
  for (auto each : guarded_paths()) {
    if (each == ".coven" && is_there(root + "/.coven")) continue;  // it is hidden
    if (!each.starts_with(".git/")) paths.push_back(fmt::format("{}/{}", root, each));
  }
  for (auto& path : guarded_in_repository(root)) paths.push_back(std::move(path));
  // The user's own settings say whether anybody is confined; they are in the project if the home folder is.
  if (auto config = home_folder("XDG_CONFIG_HOME", "/.config"); !config.empty())
    paths.push_back(config + "/crucible");
  return paths;
}

std::vector<std::string> guarded_in_repository(const std::string& folder) {
  constexpr std::string_view of_git = ".git/";
  std::vector<std::string> paths;
  std::error_code error;
  // A link, or the file of a worktree or a submodule: it says where git finds its settings. A repository that
  // is made anew has hooks and a configuration of its own.
  if (!fs::is_directory(fs::symlink_status(folder + "/.git", error)) && is_there(folder + "/.git"))
    paths.push_back(folder + "/.git");
  for (const auto& git : std::set{common_git_folder(folder), own_git_place(folder)}) {
    if (git.empty()) continue;
    for (auto each : guarded_paths())
      if (each.starts_with(of_git)) paths.push_back(fmt::format("{}/{}", git, each.substr(of_git.size())));
    // As a whole: one may be added while somebody is confined.
    paths.push_back(git + "/worktrees");
  }
  for (auto& path : paths_in_git_settings(folder)) paths.push_back(std::move(path));
  return paths;
}

std::string own_git_folder(const std::string& root, const std::string& folder) {
  constexpr std::string_view key = "gitdir: ";
  if (folder == root) return {};
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(folder + "/.git", error))) return {};
  auto text = read_file(folder + "/.git", 8192);
  if (!text || !text->starts_with(key)) return {};
  auto place =
      fs::canonical(fs::path(folder) / text->substr(key.size(), text->find('\n') - key.size()), error);
  auto git = common_git_folder(root);
  return !error && !git.empty() && place.parent_path() == git + "/worktrees" ? place.string() : std::string();
}

namespace {

std::vector<std::string> search_repositories(const std::string& root) {
  constexpr size_t most_folders = 1000, most_found = 64;  // a few milliseconds
  constexpr int deepest = 6;
  std::vector<std::string> found, level{root};
  size_t looked = 0;
  for (int depth = 0; depth <= deepest && !level.empty(); ++depth) {
    std::vector<std::string> next;
    for (const auto& folder : level) {
      if (++looked > most_folders || found.size() >= most_found) return found;
      if (depth > 0 && is_there(folder + "/.git")) found.push_back(folder);
      std::error_code error;
      for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        auto name = at->path().filename();
        if (name == ".git" || name == ".coven" || name == "node_modules") continue;
        if (!at->is_symlink(error) && at->is_directory(error)) next.push_back(at->path().string());
      }
    }
    std::ranges::sort(next);
    level = std::move(next);
  }
  return found;
}

}  // namespace

std::vector<std::string> nested_repositories(const std::string& root) {
  constexpr size_t most_known = 256;
  auto found = search_repositories(root);
  if (!is_there(root + "/.coven")) return found;
  // A search that ends early, because somebody has made many folders, loses none that was found before.
  auto record = root + "/.coven/repositories";
  auto text = read_file(record, 1u << 20);
  std::string known = text ? *text : std::string(), now;
  std::istringstream lines(known);
  for (std::string path; std::getline(lines, path);)
    if (is_or_is_below(path, root) && is_there(path + "/.git") &&
        std::ranges::find(found, path) == found.end())
      found.push_back(path);
  if (found.size() > most_known) found.resize(most_known);
  for (const auto& path : found) now += path + "\n";
  if (now != known) (void)replace_passing_file(record, now, 0600);
  return found;
}

std::vector<std::string> entries_but(const std::string& folder, const std::vector<std::string>& closed) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
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

namespace {

/// Whoever listens there does nothing for anybody but to note a line or to tell a name.
bool is_harmless(const std::string& path) {
  constexpr std::array<std::string_view, 9> harmless = {
      "/dev/log",      "/run/systemd/journal", "/run/systemd/resolve", "/run/systemd/userdb", "/run/nscd",
      "/var/run/nscd", "/var/lib/sss/pipes",   "/run/avahi-daemon",    "/var/cache/nscd"};
  return std::ranges::any_of(harmless, [&](auto each) { return is_or_is_below(path, each); });
}

}  // namespace

std::vector<std::string> sockets_of_user() {
  std::set<std::string> found;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    auto at = line.find(" /");
    struct stat status{};
    if (at == std::string::npos || ::lstat(line.c_str() + at + 1, &status) != 0) continue;
    auto path = line.substr(at + 1);
    bool is_reached = status.st_uid == ::geteuid() || ::access(path.c_str(), W_OK) == 0;
    if (S_ISSOCK(status.st_mode) && is_reached && !is_harmless(path)) found.insert(std::move(path));
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

std::string project_cache(const std::string& root) {
  auto cache = root + "/.coven/cache";
  return is_there(root + "/.coven") && make_folder(cache, 0700) ? cache : std::string();
}

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
