#include "platform/files/pid_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/files/files.h"
#include "platform/files/own_mark.h"

namespace cru {
namespace {

struct HeldFile {
  dev_t device = 0;
  ino_t inode = 0;
  int fd = -1;
  off_t byte = 0;  ///< of a claim
};

/// The files that this process holds.
class HeldFiles {
 public:
  void add(const struct stat& status, int fd, off_t byte = 0) {
    std::lock_guard lock(mutex_);
    files_.push_back({status.st_dev, status.st_ino, fd, byte});
  }
  void remove(int fd) {
    std::lock_guard lock(mutex_);
    std::erase_if(files_, [&](const HeldFile& file) { return file.fd == fd; });
  }
  std::optional<HeldFile> find(const struct stat& status) {
    std::lock_guard lock(mutex_);
    for (const auto& file : files_)
      if (file.device == status.st_dev && file.inode == status.st_ino) return file;
    return {};
  }
  bool contains(const struct stat& status) { return find(status).has_value(); }
  bool empty() {
    std::lock_guard lock(mutex_);
    return files_.empty();
  }

 private:
  std::mutex mutex_;
  std::vector<HeldFile> files_;
};

HeldFiles& held_files() {
  static HeldFiles files;
  return files;
}

struct flock record(short type, off_t at, off_t length) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = length;
  return lock;
}

std::optional<PidFileHolder> ask_for_holder(int fd, off_t at, off_t length) {
  auto lock = record(F_WRLCK, at, length);
  if (::fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return {};
  return PidFileHolder{std::max<pid_t>(lock.l_pid, 0)};
}

std::unexpected<Error> held_by_another(const std::string& what, std::optional<PidFileHolder> holder) {
  auto who = holder && holder->pid > 0 ? fmt::format("process {}", holder->pid) : "another process";
  return fail(Code::conflict, fmt::format("{} is held by {}", what, who));
}

constexpr int open_flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/// FNV-1a, halved twice so that it is an offset with room behind it.
off_t byte_of(const std::string& what) {
  uint64_t hash = 14695981039346656037u;
  for (char c : what) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<off_t>(hash >> 2);
}

void release(Fd& fd) {
  if (!fd) return;
  held_files().remove(fd.get());
  fd.reset();
}

}  // namespace

Result<PidFile> PidFile::take(const Fd& folder, const std::string& name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    struct stat status{};
    if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      if (!S_ISREG(status.st_mode)) return fail(Code::forbidden, name + " is not a plain file");
      if (held_files().contains(status)) return held_by_another(name, PidFileHolder{::getpid()});
    }
    PidFile taken;
    taken.fd_ = Fd(::openat(folder.get(), name.c_str(), O_RDWR | O_CREAT | open_flags, 0600));
    if (!taken.fd_) return fail(system_error(errno, "open " + name));
    if (::fstat(taken.fd_.get(), &status) != 0 || !S_ISREG(status.st_mode))
      return fail(Code::forbidden, name + " is not a plain file");
    // Known before it is locked: whoever opened it by another name in between would end the lock.
    held_files().add(status, taken.fd_.get());
    auto lock = record(F_WRLCK, 0, 0);
    if (::fcntl(taken.fd_.get(), F_SETLK, &lock) != 0) {
      if (errno == EACCES || errno == EAGAIN)
        return held_by_another(name, ask_for_holder(taken.fd_.get(), 0, 0));
      return fail(system_error(errno, "lock " + name));
    }
    // Removed, and made again by somebody else, before we had it: that other file is the one to hold.
    if (!taken.is_at(folder, name)) continue;
    auto pid = fmt::format("{}\n", ::getpid());
    if (::ftruncate(taken.fd_.get(), 0) != 0 || ::pwrite(taken.fd_.get(), pid.data(), pid.size(), 0) < 0)
      return fail(system_error(errno, "write " + name));
    return taken;
  }
  return fail(Code::conflict, name + " is removed again and again");
}

PidFile& PidFile::operator=(PidFile&& other) noexcept {
  if (this == &other) return *this;
  reset();
  fd_ = std::move(other.fd_);
  return *this;
}

bool PidFile::is_at(const Fd& folder, const std::string& name) const {
  struct stat mine{}, named{};
  return fd_ && ::fstat(fd_.get(), &mine) == 0 &&
         ::fstatat(folder.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

void PidFile::reset() { release(fd_); }

std::optional<PidFileHolder> holder_of(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (held_files().contains(status)) return PidFileHolder{::getpid()};
  Fd fd(::open(path.c_str(), O_RDONLY | open_flags));
  if (!fd) return {};
  return ask_for_holder(fd.get(), 0, 0);
}

bool is_held_here(const struct stat& status) { return held_files().contains(status); }

Fd open_unless_held(int folder, const std::string& path, int flags) {
  if (held_files().empty()) return Fd(::openat(folder, path.c_str(), flags | O_CLOEXEC));
  // A place is no descriptor of the file: closing it ends nothing. It is asked and then opened, so that the
  // name cannot be given to another file in between.
  Fd place(::openat(folder, path.c_str(), O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW)));
  struct stat status{};
  if (!place || ::fstat(place.get(), &status) != 0) return {};
  int refused = S_ISLNK(status.st_mode) ? ELOOP : held_files().contains(status) ? EBUSY : 0;
  Fd opened;
  if (!refused)
    opened =
        Fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), (flags | O_CLOEXEC) & ~O_NOFOLLOW));
  int reason = refused ? refused : errno;
  place.reset();
  errno = reason;
  return opened;
}

Error open_error(int errno_value, const std::string& path) {
  if (errno_value == EBUSY) return {Code::forbidden, path + " is reserved for the daemon"};
  return system_error(errno_value, "open " + path);
}

Result<Claim> Claim::take(const std::string& file, const std::string& what) {
  struct stat status{};
  if (::lstat(file.c_str(), &status) == 0 && held_files().contains(status))
    return fail(Code::conflict, "this process already has a claim");  // a second descriptor would end it
  if (auto made = make_folder(std::filesystem::path(file).parent_path().string(), 0700); !made)
    return fail(made.error());
  Claim claim;
  claim.fd_ = Fd(::open(file.c_str(), O_RDWR | O_CREAT | open_flags, 0600));
  if (!claim.fd_ || ::fstat(claim.fd_.get(), &status) != 0) return fail(system_error(errno, "open " + file));
  held_files().add(status, claim.fd_.get(), byte_of(what));
  auto lock = record(F_WRLCK, byte_of(what), 1);
  if (::fcntl(claim.fd_.get(), F_SETLK, &lock) != 0) {
    if (errno == EACCES || errno == EAGAIN)
      return held_by_another(what, ask_for_holder(claim.fd_.get(), byte_of(what), 1));
    return fail(system_error(errno, "lock " + file));
  }
  return claim;
}

Claim& Claim::operator=(Claim&& other) noexcept {
  if (this == &other) return *this;
  reset();
  fd_ = std::move(other.fd_);
  return *this;
}

void Claim::reset() { release(fd_); }

std::optional<PidFileHolder> claimant_of(const std::string& file, const std::string& what) {
  struct stat status{};
  if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  // With the descriptor that holds our own claim: another one would end it when it is closed.
  if (auto held = held_files().find(status))
    return held->byte == byte_of(what) ? PidFileHolder{::getpid()}
                                       : ask_for_holder(held->fd, byte_of(what), 1);
  Fd fd(::open(file.c_str(), O_RDONLY | open_flags));
  if (!fd) return {};
  return ask_for_holder(fd.get(), byte_of(what), 1);
}

namespace {

/// Empty if there is no home.
std::string claims_file() {
  auto state = user_state_folder();
  return state.empty() ? state : state + "/projects.lock";
}

/// A folder made anew at the same place is another project.
std::string claim_to(const std::string& root, const std::string& kind) {
  struct stat status{};
  if (::stat(root.c_str(), &status) != 0) return {};
  return fmt::format("{}:{}:{}:{}", kind, status.st_dev, status.st_ino, root);
}

/// Whether the process is dead but for threads that have still to end: its locks go with the last of them.
bool is_ending(pid_t pid) {
  auto stat = read_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!stat) return true;  // gone meanwhile
  auto name_end = stat->rfind(") ");
  return name_end != std::string::npos && stat->substr(name_end + 2).starts_with('Z');
}

}  // namespace

Result<ServingLock> ServingLock::take(const std::string& root, const Fd& state, const std::string& kind) {
  constexpr auto patience = std::chrono::seconds(5);
  constexpr auto pause = std::chrono::milliseconds(5);
  using Clock = std::chrono::steady_clock;
  for (auto end = Clock::now() + patience;; std::this_thread::sleep_for(pause)) {
    auto lock = take_once(root, state, kind);
    if (lock || lock.error().code != Code::conflict || Clock::now() > end) return lock;
    auto holder = server_of(root, kind);
    if (holder && (holder->pid == 0 || !is_ending(holder->pid))) return lock;
  }
}

Result<ServingLock> ServingLock::take_once(const std::string& root, const Fd& state,
                                           const std::string& kind) {
  ServingLock lock;
  lock.kind_ = kind;
  auto what = claim_to(root, kind);
  if (auto file = claims_file(); !file.empty() && !what.empty()) {
    auto claim = Claim::take(file, what);
    if (!claim && claim.error().code == Code::conflict) return fail(std::move(claim.error()));
    if (claim) lock.claim_ = *std::move(claim);
  }
  auto taken = PidFile::take(state, kind + ".pid");
  if (!taken) return fail(std::move(taken.error()));
  lock.file_ = *std::move(taken);
  return lock;
}

Result<> ServingLock::take_again(const Fd& state) {
  if (is_there(state)) return {};
  auto taken = PidFile::take(state, kind_ + ".pid");
  if (!taken) return fail(std::move(taken.error()));
  file_ = *std::move(taken);
  return {};
}

void ServingLock::reset() {
  file_.reset();
  claim_.reset();
}

std::optional<PidFileHolder> server_of(const std::string& root, const std::string& kind) {
  if (auto holder = holder_of(fmt::format("{}/.coven/{}.pid", root, kind))) return holder;
  auto file = claims_file(), what = claim_to(root, kind);
  return file.empty() || what.empty() ? std::nullopt : claimant_of(file, what);
}

}  // namespace cru
