#include "platform/files/folder_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "platform/files/fd.h"
#include "platform/files/files.h"

namespace cru {
namespace {

/// A file is told of when its writer closes it, not at each write: a log that somebody keeps open costs
/// nothing.
constexpr uint32_t entries = IN_CREATE | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE;
constexpr uint32_t itself = IN_MOVE_SELF | IN_DELETE_SELF;
constexpr uint32_t arrivals = IN_CREATE | IN_MOVED_TO;
constexpr size_t max_paths = 4096;    ///< told one by one; beyond, `all`
constexpr size_t max_listed = 65536;  ///< entries of one new folder
/// What is done before the loop gets its turn again, counted in entries listed and events read; to open or
/// watch a folder costs as much as several of these.
constexpr size_t work_at_once = 2000, work_of_a_folder = 8;

std::string joined(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + "/" + std::string(name);
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// What stands above an absolute path: "/", "/a", "/a/b" for "/a/b/c".
std::vector<std::string> ancestors_of(const std::string& path) {
  std::vector<std::string> above = {"/"};
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    above.push_back(path.substr(0, slash));
  return above;
}

struct Closing {
  void operator()(DIR* listing) const { ::closedir(listing); }
};

class InotifyWatch final : public FolderWatch {
 public:
  InotifyWatch(Loop& loop, Fd fd, std::string folder, FolderWatchOptions options,
               std::function<void(FolderChanges)> changed)
      : loop_(loop),
        folder_(std::move(folder)),
        options_(std::move(options)),
        changed_(std::make_shared<std::function<void(FolderChanges)>>(std::move(changed))),
        fd_(std::move(fd)),
        readable_(loop.watch(fd_.get())) {
    work_left_ = work_at_once;
    settle();
    arm();
  }
  ~InotifyWatch() override {
    *alive_ = false;
    if (gathering_) loop_.cancel_timer(gathering_);
  }
  bool is_complete() const override { return complete_ && !visiting_later_; }
  void tell_now() override {
    take_events();
    if (gathering_) {
      loop_.cancel_timer(gathering_);
      tell();
    }
  }

 private:
  enum class Kind { above, within };
  struct Place {
    Kind kind;
    std::string path;  ///< within: relative to the folder; above: absolute
  };

  void arm() {
    readable_->when_readable([this] { read_events(); });
  }

  /// Watches the folder and what is above it; or, while it is absent, waits at the nearest ancestor.
  void settle() {
    forget_all();
    complete_ = true;
    // Again if something appeared between the look and the watch; a tree that never rests is given up on.
    for (int attempt = 0; attempt < 16; ++attempt) {
      std::string nearest = "/";
      std::string next = folder_;
      auto above = ancestors_of(folder_);
      for (size_t i = 1; i < above.size() && next == folder_; ++i)
        if (watch_above(above[i], itself))
          nearest = above[i];
        else
          next = above[i];
      is_missing_ = true;
      if (next == folder_ && watch_within("")) {
        present_ = true;
        if (options_.recursive) unvisited_.push_back("");
        visit_folders(false);
        return;
      }
      present_ = false;
      if (!is_missing_) {
        complete_ = false;  // it is there, and may not be watched
        return;
      }
      awaited_ = next.substr(next.rfind('/') + 1);
      watch_above(nearest, itself | arrivals);
      if (!is_folder(next)) return;
    }
    complete_ = false;
  }

  /// False if it is not there. One that may not be read is passed by: its own moves go unseen.
  bool watch_above(const std::string& path, uint32_t mask) {
    int wd = ::inotify_add_watch(fd_.get(), path.c_str(), mask | IN_ONLYDIR);
    if (wd >= 0) {
      places_[wd] = {Kind::above, path};
      return true;
    }
    if (errno == ENOENT || errno == ENOTDIR) return false;
    if (errno == ENOSPC) complete_ = false;
    return true;
  }

  bool watch_within(const std::string& relative) {
    is_missing_ = false;
    if (within_.contains(relative)) return true;
    if (within_.size() >= options_.max_folders) return complete_ = false;
    spend(work_of_a_folder);
    auto path = relative.empty() ? folder_ : folder_ + "/" + relative;
    uint32_t mask = entries | itself | IN_ONLYDIR | (relative.empty() ? 0u : uint32_t{IN_DONT_FOLLOW});
    int wd = ::inotify_add_watch(fd_.get(), path.c_str(), mask);
    if (wd < 0) {
      is_missing_ = errno == ENOENT || errno == ENOTDIR;
      if (!is_missing_) complete_ = false;
      return false;
    }
    // Known already: the same folder by another way (a bind mount). It is watched once, under its first name.
    if (auto known = places_.find(wd); known != places_.end()) return known->second.path == relative;
    places_[wd] = {Kind::within, relative};
    within_[relative] = wd;
    return true;
  }

  /// Watches what is below the folders in `unvisited_`. `tell` their entries: they may have come before the
  /// watch did.
  void visit_folders(bool tell) {
    while (visited_.listing || !unvisited_.empty()) {
      if (work_left_ == 0) return visit_later();
      if (!visited_.listing)
        open_next();
      else if (auto* entry = ::readdir(visited_.listing.get()))
        visit(*entry, tell);
      else
        visited_.listing.reset();
    }
    if (std::exchange(visiting_later_, false)) tell_all();  // changes were missed until now
  }

  void visit_later() {
    visiting_later_ = true;
    if (std::exchange(is_posted_, true)) return;
    loop_.post([this, alive = alive_] {
      if (!*alive) return;
      is_posted_ = false;
      work_left_ = work_at_once;
      visit_folders(false);
    });
  }

  void open_next() {
    spend(work_of_a_folder);
    visited_.folder = std::move(unvisited_.front());
    unvisited_.pop_front();
    auto path = visited_.folder.empty() ? folder_ : folder_ + "/" + visited_.folder;
    visited_.listing.reset(::opendir(path.c_str()));
    visited_.listed = 0;
  }

  void visit(const dirent& entry, bool tell) {
    std::string_view name = entry.d_name;
    if (name == "." || name == "..") return;
    spend(1);
    if (++visited_.listed > max_listed) {
      complete_ = false;
      visited_.listing.reset();
      return tell_all();
    }
    auto below = joined(visited_.folder, name);
    bool may_be_folder = entry.d_type == DT_DIR || entry.d_type == DT_UNKNOWN;
    if (may_be_folder && wants(below) && watch_within(below)) unvisited_.push_back(below);
    if (tell && (entry.d_type != DT_DIR || wants(below))) add(below);
  }

  void spend(size_t work) { work_left_ -= std::min(work, work_left_); }

  bool wants(const std::string& folder) const { return !options_.wants || options_.wants(folder); }

  void read_events() {
    take_events();
    arm();
  }

  void take_events() {
    alignas(inotify_event) std::array<char, 32768> buffer;
    work_left_ = work_at_once;
    while (work_left_ > 0) {
      auto size = ::read(fd_.get(), buffer.data(), buffer.size());
      if (size <= 0) break;
      for (ssize_t at = 0; at < size;) {
        auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        spend(1);
        take(*event, event->len ? std::string_view(event->name) : std::string_view());
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    if (std::exchange(must_settle_, false)) {
      bool was_present = present_;
      settle();
      if (present_ || was_present) tell_all();
    }
  }

  void take(const inotify_event& event, std::string_view name) {
    if (event.mask & IN_Q_OVERFLOW) {
      must_settle_ = true;
      return;
    }
    auto found = places_.find(event.wd);
    if (found == places_.end()) return;
    auto place = found->second;
    bool is_root = place.kind == Kind::within && place.path.empty();
    if (event.mask & IN_IGNORED) {
      places_.erase(found);
      if (place.kind == Kind::within) within_.erase(place.path);
      must_settle_ |= is_root || place.kind == Kind::above;
      return;
    }
    if (event.mask & (itself | IN_UNMOUNT)) {
      must_settle_ |= is_root || place.kind == Kind::above;
      return;
    }
    if (place.kind == Kind::above)
      must_settle_ |= name == awaited_;
    else if (!name.empty())
      take_entry(joined(place.path, name), event.mask);
  }

  void take_entry(const std::string& path, uint32_t mask) {
    if (!(mask & IN_ISDIR) || !options_.recursive) return add(path);
    if (!wants(path)) return;
    if (mask & (IN_MOVED_FROM | IN_DELETE)) forget_below(path);
    if (mask & arrivals && watch_within(path)) {
      unvisited_.push_back(path);
      if (!visiting_later_) visit_folders(true);  // else it has its turn, and all is told then
    }
    if (!(mask & IN_ATTRIB)) add(path);
  }

  void forget_below(const std::string& path) {
    auto is_below = [&path](const std::string& other) {
      return other == path || (other.starts_with(path) && other[path.size()] == '/');
    };
    for (auto entry = within_.lower_bound(path); entry != within_.end() && entry->first.starts_with(path);) {
      if (!is_below(entry->first)) {
        ++entry;  // "a-b" sorts between "a" and "a/c"
        continue;
      }
      ::inotify_rm_watch(fd_.get(), entry->second);
      places_.erase(entry->second);
      entry = within_.erase(entry);
    }
    std::erase_if(unvisited_, is_below);
    if (is_below(visited_.folder)) visited_.listing.reset();
  }

  void forget_all() {
    for (const auto& [wd, place] : places_) ::inotify_rm_watch(fd_.get(), wd);
    places_.clear();
    within_.clear();
    unvisited_.clear();
    visited_.listing.reset();
    visiting_later_ = false;
    awaited_.clear();
  }

  void add(const std::string& path) {
    if (!all_) pending_.insert(path);
    if (pending_.size() > max_paths) return tell_all();
    gather();
  }
  void tell_all() {
    all_ = true;
    pending_.clear();
    gather();
  }
  void gather() {
    if (gathering_) return;
    gathering_ = loop_.set_timer(options_.gather, [this] { tell(); });
  }
  void tell() {
    gathering_ = 0;
    FolderChanges changes{{pending_.begin(), pending_.end()}, std::exchange(all_, false)};
    pending_.clear();
    auto changed = changed_;
    (*changed)(std::move(changes));  // may destroy this watch
  }

  Loop& loop_;
  const std::string folder_;
  const FolderWatchOptions options_;
  const std::shared_ptr<std::function<void(FolderChanges)>> changed_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Fd fd_;
  std::unique_ptr<Watch> readable_;  ///< goes before the descriptor does
  std::unordered_map<int, Place> places_;
  std::map<std::string, int> within_;
  std::deque<std::string> unvisited_;
  struct Visited {
    std::string folder;
    std::unique_ptr<DIR, Closing> listing;
    size_t listed = 0;
  } visited_;  ///< the one whose entries are being listed, if any
  bool visiting_later_ = false, is_posted_ = false;
  size_t work_left_ = 0;  ///< in this turn of the loop
  bool complete_ = true, present_ = false, is_missing_ = false, must_settle_ = false;
  std::string awaited_;  ///< the name whose coming brings the folder nearer
  std::set<std::string> pending_;
  bool all_ = false;
  Loop::TimerId gathering_ = 0;
};

}  // namespace

Result<std::unique_ptr<FolderWatch>> watch_folder(Loop& loop, std::string folder, FolderWatchOptions options,
                                                  std::function<void(FolderChanges)> changed) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (!folder.starts_with('/')) return fail(Code::invalid_argument, "watched folders must be absolute paths");
  Fd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd) {
    auto error = system_error(errno, "watch " + folder);
    error.code = Code::internal;
    return fail(std::move(error));
  }
  return std::make_unique<InotifyWatch>(loop, std::move(fd), std::move(folder), std::move(options),
                                        std::move(changed));
}

}  // namespace cru
