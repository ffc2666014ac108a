#include "runs/placeholders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>
#include <utility>
#include <vector>

#include "base/guarded_paths.h"
#include "base/json.h"
#include "platform/files/beneath.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/passing_file.h"
#include "platform/sandbox/git_settings.h"

namespace cru::runs {
namespace {

namespace fs = std::filesystem;

/// What is guarded, may be missing, and does no harm when it is there and says nothing.
struct Placeholder {
  std::string_view path;
  bool is_folder;
  std::string_view content;
};
constexpr std::array placeholders = {
    Placeholder{".claude", true, ""}, Placeholder{".codex", true, ""}, Placeholder{".gemini", true, ""},
    Placeholder{".crucible", true, ""},
    Placeholder{".mcp.json", true,
                ""},  // a folder: git adds none, as it would a file; Claude Code leaves it out
    Placeholder{".git/hooks", true, ""}, Placeholder{".git/modules", true, ""},
    // git removes the folder with the last worktree, and leaves one that is locked where it is.
    Placeholder{".git/worktrees", true, ""}, Placeholder{".git/worktrees/cru-placeholder", true, ""},
    Placeholder{".git/worktrees/cru-placeholder/locked", false, "held while agents are confined\n"},
    Placeholder{".git/config.worktree", false, ""},
    Placeholder{".git/commondir", false, ".\n"},  // git's own folder, which it is without the file too
};
constexpr size_t max_record = 256u << 10;

/// Which of them are ours, by their whole paths: who has made an empty folder for himself keeps it.
std::string record_of(const std::string& root) { return root + "/.coven/placeholders.json"; }

std::set<std::string> recorded(const std::string& root) {
  std::set<std::string> made;
  auto text = read_file(record_of(root), max_record);
  auto list = text ? parse_json(*text) : Result<json::value>(fail(text.error()));
  if (!list || !list->is_array()) return made;
  for (const auto& each : list->get_array())
    if (each.is_string())
      made.insert(each.get_string().starts_with('/') ? std::string(each.get_string())
                                                     : root + "/" + std::string(each.get_string()));
  return made;
}

bool is_of_git(const Placeholder& each) { return each.path.starts_with(".git/"); }
/// The end of its whole path: git's own folder may have another name.
std::string_view end_of(const Placeholder& each) {
  return is_of_git(each) ? each.path.substr(std::string_view(".git/").size()) : each.path;
}
std::string real_path(const std::string& path) {
  std::error_code error;
  auto real = fs::weakly_canonical(path, error);
  return error ? path : real.string();
}
/// Git's own folder, if what is in it has to be held. Submodules' are guarded as a whole.
std::string git_to_hold(const std::string& folder, const std::string& root) {
  auto git = real_path(common_git_folder(folder)), whole = real_path(common_git_folder(root));
  bool is_guarded = !whole.empty() && is_or_is_below(git, whole + "/modules");
  return is_or_is_below(git, root) && !is_guarded ? git : std::string();
}

/// A name in a folder that is held open and was reached through no link: whoever is jailed already may put
/// one anywhere above it meanwhile, and have us make or remove something elsewhere.
struct HeldName {
  Fd folder;
  std::string path;

  static Result<HeldName> at(const std::string& path) {
    auto top = open_folder("/");
    if (!top) return fail(std::move(top.error()));
    auto above = fs::path(path).parent_path();
    auto folder = open_beneath(*top, above.relative_path().string(), BeneathAs::place, BeneathLinks::refused);
    if (!folder) return fail(system_error(folder.error().value(), "open " + above.string()));
    auto held = fmt::format("/proc/self/fd/{}/{}", folder->get(), fs::path(path).filename().string());
    return HeldName{*std::move(folder), std::move(held)};
  }
};

void remove(const std::string& path, const Placeholder& each) {
  auto name = HeldName::at(path);
  if (!name) return;
  std::error_code error;
  if (each.is_folder) {
    if (fs::is_directory(fs::symlink_status(name->path, error))) (void)remove_empty_folder(name->path);
  } else if (auto text = read_file(name->path, max_record); text && *text == each.content) {
    (void)remove_file(name->path);
  }
}

/// Somebody else who made it in the same instant holds the place as well.
Result<> make_one(const std::string& path, const Placeholder& each) {
  auto name = HeldName::at(path);
  if (!name) return fail(std::move(name.error()));
  auto made = each.is_folder ? make_single_folder(name->path, 0755)
                             : create_passing_file(name->path, each.content, 0644);
  std::error_code error;
  if (made || fs::exists(fs::symlink_status(name->path, error))) return {};
  return made;
}

}  // namespace

struct Placeholders::Missing {
  std::string path;
  Placeholder what;

  static void look(const std::string& folder, const std::string& git, bool is_nested,
                   std::vector<Missing>& into) {
    std::error_code error;
    for (const auto& each : placeholders) {
      if (is_of_git(each) ? git.empty() : is_nested) continue;
      auto path = fmt::format("{}/{}", is_of_git(each) ? git : folder, end_of(each));
      if (!fs::exists(fs::symlink_status(path, error))) into.push_back({path, each});
    }
  }
};

Result<> Placeholders::make(const std::vector<Missing>& missing) {
  auto known = recorded(root_);
  auto made = known;
  for (const auto& each : missing) made.insert(each.path);
  // Recorded first: a daemon that dies must not leave one that nobody knows to be ours.
  if (made != known)
    if (auto written = replace_passing_file(record_of(root_), to_text(json::value_from(made)), 0600);
        !written)
      return written;
  for (const auto& each : missing)
    if (auto done = make_one(each.path, each.what); !done) return done;
  return {};
}

Result<> Placeholders::hold(const std::string& uid, const std::string& folder,
                            const std::vector<std::string>& repositories) {
  std::lock_guard lock(mutex_);
  holders_.insert(uid);
  std::vector<Missing> missing;
  for (const auto& whole : std::set{real_path(root_), real_path(folder)})
    Missing::look(whole, git_to_hold(whole, root_), false, missing);
  for (const auto& nested : repositories) Missing::look(nested, git_to_hold(nested, root_), true, missing);
  return make(missing);
}

void Placeholders::let_go(const std::string& uid) {
  std::lock_guard lock(mutex_);
  holders_.erase(uid);
  if (knows_holders_ && holders_.empty()) remove_all();
}

void Placeholders::take_over(std::set<std::string> uids) {
  std::lock_guard lock(mutex_);
  knows_holders_ = true;
  holders_ = std::move(uids);
  if (holders_.empty()) return remove_all();
  std::vector<Missing> missing;
  std::error_code error;
  auto is_made_first = [&](const fs::path& folder) {
    return std::ranges::any_of(missing, [&](const Missing& each) { return each.path == folder; });
  };
  for (const auto& path : recorded(root_))
    for (const auto& each : placeholders)
      if (path.ends_with(fmt::format("/{}", end_of(each))) && !fs::exists(fs::symlink_status(path, error)) &&
          (fs::is_directory(fs::path(path).parent_path(), error) ||
           is_made_first(fs::path(path).parent_path())))
        missing.push_back({path, each});
  if (auto made = make(missing); !made) log_error("cannot hold the place of guarded paths", made.error());
}

void Placeholders::remove_all() {
  auto made = recorded(root_);
  if (made.empty()) return;
  for (const auto& path : std::views::reverse(made))  // what is in a folder goes before it
    for (const auto& each : placeholders)
      if (path.ends_with(fmt::format("/{}", end_of(each)))) remove(path, each);
  (void)remove_file(record_of(root_));
}

}  // namespace cru::runs
