#include "definitions/folder_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/text.h"
#include "definitions/frontmatter.h"
#include "platform/files/fd.h"

namespace cru::definitions {
namespace {

constexpr size_t most_files_seen = 100'000;
constexpr int64_t settling_ns = 2'000'000'000;

int64_t to_ns(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

FileState state_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_size, to_ns(status.st_mtim), to_ns(status.st_ctim)};
}

bool is_settled(const FileState& state) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return to_ns(now) - std::max(state.changed_ns, state.modified_ns) > settling_ns;
}

struct FileNames {
  std::set<std::string> names;  ///< the first, in order
  bool more = false;
  int trouble = 0;
};

FileNames names_in(const std::string& folder) {
  FileNames out;
  DIR* open = ::opendir(folder.c_str());
  if (!open) {
    out.trouble = errno == ENOENT ? 0 : errno;
    return out;
  }
  for (size_t seen = 0; seen < most_files_seen; ++seen) {
    const auto* entry = ::readdir(open);
    if (!entry) break;
    std::string_view name = entry->d_name;
    if (name.starts_with('.') || !name.ends_with(".md")) continue;
    out.names.emplace(name);
    if (out.names.size() <= most_files) continue;
    out.names.erase(std::prev(out.names.end()));
    out.more = true;
  }
  ::closedir(open);
  return out;
}

Parsed unreadable(const std::string& path, int reason) {
  Parsed parsed;
  parsed.problems.push_back({path, 1, "", fmt::format("cannot be read: {}", std::strerror(reason)),
                             reason == EACCES ? "let yourself read it: chmod u+r" : ""});
  return parsed;
}

/// One byte beyond the limit at most: the parser says that it is too large. errno on failure.
std::expected<std::string, int> read_some(int fd) {
  std::string text(longest_file + 1, '\0');
  size_t used = 0;
  while (used < text.size()) {
    auto count = ::read(fd, text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(errno);
    if (count == 0) break;
    used += static_cast<size_t>(count);
  }
  text.resize(used);
  return text;
}

/// Nothing if it is no file at all.
std::optional<ReadFile> read_one(const std::string& path, const std::string& shown, const std::string& stem,
                                 Source source, const ReadFiles& before) {
  auto failed = [&](int reason) {
    return ReadFile{{}, false, std::make_shared<const Parsed>(unreadable(shown, reason))};
  };
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    bool gone = errno == ENOENT && ::lstat(path.c_str(), &status) != 0;
    if (gone) return {};
    return failed(ENOENT);  // a link to nowhere
  }
  if (!S_ISREG(status.st_mode)) return {};
  auto known = before.find(path);
  if (known != before.end() && known->second.settled && known->second.state == state_of(status))
    return known->second;
  // It may have become something else meanwhile: never wait for a writer, and look again.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return failed(errno);
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  auto text = read_some(fd.get());
  if (!text) return failed(text.error());
  auto state = state_of(status);
  auto parsed = std::make_shared<const Parsed>(parse_definition(*text, shown, stem, source));
  return ReadFile{state, is_settled(state), std::move(parsed)};
}

}  // namespace

ScannedFolder scan_folder(const std::string& folder, const std::string& shown, Source source,
                          const ReadFiles& before) {
  ScannedFolder out;
  out.found.path = shown;
  auto [names, more, trouble] = names_in(folder);
  if (trouble != 0)
    out.found.problems.push_back(
        {shown, 1, "", fmt::format("cannot be read: {}", std::strerror(trouble)), ""});
  if (more)
    out.found.problems.push_back({shown, 1, "", fmt::format("holds over {} definitions", most_files),
                                  "only the first, by name, are looked at"});
  for (const auto& name : names) {
    auto stem = name.substr(0, name.size() - 3);
    auto path = folder + "/" + name;
    auto visible = shown + "/" + safe_for_terminal(name);
    auto read = read_one(path, visible, stem, source, before);
    if (!read) continue;
    out.found.files.push_back({visible, stem, read->parsed});
    out.read.emplace(path, *std::move(read));
  }
  return out;
}

}  // namespace cru::definitions
