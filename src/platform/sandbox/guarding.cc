#include "platform/sandbox/guarding.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "base/guarded_paths.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;                        // as many as the kernel follows
constexpr std::string_view not_searched = "objects";  // of git: many, and never links

class Guarding {
 public:
  Guarding(const std::vector<std::string>& roots, bool with_content, size_t most_entries)
      : roots_(roots), with_content_(with_content), most_entries_(most_entries) {}

  Guard all(const std::vector<std::string>& paths) {
    for (const auto& path : paths) walk(path);
    // Links in what is guarded lead to what is guarded too, and so on.
    while (!folders_to_search_.empty()) {
      auto folder = std::move(folders_to_search_.front());
      folders_to_search_.pop_front();
      search(folder);
    }
    for (const auto& [path, target] : missing_)
      if (with_content_ && !is_guarded(target) && guard_.trouble.empty())
        guard_.trouble = fmt::format("{} leads to {}, which does not exist and could be made", path, target);
    return std::move(guard_);
  }

 private:
  bool is_below_root(const std::string& path) const {
    return std::ranges::any_of(roots_,
                               [&](const auto& root) { return path != root && is_or_is_below(path, root); });
  }
  bool is_root_or_above(const std::string& path) const {
    return std::ranges::any_of(roots_, [&](const auto& root) { return is_or_is_below(root, path); });
  }
  bool is_guarded(const std::string& path) const {
    return std::ranges::any_of(guard_.readonly, [&](const auto& each) { return is_or_is_below(path, each); });
  }

  /// What is in a folder that is guarded needs nothing more.
  bool is_open(const std::string& path) const { return is_below_root(path) && !is_guarded(path); }

  static void put_before(const fs::path& target, std::deque<std::string>& names) {
    std::vector<std::string> more;
    for (const auto& part : target.relative_path()) more.push_back(part.string());
    names.insert(names.begin(), more.begin(), more.end());
  }

  /// From the top to where `path` leads.
  void walk(const std::string& path) {
    std::deque<std::string> names;
    put_before(path, names);
    fs::path here = "/";
    int links = 0;
    while (!names.empty()) {
      auto name = std::move(names.front());
      names.pop_front();
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        here = here.parent_path();
        continue;
      }
      auto next = here / name;
      std::error_code error;
      auto status = fs::symlink_status(next, error);
      if (!fs::exists(status)) {
        if (links > 0 && is_below_root(next.string())) missing_.emplace_back(path, next.string());
        return;
      }
      if (fs::is_symlink(status)) {
        if (is_open(next.string())) guard_.links.insert(next.string());
        auto target = fs::read_symlink(next, error);
        if (error || ++links > most_links) {
          guard_.trouble = fmt::format("{} leads through too many links", path);
          return;
        }
        if (target.is_absolute()) here = "/";
        put_before(target, names);
        continue;
      }
      here = next;
      if (!names.empty() && is_open(here.string())) guard_.folders.insert(here.string());
    }
    arrive(path, here.string());
  }

  void arrive(const std::string& path, const std::string& place) {
    if (!with_content_) return;
    if (is_root_or_above(place)) {
      guard_.trouble = fmt::format("{} leads to {}, which contains what may be written", path, place);
      return;
    }
    if (!is_below_root(place) || is_guarded(place)) return;
    bool is_new = guard_.readonly.insert(place).second;
    std::error_code error;
    if (is_new && fs::is_directory(fs::symlink_status(place, error))) folders_to_search_.push_back(place);
  }

  void search(const std::string& folder) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      if (++entries_ > most_entries_) {
        guard_.trouble = fmt::format(
            "{} and other guarded folders have more than {} files, too many to find every link in them",
            folder, most_entries_);
        return folders_to_search_.clear();
      }
      std::error_code gone;
      auto status = at->symlink_status(gone);
      if (fs::is_symlink(status)) walk(at->path().string());
      if (fs::is_directory(status) && at->path().filename() != not_searched)
        folders_to_search_.push_back(at->path().string());
    }
  }

  const std::vector<std::string>& roots_;
  const bool with_content_;
  const size_t most_entries_;
  Guard guard_;
  std::deque<std::string> folders_to_search_;
  std::vector<std::pair<std::string, std::string>> missing_;
  size_t entries_ = 0;
};

}  // namespace

Guard guard(const std::vector<std::string>& paths, const std::vector<std::string>& roots,
            size_t most_entries) {
  return Guarding(roots, true, most_entries).all(paths);
}

Guard guard_places(const std::vector<std::string>& paths, const std::vector<std::string>& roots) {
  return Guarding(roots, false, 0).all(paths);
}

}  // namespace cru
