#include "platform/files/own_mark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/sha256.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/folder_listing.h"
#include "platform/files/pid_file.h"
#include "platform/loop/clock.h"

namespace cru {
namespace {

constexpr const char* mark_name = "made";
constexpr std::string_view written_name = "made.tmp.";
constexpr size_t id_digits = 64;

bool is_id(std::string_view text) {
  return text.size() == id_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::unexpected<Error> no_state_folder() {
  return fail(Code::forbidden,
              "there is no folder of your own in which cru could note which .coven it has made", "",
              "set HOME or XDG_STATE_HOME to one");
}

/// One small file for each id, named by its hash: who may read the names cannot make a mark from them.
std::string note_of(const std::string& state, std::string_view id) {
  return fmt::format("{}/made/{}", state, sha256(id));
}

bool is_same(const Fd& folder, const std::string& path) {
  auto named = link_status(path);
  auto own = file_status(folder);
  return named && named->device == own.device && named->inode == own.inode;
}

/// The state folder that a note speaks of; empty if it cannot be read.
std::string noted_place(const std::string& note) {
  auto text = read_file(note, 1 << 16).value_or("");
  auto root = text.substr(0, text.find('\n'));
  return root.empty() ? root : root + "/.coven";
}

bool is_gone(const std::string& path) {
  auto found = link_status(path);
  return !found && (found.error() == std::errc::no_such_file_or_directory ||
                    found.error() == std::errc::not_a_directory);
}

/// Whether the folder with this id is still where it was noted, and so is not `folder`, which is a copy of
/// it. What cannot be looked at is taken to be there.
bool is_elsewhere(const Fd& folder, std::string_view id, const std::string& noted) {
  if (noted.empty() || is_same(folder, noted) || is_gone(noted)) return false;
  Fd there(::open(noted.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return !there || mark_in(there) == id;
}

/// Removes notes of projects that are gone. Not at once: one that was moved is found by its note when it is
/// used next. Looks at a few of them, from anywhere in the list on, so that a disk which does not answer
/// holds up nobody for long.
void remove_old_notes(const std::string& notes) {
  constexpr size_t looked_at = 64, many = 1000, listed = 100'000;
  constexpr auto month = std::chrono::days(30);
  FolderListing entries(Fd(::open(notes.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  std::vector<std::string> names;
  while (auto entry = entries && names.size() < listed ? entries.next() : std::nullopt)
    if (is_id(entry->name)) names.emplace_back(entry->name);
  if (names.empty()) return;
  auto first = system_random().next() % names.size();
  auto now = std::chrono::system_clock::now().time_since_epoch();
  for (size_t i = 0; i < std::min(looked_at, names.size()); ++i) {
    auto note = notes + "/" + names[(first + i) % names.size()];
    auto status = link_status(note);
    bool is_old = status && now - std::chrono::nanoseconds(status->modified_ns) > month;
    if (!is_old && names.size() < many) continue;
    if (auto place = noted_place(note); !place.empty() && is_gone(place)) ::unlink(note.c_str());
  }
}

/// Only what nobody else can have written says what we made.
bool is_ours_alone(const std::string& path, bool folder) {
  auto status = link_status(path);
  return status && (folder ? status->is_folder() : status->is_plain_file()) && status->owner == ::geteuid() &&
         (status->mode & 022) == 0;
}

}  // namespace

std::string user_state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state == '/') return std::string(state) + "/cru";
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.local/state/cru" : std::string();
}

bool is_mark_name(std::string_view name) { return name == mark_name || name.starts_with(written_name); }

std::string mark_in(const Fd& folder) {
  Fd file = open_unless_held(folder.get(), mark_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!file || !file_status(file).is_plain_file()) return {};
  auto text = read_part(file, 0, id_digits);
  return text && is_id(*text) ? *text : std::string();
}

Result<std::string> read_mark(const Fd& folder) {
  struct stat status{};
  if (::fstatat(folder.get(), mark_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(system_error(errno, "read the mark"));
  auto state = user_state_folder();
  if (state.empty()) return no_state_folder();
  auto id = mark_in(folder);
  auto note = note_of(state, id);
  if (id.empty() || !is_ours_alone(state + "/made", true) || !is_ours_alone(note, false))
    return fail(Code::forbidden, "the mark is not known here");
  if (is_elsewhere(folder, id, noted_place(note)))
    return fail(Code::forbidden, "the mark is that of another folder, of which this is a copy");
  return id;
}

void note_place(const Fd& folder, std::string_view id, const std::string& root) {
  auto state = user_state_folder();
  if (state.empty()) return;
  auto note = note_of(state, id);
  if (!is_same(folder, noted_place(note)))
    (void)write_file(note, root + "\n", 0600);
  else
    (void)::utimensat(AT_FDCWD, note.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::vector<std::string> noted_projects(const std::string& state) {
  std::vector<std::string> roots;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(state + "/made", error)) {
    auto text = read_file(entry.path().string(), 1 << 16).value_or("");
    if (text.starts_with('/')) roots.push_back(text.substr(0, text.find('\n')));
  }
  return roots;
}

Result<std::string> make_mark(const Fd& folder, const std::string& root) {
  auto state = user_state_folder();
  if (state.empty()) return no_state_folder();
  auto notes = state + "/made";
  if (auto made = make_folder(notes, 0700); !made) return fail(std::move(made.error()));
  (void)sync_folder(state);  // if it is new: a mark must not outlive its note
  if (!is_ours_alone(notes, true))
    return fail(Code::forbidden, notes + " can be changed by others, so it says nothing: remove it");
  remove_old_notes(notes);
  auto& random = system_random();
  std::string id;
  for (int word = 0; word < 4; ++word) id += fmt::format("{:016x}", random.next());
  // Noted first: a mark that nobody knows would make the folder useless.
  if (auto noted = write_file(note_of(state, id), root + "\n", 0600); !noted)
    return fail(std::move(noted.error()));
  if (auto written = write_mark(folder, id); !written) return fail(std::move(written.error()));
  return id;
}

Result<> write_mark(const Fd& folder, std::string_view id) {
  static std::atomic<unsigned> last_number = 0;
  auto temporary = fmt::format("{}{}.{}", written_name, ::getpid(), ++last_number);
  Fd file(
      ::openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(system_error(errno, "write the mark of the state folder"));
  auto written = write_to(file, fmt::format("{}\n", id), "the mark of the state folder");
  bool good = written && ::fchmod(file.get(), 0600) == 0 && ::fsync(file.get()) == 0 &&
              ::renameat(folder.get(), temporary.c_str(), folder.get(), mark_name) == 0;
  if (good && ::fsync(folder.get()) == 0) return {};
  int reason = errno;
  ::unlinkat(folder.get(), temporary.c_str(), 0);
  return written ? Result<>(fail(system_error(reason, "write the mark of the state folder"))) : written;
}

}  // namespace cru
