#pragma once
/// Namespaces: a view of the machine for one process and all it starts: its own processes, mounts and, where
/// asked, an empty network. For `cru confine` only: it changes the calling process for good.
#include <string>
#include <vector>

namespace cru {

struct NamespaceWishes {
  bool empty_network = false;
  /// Everything else is mounted read-only, which also keeps modes, owners and times as they are.
  std::vector<std::string> writable;
  std::vector<std::string> hidden;    ///< seen as empty folders, or as nothing to read
  std::string shown;                  ///< a folder in a hidden one that is seen all the same; or none
  std::vector<std::string> kept;      ///< cannot be moved away
  std::vector<std::string> readonly;  ///< with all below; those inside `kept` after those
};

/// What was to be had; the kernel or its administrator may refuse any of it.
struct Namespaces {
  bool processes = false;  ///< the next child is the first of its own, and takes all others with it
  bool mounts = false;     ///< everything asked for is hidden, kept and readonly
  bool network = false;
};

Namespaces enter_namespaces(const NamespaceWishes& wishes);
/// In the first process of the new ones: /proc as it should be, where that is allowed.
void mount_own_proc();
/// Gives up what a program of an ordinary user does not need, for good: a superuser keeps his files only.
bool drop_capabilities();

}  // namespace cru
