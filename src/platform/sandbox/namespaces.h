#pragma once
/// Namespaces: a view of the machine for one process and all it starts: its own processes, mounts and, where
/// asked, an empty network. For `cru confine` and the jail (jail.h): it changes the calling process for good.
#include <string>
#include <vector>

namespace cru {

/// Something that is seen in another place than where it stands, or with other rights.
struct Bind {
  std::string from, at;
  bool writable = false;
};

struct NamespaceWishes {
  bool empty_network = false;
  std::vector<Bind> early_binds = {};  ///< before all the rest, which is looked for through them
  /// Everything else is mounted read-only, which also keeps modes, owners and times as they are.
  std::vector<std::string> writable;
  std::vector<std::string> hidden;      ///< seen as empty folders, or as nothing to read
  std::vector<std::string> shown;       ///< what is in hidden folders and is seen all the same
  std::vector<std::string> immovable;   ///< cannot be moved away
  std::vector<std::string> links = {};  ///< symbolic ones that cannot be replaced
  std::vector<std::string> readonly;    ///< with all below; those inside `immovable` after those
  std::vector<Bind> binds = {};         ///< one after another, upon all the above; `from` as it was before
};

/// What was to be had; the kernel or its administrator may refuse any of it.
struct Namespaces {
  bool processes = false;  ///< the next child is the first of its own, and takes all others with it
  bool mounts = false;     ///< everything asked for is hidden, immovable and readonly
  bool network = false;
};

Namespaces enter_namespaces(const NamespaceWishes& wishes);
/// As fork(), into namespaces of its own: the child is the first process of them, and has still to call
/// `finish_namespaces`. Errors of the system in errno, where they are not to be had.
int fork_into_namespaces(bool empty_network);
/// In that child, with the ids of the process that forked it: the user keeps them, and sees what is wished.
/// False with errno if any of it cannot be.
bool finish_namespaces(const NamespaceWishes& wishes, unsigned uid, unsigned gid);
/// In the first process of the new ones: /proc as it should be. False where that is not allowed.
bool mount_own_proc();
/// Gives up what a program of an ordinary user does not need, for good: a superuser keeps his files only.
bool drop_capabilities();

}  // namespace cru
