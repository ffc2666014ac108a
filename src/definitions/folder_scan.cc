#include "definitions/folder_scan.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "definitions/frontmatter.h"
#include "platform/files/beneath.h"

namespace cru::definitions {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_files_seen = 100'000;
constexpr auto settling = std::chrono::nanoseconds(2s);

bool is_settled(const FileStatus& state) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::nanoseconds(std::max(state.changed_ns, state.modified_ns)) > settling;
}

struct FileNames {
  std::set<std::string> names;  ///< the first, in order
  bool more = false;
  std::error_code trouble;
};

FileNames names_in(const std::string& folder) {
  FileNames out;
  fs::directory_iterator entry(folder, out.trouble);
  if (out.trouble == std::errc::no_such_file_or_directory) out.trouble.clear();
  std::error_code broken;
  for (size_t seen = 0; entry != fs::directory_iterator() && seen < max_files_seen; ++seen) {
    auto name = entry->path().filename().string();
    entry.increment(broken);
    if (name.starts_with('.') || !name.ends_with(".md")) continue;
    out.names.insert(std::move(name));
    if (out.names.size() <= max_files) continue;
    out.names.erase(std::prev(out.names.end()));
    out.more = true;
  }
  return out;
}

Parsed unreadable(const std::string& path, std::error_code reason) {
  Parsed parsed;
  parsed.problems.push_back({path, 1, "", fmt::format("cannot be read: {}", reason.message()),
                             reason == std::errc::permission_denied ? "make it readable: chmod u+r" : ""});
  return parsed;
}

Parsed refused(const std::string& path, const Error& error) {
  Parsed parsed;
  parsed.problems.push_back({path, 1, "", error.message, error.hint});
  return parsed;
}

/// Opened so that no link leads out of the project; what is no regular file is not opened at all.
Result<OpenedFile> open_inside(const Beneath& root, const std::string& path) {
  auto real = root.resolve(path);
  if (!real) return fail(std::move(real.error()));
  auto file = root.open_file(*real);
  if (!file) return fail(std::move(file.error()));
  auto status = file_status(file->fd);
  return OpenedFile{std::move(file->fd), status};
}

/// Nothing if it is no file at all.
std::optional<ReadFile> read_one(const std::string& path, const std::string& shown, const std::string& stem,
                                 Source source, const ReadFiles& before, const Beneath* root) {
  auto failed = [&](std::error_code reason) {
    return ReadFile{{}, false, std::make_shared<const Parsed>(unreadable(shown, reason))};
  };
  auto status = file_status(path);
  if (!status) {
    std::error_code ignored;
    auto missing = std::make_error_code(std::errc::no_such_file_or_directory);
    if (status.error() == missing && !fs::exists(fs::symlink_status(path, ignored))) return {};
    return failed(missing);  // a link to nowhere
  }
  if (!status->is_plain_file()) return {};
  auto known = before.find(path);
  if (known != before.end() && known->second.settled && known->second.state == *status) return known->second;
  // It may have become something else meanwhile: never wait for a writer, and look again.
  auto inside = root ? open_inside(*root, path) : Result<OpenedFile>(OpenedFile{});
  if (!inside) return ReadFile{{}, false, std::make_shared<const Parsed>(refused(shown, inside.error()))};
  auto file = root ? SystemResult<OpenedFile>(*std::move(inside)) : open_to_read(path);
  if (!file) return failed(file.error());
  if (!file->status.is_plain_file()) return {};
  // One byte beyond the limit at most: the parser says that it is too large.
  auto text = read_part(file->fd, 0, max_file_bytes + 1);
  if (!text) return failed(text.error());
  auto parsed = std::make_shared<const Parsed>(parse_definition(*text, shown, stem, source));
  return ReadFile{file->status, is_settled(file->status), std::move(parsed), sha256(*text)};
}

}  // namespace

ScannedFolder scan_folder(const std::string& folder, const std::string& shown, Source source,
                          const ReadFiles& before, const std::string& root) {
  ScannedFolder out;
  out.found.path = shown;
  std::optional<Beneath> inside;
  if (folder.starts_with(root + "/") && !root.empty()) {
    auto opened = Beneath::open(root);
    auto real = opened ? opened->resolve(folder) : Result<std::string>(fail(opened.error()));
    auto wanted = folder.substr(root.size() + 1);
    if (real && *real != wanted)
      real = fail(Code::forbidden, fmt::format("{} is a symbolic link, which is not followed", shown), "",
                  "replace it by a folder");
    if (!real) {
      out.found.problems.push_back({shown, 1, "", real.error().message, real.error().hint});
      return out;
    }
    inside = *std::move(opened);
  }
  auto [names, more, trouble] = names_in(folder);
  if (trouble)
    out.found.problems.push_back({shown, 1, "", fmt::format("cannot be read: {}", trouble.message()), ""});
  if (more)
    out.found.problems.push_back({shown, 1, "", fmt::format("contains more than {} definitions", max_files),
                                  "only the first ones, by name, are used"});
  for (const auto& name : names) {
    auto stem = name.substr(0, name.size() - 3);
    auto path = folder + "/" + name;
    auto visible = shown + "/" + safe_for_terminal(name);
    auto read = read_one(path, visible, stem, source, before, inside ? &*inside : nullptr);
    if (!read) continue;
    out.found.files.push_back({visible, stem, read->parsed, read->sha256});
    out.read.emplace(path, *std::move(read));
  }
  return out;
}

}  // namespace cru::definitions
