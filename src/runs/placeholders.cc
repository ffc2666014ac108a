#include "runs/placeholders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/json.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/passing_file.h"

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
    Placeholder{".claude", true, ""},
    Placeholder{".codex", true, ""},
    Placeholder{".gemini", true, ""},
    Placeholder{".crucible", true, ""},
    Placeholder{".git/hooks", true, ""},
    Placeholder{".git/modules", true, ""},
    Placeholder{".git/config.worktree", false, ""},
    Placeholder{".git/commondir", false, ".\n"},  // git's own folder, which it is without the file too
};
constexpr size_t max_record = 64u << 10;

/// Which of them are ours: who has made an empty folder for himself keeps it.
std::string record_of(const std::string& root) { return root + "/.coven/placeholders.json"; }

std::set<std::string> recorded(const std::string& root) {
  std::set<std::string> made;
  auto text = read_file(record_of(root), max_record);
  auto list = text ? parse_json(*text) : Result<json::value>(fail(text.error()));
  if (!list || !list->is_array()) return made;
  for (const auto& each : list->get_array())
    if (each.is_string()) made.emplace(each.get_string());
  return made;
}

}  // namespace

void Placeholders::hold(const std::string& uid) {
  std::lock_guard lock(mutex_);
  holders_.insert(uid);
  std::error_code error;
  bool has_git = fs::is_directory(fs::symlink_status(root_ + "/.git", error));
  auto made = recorded(root_);
  auto known = made.size();
  auto is_missing = [&](const Placeholder& each) {
    if (each.path.starts_with(".git/") && !has_git) return false;
    return !fs::exists(fs::symlink_status(fmt::format("{}/{}", root_, each.path), error));
  };
  std::vector<Placeholder> missing;
  std::ranges::copy_if(placeholders, std::back_inserter(missing), is_missing);
  for (const auto& each : missing) made.emplace(each.path);
  // Recorded first: a daemon that dies must not leave one that nobody knows to be ours.
  if (made.size() > known)
    if (auto written = replace_passing_file(record_of(root_), to_text(json::value_from(made)), 0600);
        !written)
      log_error("cannot record what holds the place of guarded paths", written.error());
  for (const auto& each : missing) {
    auto path = fmt::format("{}/{}", root_, each.path);
    if (each.is_folder)
      (void)make_single_folder(path, 0755);
    else
      (void)create_passing_file(path, each.content, 0644);
  }
}

void Placeholders::let_go(const std::string& uid) {
  std::lock_guard lock(mutex_);
  holders_.erase(uid);
  if (holders_.empty()) remove_all();
}

void Placeholders::take_over(std::set<std::string> uids) {
  std::lock_guard lock(mutex_);
  holders_ = std::move(uids);
  if (holders_.empty()) remove_all();
}

void Placeholders::remove_all() {
  auto made = recorded(root_);
  if (made.empty()) return;
  std::error_code error;
  for (const auto& each : placeholders) {
    if (!made.contains(std::string(each.path))) continue;
    auto path = fmt::format("{}/{}", root_, each.path);
    if (each.is_folder) {
      if (fs::is_directory(fs::symlink_status(path, error))) (void)remove_empty_folder(path);
    } else if (auto text = read_file(path, max_record); text && *text == each.content) {
      (void)remove_file(path);
    }
  }
  (void)remove_file(record_of(root_));
}

}  // namespace cru::runs
