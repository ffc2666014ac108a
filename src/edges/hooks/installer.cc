#include "edges/hooks/installer.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "edges/hooks/diff.h"
#include "platform/files/files.h"

namespace cru::hooks {
namespace {

namespace fs = std::filesystem;
constexpr size_t max_file_bytes = 4u << 20, max_backups = 5;
constexpr const char* backup_mark = ".cru-backup-";

std::unexpected<Error> about(const std::string& path, Error error) {
  error.message = fmt::format("{}: {}", path, error.message);
  if (error.code == Code::invalid_argument && error.hint.empty())
    error.hint = "nothing was changed; correct the file and retry";
  return fail(std::move(error));
}

/// The file behind the links; the path itself if nothing is there.
Result<std::string> real_path(const std::string& path) {
  std::error_code error;
  auto real = fs::canonical(path, error);
  if (!error) return real.string();
  if (fs::is_symlink(fs::symlink_status(path, error)))
    return fail(Code::not_found, path + ": dangling symbolic link", {}, "fix the link first");
  return path;
}

Result<FileText> read_text(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 && errno == ENOENT) return FileText();
  auto text = read_file(path, max_file_bytes);
  if (!text) return fail(text.error());
  return FileText(std::move(*text));
}

/// 20261116T031500.250Z: in the order of time if sorted.
std::string timestamp(Time now) {
  std::string out;
  for (char c : to_rfc3339(now))
    if (c != '-' && c != ':') out += c;
  return out;
}

/// Takes away all but the newest copies; never the one just made, whatever the clock says.
void drop_old_backups(const std::string& path, const std::string& made) {
  auto start = fs::path(path).filename().string() + backup_mark;
  std::vector<std::string> copies;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path(), error)) {
    auto name = entry.path().filename().string();
    if (!name.starts_with(start) || entry.path() == fs::path(made)) continue;
    // Only names that we give: somebody may keep a copy of his own.
    auto rest = std::string_view(name).substr(start.size());
    if (rest.size() == timestamp({}).size() && rest.find_first_not_of("0123456789T.Z") == rest.npos)
      copies.push_back(entry.path().string());
  }
  std::ranges::sort(copies, std::greater());
  for (size_t i = max_backups - 1; i < copies.size(); ++i) ::unlink(copies[i].c_str());
}

/// A copy of the file as it is, beside it. A name that is taken is never used again.
Result<std::string> back_up(const std::string& path, const std::string& text, unsigned mode, Time now) {
  auto name = [&] { return path + backup_mark + timestamp(now); };
  struct stat info{};
  while (::lstat(name().c_str(), &info) == 0) now += 1ms;
  auto copy = name();
  if (auto written = write_file(copy, text, mode); !written) return fail(written.error());
  drop_old_backups(path, copy);
  return copy;
}

Result<> write_text(const std::string& path, const FileText& text) {
  if (!text)
    return ::unlink(path.c_str()) == 0 ? Result<>() : Result<>(fail(system_error(errno, "remove " + path)));
  struct stat info{};
  unsigned mode = ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0644;
  if (auto made = make_folder(fs::path(path).parent_path().string()); !made) return made;
  return write_file(path, *text, mode);
}

}  // namespace

Result<std::vector<Target>> targets(Host host, bool for_user, const api::Project& project,
                                    const api::Environment& environment) {
  auto home = environment("HOME").value_or("");
  bool needs_home = for_user || host == Host::codex;
  if (needs_home && home.empty()) return fail(Code::invalid_argument, "HOME is not set");
  if (host == Host::codex) {
    auto folder = environment("CODEX_HOME").value_or(home + "/.codex");
    return std::vector<Target>{
        {host, true, "hooks and mcp", folder + "/config.toml", add_to_codex, take_from_codex, in_codex}};
  }
  auto folder =
      for_user ? environment("CLAUDE_CONFIG_DIR").value_or(home + "/.claude") : project.root + "/.claude";
  std::vector<Target> list{
      {host, for_user, "hooks", folder + "/settings.json", add_to_settings, take_from_settings, in_settings}};
  // For the user's own servers Claude Code keeps a file that it rewrites all the time: not ours to touch.
  if (!for_user)
    list.push_back(
        {host, false, "mcp", project.root + "/.mcp.json", add_to_servers, take_from_servers, in_servers});
  return list;
}

std::string own_program(const api::Environment& environment) {
  std::error_code error;
  auto self = fs::read_symlink("/proc/self/exe", error);
  auto path = environment("PATH").value_or("");
  for (size_t at = 0; at <= path.size();) {
    auto end = std::min(path.find(':', at), path.size());
    auto candidate = fs::path(path.substr(at, end - at)) / "cru";
    at = end + 1;
    if (!candidate.is_absolute() || ::access(candidate.c_str(), X_OK) != 0) continue;
    return fs::equivalent(candidate, self, error) ? "cru" : self.string();
  }
  return self.string();
}

Result<Installed> look_at(const Target& target) {
  auto path = real_path(target.path);
  if (!path) return fail(path.error());
  auto text = read_text(*path);
  if (!text) return fail(text.error());
  auto found = target.look(*text);
  if (!found) return about(target.path, found.error());
  return found;
}

Result<Change> change_file(const Target& target, bool add, const Installation& installation, bool dry_run,
                           Time now) {
  auto path = real_path(target.path);
  if (!path) return fail(path.error());
  auto before = read_text(*path);
  if (!before) return fail(before.error());
  auto after = add ? target.add(*before, installation) : target.take(*before);
  if (!after) return about(target.path, after.error());
  Change change{.path = target.path, .diff = {}, .backup = {}};
  if (*after == *before) return change;
  change.diff = unified_diff(before->value_or(""), after->value_or(""), *before ? target.path : "/dev/null",
                             *after ? target.path : "/dev/null");
  if (change.diff.empty())
    change.diff = fmt::format("--- {}\n+++ /dev/null\n", target.path);  // an empty file goes
  if (dry_run) return change;
  // A file that holds nothing but what we write is not worth a copy.
  auto alone = target.add(FileText(), installation);
  if (*before && !(alone && *alone == *before)) {
    struct stat info{};
    unsigned mode = ::stat(path->c_str(), &info) == 0 ? info.st_mode & 07777 : 0600;
    auto copied = back_up(target.path, **before, mode, now);
    if (!copied) return fail(copied.error());
    change.backup = std::move(*copied);
  }
  auto still = read_text(*path);
  if (!still) return fail(still.error());
  if (*still != *before)
    return fail(Code::conflict, target.path + ": the file was changed in the meantime", {}, "try again");
  if (auto written = write_text(*path, *after); !written) return fail(written.error());
  return change;
}

}  // namespace cru::hooks
