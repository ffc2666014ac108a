#pragma once
/// Ports: on which one the web page of a project is. A project keeps its port, also while its daemon is
/// stopped: a bookmark and an open page find it again. Which port is whose stands in the user's state folder,
/// one small file each; without such a folder only the project's own `url` file is remembered. Blocks on a
/// slow disk.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/project.h"
#include "base/result.h"
#include "base/time.h"
#include "platform/files/fd.h"

namespace cru::daemon {

struct WantedPort {
  std::optional<uint16_t> typed = {};           ///< with --port: taken, it is an error
  std::optional<uint16_t> set = {};             ///< in the configuration: taken, another one does
  Duration patience = std::chrono::seconds(2);  ///< how long the port that the project had is waited for
  std::function<void()> before_again = {};      ///< called before each further attempt at that port
};

/// Listens for the project, and remembers the port. Tries, in this order: the port that was typed, and no
/// other; the one that is set; the one that the project had; the next free one from 8765 on that is no other
/// project's; any. `notes` is the folder of the small files, or empty. Errors: conflict for a typed port that
/// is taken; the system's.
Result<Fd> listen_for(const api::Project& project, const WantedPort& wanted, const std::string& notes);

/// Where the user's projects' ports are noted; empty if there is no home folder.
std::string port_notes();

}  // namespace cru::daemon
