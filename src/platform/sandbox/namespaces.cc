#include "platform/sandbox/namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "platform/files/fd.h"

namespace cru {
namespace {

bool mount_at(const char* source, const std::string& target, const char* type, unsigned long flags,
              const char* options) {
  return ::syscall(SYS_mount, source, target.c_str(), type, flags, options) == 0;
}

bool write_text(const char* file, const std::string& text) {
  Fd fd(::open(file, O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// The user stays who he is, with nobody else there.
bool map_own_ids(uid_t uid, gid_t gid) {
  return write_text("/proc/self/setgroups", "deny") &&
         write_text("/proc/self/uid_map", fmt::format("{} {} 1", uid, uid)) &&
         write_text("/proc/self/gid_map", fmt::format("{} {} 1", gid, gid));
}

/// Nobody has a name in a user namespace without a map.
bool is_unmapped() {
  char map[8] = {};
  Fd fd(::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
  return fd && ::read(fd.get(), map, sizeof map) == 0;
}

bool enter(int flags) {
  auto uid = ::geteuid();
  auto gid = ::getegid();
  // A superuser needs no user namespace, in which other people's files would be out of his reach.
  if (uid == 0 && ::unshare(flags) == 0) return true;
  return ::unshare(flags | CLONE_NEWUSER) == 0 && map_own_ids(uid, gid);
}

Fd clone_tree(const std::string& path) {
  return Fd(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
}
bool make_readonly(int at, const char* path, unsigned flags) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  return ::syscall(SYS_mount_setattr, at, path, flags | AT_RECURSIVE, &attributes, sizeof attributes) == 0;
}
bool put_tree(const Fd& tree, const std::string& path) {
  return tree && ::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, path.c_str(),
                           MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) == 0;
}

void make_folders(const std::string& path, size_t from) {
  for (auto at = path.find('/', from + 1); at != std::string::npos; at = path.find('/', at + 1))
    ::mkdir(path.substr(0, at).c_str(), 0755);
  ::mkdir(path.c_str(), 0755);
}

/// Something upon which `tree` can be mounted, below a folder of so many letters.
bool make_place(const Fd& tree, const std::string& at, size_t from) {
  struct stat status{};
  if (!tree || ::fstat(tree.get(), &status) != 0) return false;
  if (S_ISDIR(status.st_mode)) {
    make_folders(at, from);
    return true;
  }
  make_folders(at.substr(0, at.rfind('/')), from);
  return static_cast<bool>(Fd(::open(at.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
}

/// An empty folder upon a folder, with those of `shown` in it where they were that were below.
bool hide(const std::string& path, const std::vector<std::string>& shown) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return true;
  if (!S_ISDIR(status.st_mode)) return mount_at("/dev/null", path, nullptr, MS_BIND, nullptr);
  constexpr auto flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  constexpr auto options = "size=16k,mode=0755";
  std::vector<std::pair<Fd, std::string>> trees;
  for (const auto& each : shown)
    if (each.starts_with(path + "/") && ::access(each.c_str(), F_OK) == 0)
      trees.emplace_back(clone_tree(each), each);
  bool good = mount_at("tmpfs", path, "tmpfs", flags, options);
  for (const auto& [tree, at] : trees) {
    good = good && make_place(tree, at, path.size()) && put_tree(tree, at);
  }
  return good && mount_at(nullptr, path, nullptr, flags | MS_REMOUNT | MS_RDONLY, options);
}

/// Mounted upon itself: the kernel lets nobody move or remove a mount point. False also if it has gone: then
/// somebody could make it.
bool keep(const std::string& path, bool readonly) {
  auto tree = clone_tree(path);
  return tree && (!readonly || make_readonly(tree.get(), "", AT_EMPTY_PATH)) && put_tree(tree, path);
}

/// The same for a link, not for what it leads to.
bool keep_link(const std::string& path) {
  Fd tree(static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, path.c_str(),
                                     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW)));
  return tree &&
         ::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

/// Copies of the writable trees are taken as they are, put back upon a world that is read-only.
bool make_all_readonly_but(const std::vector<std::string>& writable) {
  std::vector<std::pair<Fd, std::string>> trees;
  for (const auto& path : writable)
    if (::access(path.c_str(), F_OK) == 0) trees.emplace_back(clone_tree(path), path);
  bool good = make_readonly(AT_FDCWD, "/", 0);
  for (const auto& [tree, path] : trees) good = good && put_tree(tree, path);
  return good;
}

/// A superuser could read every disk by its device, so of them he sees none.
bool make_small_dev() {
  constexpr std::array<std::string_view, 6> devices = {"null", "zero", "full", "random", "urandom", "tty"};
  std::vector<std::pair<Fd, std::string>> trees;
  for (auto name : devices)
    if (auto path = fmt::format("/dev/{}", name); ::access(path.c_str(), F_OK) == 0)
      trees.emplace_back(clone_tree(path), path);
  if (!mount_at("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC | MS_NODEV, "size=64k,mode=0755"))
    return false;
  for (const auto& [tree, path] : trees)
    if (!make_place(tree, path, 4) || !put_tree(tree, path)) return false;
  ::mkdir("/dev/shm", 01777);
  ::mkdir("/dev/pts", 0755);
  for (auto [to, at] : {std::pair("/proc/self/fd", "/dev/fd"), std::pair("/proc/self/fd/0", "/dev/stdin"),
                        std::pair("/proc/self/fd/1", "/dev/stdout"),
                        std::pair("/proc/self/fd/2", "/dev/stderr"), std::pair("pts/ptmx", "/dev/ptmx")})
    if (::symlink(to, at) != 0) return false;
  return true;
}

/// We still stand on what is below the new mounts: the same folder must be entered anew.
bool enter_folder_again() {
  struct stat before{}, after{};
  char path[4096];
  return ::stat(".", &before) == 0 && ::getcwd(path, sizeof path) && ::chdir(path) == 0 &&
         ::stat(".", &after) == 0 && before.st_dev == after.st_dev && before.st_ino == after.st_ino;
}

std::vector<Fd> sources_of(const std::vector<Bind>& binds) {
  std::vector<Fd> out;
  for (const auto& bind : binds) out.push_back(clone_tree(bind.from));
  return out;
}

bool put_binds(const std::vector<Bind>& binds, const std::vector<Fd>& sources) {
  for (size_t i = 0; i < binds.size(); ++i) {
    if (!sources[i]) return false;
    if (!binds[i].writable && !make_readonly(sources[i].get(), "", AT_EMPTY_PATH)) return false;
    if (!put_tree(sources[i], binds[i].at)) return false;
  }
  return true;
}

bool arrange_mounts(const NamespaceWishes& wishes) {
  bool good = mount_at(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  // Taken as they are now: what is bound may stand where something is hidden next.
  auto first = sources_of(wishes.early_binds), last = sources_of(wishes.binds);
  good = good && put_binds(wishes.early_binds, first) && make_all_readonly_but(wishes.writable) &&
         enter_folder_again();
  for (const auto& path : wishes.immovable) good = good && keep(path, false);
  for (const auto& path : wishes.links) good = good && keep_link(path);
  for (const auto& path : wishes.readonly) good = good && keep(path, true);
  for (const auto& path : wishes.hidden) good = good && hide(path, wishes.shown);
  good = good && put_binds(wishes.binds, last);
  if (!wishes.shown.empty() || !wishes.binds.empty()) good = good && enter_folder_again();
  if (::geteuid() == 0) good = good && make_small_dev();
  // The user's other terminals are not there to be read: it has those that are made in here.
  good = good && mount_at("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                          "newinstance,ptmxmode=0666,mode=0620");
  // Shared memory with others would be a way out, and a place to write.
  return good && mount_at("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

/// An empty network has a loopback interface that is down.
void raise_loopback() {
  Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  if (fd) (void)::ioctl(fd.get(), SIOCSIFFLAGS, &request);
}

}  // namespace

Namespaces enter_namespaces(const NamespaceWishes& wishes) {
  Namespaces out;
  int flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (wishes.empty_network ? CLONE_NEWNET : 0);
  if (!enter(flags)) return out;
  out.processes = true;
  out.network = wishes.empty_network;
  if (out.network) raise_loopback();
  out.mounts = arrange_mounts(wishes);
  return out;
}

int fork_into_namespaces(bool empty_network) {
  int flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (empty_network ? CLONE_NEWNET : 0);
  auto clone_with = [](int wanted) {
    return static_cast<int>(::syscall(SYS_clone, wanted | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  };
  int child = ::geteuid() == 0 ? clone_with(flags) : -1;
  return child >= 0 ? child : clone_with(flags | CLONE_NEWUSER);
}

bool finish_namespaces(const NamespaceWishes& wishes, unsigned uid, unsigned gid) {
  bool has_own_users = is_unmapped();
  if (has_own_users && !map_own_ids(uid, gid)) return false;
  if (wishes.empty_network) raise_loopback();
  if (!arrange_mounts(wishes) || !mount_own_proc()) return false;
  // Nobody in here can make further ones. The call filter refuses it as well, where this cannot be set.
  if (has_own_users) (void)write_text("/proc/sys/user/max_user_namespaces", "0");
  return true;
}

bool mount_own_proc() {
  if (!mount_at("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr)) return false;
  if (::geteuid() != 0) return true;
  // A superuser could have the kernel run something for him, outside.
  for (std::string path : {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"})
    if (::access(path.c_str(), F_OK) == 0 && !keep(path, true)) return false;
  return true;
}

bool drop_capabilities() {
  constexpr std::array kept = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                               CAP_KILL,  CAP_SETGID,       CAP_SETUID};
  uint32_t low = 0;
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (std::ranges::find(kept, capability) != kept.end())
      low |= 1u << capability;
    else
      (void)::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);  // an ordinary user may not, and has none
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct have[2] = {};
  if (::syscall(SYS_capget, &header, have) != 0) return false;
  have[0].effective &= low;
  have[0].permitted &= low;
  have[1] = {};
  have[0].inheritable = 0;
  return ::syscall(SYS_capset, &header, have) == 0;
}

}  // namespace cru
