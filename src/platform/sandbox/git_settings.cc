#include "platform/sandbox/git_settings.h"

#include <stdlib.h>

#include <filesystem>
#include <sstream>

#include "base/text.h"
#include "platform/files/files.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

constexpr int deepest_include = 10;  // as git's own
constexpr size_t max_settings = 1u << 20;

/// Without quotes and what comes after a comment's sign.
std::string value_of(const std::string& text) {
  std::string out;
  bool is_quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (text[at] == '#' || text[at] == ';')) {
      break;
    } else {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      out += text[at];
    }
  }
  return std::string(trim(out));
}

/// git's way with paths: `~/` is the home folder, and what is relative is so to `folder`.
std::string place_of(const std::string& path, const fs::path& folder) {
  const char* home = ::getenv("HOME");
  if (path.starts_with("~/") && home) return std::string(home) + path.substr(1);
  return (folder / path).lexically_normal().string();
}

void look(const fs::path& file, const std::string& folder, int depth, std::vector<std::string>& into) {
  auto text = depth <= deepest_include ? read_file(file.string(), max_settings) : fail(Code::internal, "");
  if (!text) return;
  std::istringstream lines(*text);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    while (line.ends_with('\\')) {
      std::string more;
      line.pop_back();
      if (!std::getline(lines, more)) break;
      line += more;
    }
    line = std::string(trim(line));
    if (line.starts_with('[')) {
      section = to_lower(line.substr(1, line.find_first_of(" \t\"].", 1) - 1));
      auto end = line.find(']');
      line = end == std::string::npos ? std::string()
                                      : std::string(trim(std::string_view(line).substr(end + 1)));
    }
    auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    auto key = to_lower(trim(std::string_view(line).substr(0, equals))),
         value = value_of(line.substr(equals + 1));
    if (value.empty()) continue;
    if (section == "core" && key == "hookspath") into.push_back(place_of(value, folder));
    if ((section == "include" || section == "includeif") && key == "path") {
      into.push_back(place_of(value, file.parent_path()));
      look(into.back(), folder, depth + 1, into);
    }
  }
}

/// The folder at `path`, or that a file there names behind `key`; relative ones are so to `folder`.
std::string folder_that(const fs::path& path, std::string_view key, const fs::path& folder) {
  std::error_code error;
  auto found = path;
  if (!fs::is_directory(path, error)) {
    auto text = read_file(path.string(), 8192);
    if (!text || !text->starts_with(key)) return {};
    found = folder / trim(std::string_view(*text).substr(key.size(), text->find('\n') - key.size()));
  }
  found = fs::canonical(found, error);
  return !error && fs::is_directory(found, error) ? found.string() : std::string();
}

/// For all of the user's repositories. A folder of hooks that they name is looked for in each.
std::vector<std::string> settings_of_user() {
  std::vector<std::string> files;
  std::string home = ::getenv("HOME") ? ::getenv("HOME") : "";
  std::string config = ::getenv("XDG_CONFIG_HOME") ? ::getenv("XDG_CONFIG_HOME") : "";
  if (!config.starts_with('/') && home.starts_with('/')) config = home + "/.config";
  if (home.starts_with('/')) files.push_back(home + "/.gitconfig");
  if (config.starts_with('/')) files.push_back(config + "/git/config");
  return files;
}

}  // namespace

std::string own_git_place(const std::string& folder) {
  return folder_that(folder + "/.git", "gitdir: ", folder);
}

std::string common_git_folder(const std::string& folder) {
  auto place = own_git_place(folder);
  std::error_code error;
  if (place.empty() || !fs::is_regular_file(place + "/commondir", error)) return place;
  auto common = folder_that(place + "/commondir", "", place);
  return common.empty() ? place : common;
}

std::vector<std::string> paths_in_git_settings(const std::string& folder) {
  std::vector<std::string> paths;
  auto own = common_git_folder(folder);
  if (own.empty()) return paths;
  for (const auto* name : {"/config", "/config.worktree"}) look(own + name, folder, 0, paths);
  for (const auto& file : settings_of_user()) {
    paths.push_back(file);
    look(file, folder, 0, paths);
  }
  return paths;
}

}  // namespace cru
