#include "edges/hooks/installer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/diff.h"
#include "edges/hooks/hook_guard.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/own_folder.h"
#include "platform/process/self.h"
#include "platform/process/subprocess.h"

namespace cru::hooks {
namespace {

namespace fs = std::filesystem;
constexpr size_t max_file_bytes = 4u << 20, max_backups = 5;
constexpr const char* old_backup_mark = ".cru-backup-";

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

/// What the system said, and what to do about it.
std::unexpected<Error> in_trouble(std::string_view doing, const std::string& path, Error error) {
  auto reason = error.message.substr(error.message.rfind(": ") + 2);
  if (error.code == Code::forbidden || error.code == Code::not_found)
    error.message = fmt::format("cannot {} {}: {}", doing, path, reason);
  if (error.code == Code::forbidden && error.hint.empty())
    error.hint = fmt::format(
        "nothing was changed; give yourself the right to {} it and its folder, or add the "
        "entries by hand: cru hooks install --dry-run shows them",
        doing);
  return fail(std::move(error));
}

/// Only a plain file is opened: a pipe would be waited for without end.
Result<FileText> read_text(const std::string& path) {
  std::error_code error;
  auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return FileText();
  if (!error && !fs::is_regular_file(status))
    return fail(
        Code::invalid_argument,
        fmt::format("{} is {}, not a file", path, fs::is_directory(status) ? "a folder" : "a device or pipe"),
        {}, "nothing was changed; move it away and retry");
  auto text = read_file(path, max_file_bytes);
  if (!text) return in_trouble("read", path, text.error());
  return FileText(std::move(*text));
}

/// 20261116T031500.250Z: in the order of time if sorted.
std::string timestamp(Time now) {
  std::string out;
  for (char c : to_rfc3339(now))
    if (c != '-' && c != ':') out += c;
  return out;
}

bool is_timestamp(std::string_view text) {
  return text.size() == timestamp({}).size() && text.find_first_not_of("0123456789T.Z") == text.npos;
}

/// The files in `folder` named `start` and a time: somebody may keep a copy of his own. Newest first.
std::vector<std::string> copies_in(const fs::path& folder, const std::string& start) {
  std::vector<std::string> copies;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    auto name = entry.path().filename().string();
    if (name.starts_with(start) && is_timestamp(std::string_view(name).substr(start.size())))
      copies.push_back(entry.path().string());
  }
  std::ranges::sort(copies, std::greater());
  return copies;
}

/// Takes away all but the newest copies; never the one just made, whatever the clock says.
void drop_old_backups(const Target& target, const std::string& made) {
  auto copies = copies_in(target.backups, target.copy_name);
  std::erase(copies, made);
  for (size_t i = max_backups - 1; i < copies.size(); ++i) (void)remove_file(copies[i]);
}

/// The folder of the copies. A project's is in its state folder, which git does not see; a repository may
/// bring one of its own, which may not lead us elsewhere.
Result<> prepare_backups(const Target& target) {
  fs::path parent = fs::path(target.backups).parent_path();
  if (!target.for_user)
    if (auto ours = open_state_folder(parent.parent_path().string(), parent.filename().string()); !ours)
      return fail(std::move(ours.error()));
  for (const auto& folder : {parent.string(), target.backups})
    if (auto made = make_folder(folder, 0700); !made) return made;
  for (const auto& folder : {parent.string(), target.backups})
    if (!is_own_folder(folder))
      return fail(Code::forbidden, folder + " is not a folder that belongs to you", {},
                  "remove it and try again");
  auto ignore = parent.string() + "/.gitignore";
  if (target.for_user || file_exists(ignore)) return {};
  return write_file(ignore, "*\n");
}

/// A copy of the file as it is. A name that is taken is never used again.
Result<std::string> back_up(const Target& target, const std::string& text, unsigned mode, Time now) {
  if (auto ready = prepare_backups(target); !ready) return fail(ready.error());
  auto name = [&] { return fmt::format("{}/{}{}", target.backups, target.copy_name, timestamp(now)); };
  while (link_status(name())) now += 1ms;
  auto copy = name();
  if (auto written = write_file(copy, text, mode); !written) return fail(written.error());
  drop_old_backups(target, copy);
  return copy;
}

/// cru 0.1 kept its copies beside the file. They go to the others; one that cannot stays where it is.
void move_old_backups(const Target& target) {
  auto start = fs::path(target.path).filename().string() + old_backup_mark;
  for (const auto& old : copies_in(fs::path(target.path).parent_path(), start)) {
    auto text = read_file(old, max_file_bytes);
    auto status = file_status(old);
    if (!text || !status || !prepare_backups(target)) continue;
    auto name = fs::path(old).filename().string().substr(start.size());
    auto copy = fmt::format("{}/{}{}", target.backups, target.copy_name, name);
    if (create_file(copy, *text, status->mode & 07777)) (void)remove_file(old);
  }
}

Result<> write_text(const std::string& path, const FileText& text) {
  if (!text) return remove_file(path);
  auto status = file_status(path);
  unsigned mode = status ? status->mode & 07777 : 0644;
  if (auto made = make_folder(fs::path(path).parent_path().string()); !made)
    return in_trouble("write", path, made.error());
  if (auto written = write_file(path, *text, mode); !written)
    return in_trouble("write", path, written.error());
  return {};
}

}  // namespace

Result<std::vector<Target>> targets(Host host, bool for_user, const api::Project& project,
                                    const api::Environment& environment) {
  auto variable = [&](const char* name) { return environment(name).value_or(""); };
  auto home = variable("HOME");
  bool needs_home = for_user || host == Host::codex;
  if (needs_home && home.empty())
    return fail(Code::invalid_argument, "HOME is not set, so the host's settings cannot be found", {},
                "set HOME to your home folder, then try again");
  // A folder that a variable names has to be there, whoever made it: only the hosts' own may go.
  auto own_state = hook_log_of({}, environment).fallback + "/backups";
  if (host == Host::codex) {
    auto named = variable("CODEX_HOME");
    auto folder = named.empty() ? home + "/.codex" : named;
    return std::vector<Target>{{.host = host,
                                .for_user = true,
                                .what = "hooks and mcp",
                                .path = folder + "/config.toml",
                                .add = add_to_codex,
                                .take = take_from_codex,
                                .look = in_codex,
                                .backups = own_state,
                                .copy_name = "codex-config.toml.",
                                .own_folder = named.empty(),
                                .remark = remark_on_codex}};
  }
  auto named = for_user ? variable("CLAUDE_CONFIG_DIR") : std::string();
  auto folder = !named.empty() ? named : (for_user ? home : project.root) + "/.claude";
  if (!for_user)
    if (auto ours = check_state_folder(project.root, ".coven"); !ours) return fail(std::move(ours.error()));
  auto backups = for_user ? own_state : project.state() + "/backups";
  std::vector<Target> list{{.host = host,
                            .for_user = for_user,
                            .what = "hooks",
                            .path = folder + "/settings.json",
                            .add = add_to_settings,
                            .take = take_from_settings,
                            .look = in_settings,
                            .backups = backups,
                            .copy_name = "claude-settings.json.",
                            .own_folder = named.empty()}};
  // For the user's own servers Claude Code keeps a file that it rewrites all the time: not ours to touch.
  if (!for_user)
    list.push_back({.host = host,
                    .for_user = false,
                    .what = "mcp",
                    .path = project.root + "/.mcp.json",
                    .add = add_to_servers,
                    .take = take_from_servers,
                    .look = in_servers,
                    .backups = backups,
                    .copy_name = "mcp.json."});
  return list;
}

std::string own_program(const api::Environment& environment) {
  std::error_code error;
  auto self = own_executable();
  auto path = environment("PATH").value_or("");
  for (size_t at = 0; at <= path.size();) {
    auto end = std::min(path.find(':', at), path.size());
    auto candidate = fs::path(path.substr(at, end - at)) / "cru";
    at = end + 1;
    if (!candidate.is_absolute() || !may_execute(candidate.string())) continue;
    return fs::equivalent(candidate, self, error) ? "cru" : self;
  }
  return self;
}

ProgramVersion claude_version() {
  auto said = run_program({"claude", "--version"}, "/", 10s);
  return said && said->exit_code == 0 ? version_in(said->out) : ProgramVersion();
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

std::string remark_on(const Target& target) {
  auto path = real_path(target.path);
  auto text = path && target.remark ? read_text(*path) : Result<FileText>();
  return text && *text ? target.remark(*text) : std::string();
}

Result<CodexTrust> look_at_trust(const Target& target) {
  auto path = real_path(target.path);
  if (!path) return fail(path.error());
  auto text = read_text(*path);
  if (!text) return fail(text.error());
  // Codex resolves the links of the folder that CODEX_HOME names, and no others.
  fs::path named = target.path;
  std::error_code error;
  auto folder = fs::canonical(named.parent_path(), error);
  std::vector<std::string> paths = {target.path};
  if (!error) paths.push_back((folder / named.filename()).string());
  auto trust = trust_in_codex(*text, paths);
  if (!trust) return about(target.path, trust.error());
  return trust;
}

Result<Change> change_file(const Target& target, bool add, const Installation& asked, bool dry_run,
                           Time now) {
  auto path = real_path(target.path);
  if (!path) return fail(path.error());
  auto before = read_text(*path);
  if (!before) return fail(before.error());
  auto installation = asked;
  std::error_code error;
  bool has_folder = fs::exists(fs::path(target.path).parent_path(), error);
  installation.makes_folder = !target.own_folder && (*before ? has_own_folder(*before) : !has_folder);
  auto after = add ? target.add(*before, installation) : target.take(*before);
  if (!after) return about(target.path, after.error());
  if (!dry_run) move_old_backups(target);
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
    auto status = file_status(*path);
    unsigned mode = status ? status->mode & 07777 : 0600;
    auto copied = back_up(target, **before, mode, now);
    if (!copied) return fail(copied.error());
    change.backup = std::move(*copied);
  }
  auto still = read_text(*path);
  if (!still) return fail(still.error());
  if (*still != *before)
    return fail(Code::conflict, target.path + ": the file was changed in the meantime", {}, "try again");
  if (auto written = write_text(*path, *after); !written) return fail(written.error());
  // Only an empty folder can be removed.
  if (!*after && (target.own_folder || installation.makes_folder))
    (void)remove_empty_folder(fs::path(target.path).parent_path().string());
  return change;
}

}  // namespace cru::hooks
