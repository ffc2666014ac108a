#pragma once
/// Jails: what has to stand on the disk before a run's jail can be built, and is removed after it.
#include <map>
#include <memory>
#include <set>

#include "platform/loop/pool.h"
#include "runs/jailing.h"

namespace cru::runs {

/// `confine` in the user's own file.
enum class Confine {
  off,       ///< agents run with all the user's rights
  standard,  ///< namespaces where they are to be had, else Landlock and seccomp; without either nothing runs
  require,   ///< namespaces, or nothing runs
};

struct JailRequest {
  JailRights rights;
  std::string program;  ///< claude, codex, gemini, or another's name
  std::string folder;   ///< where it works
  /// By which its places are found: never what a confined agent says.
  std::map<std::string, std::string> environment;
  /// Filled in: our own program, which agents call, and our own environment.
  std::string cru = {};
  std::map<std::string, std::string> own_environment = {};
  std::vector<std::string> nested = {};  ///< filled in: repositories within the project and the worktree

  std::string path() const {
    auto found = environment.find("PATH");
    return found == environment.end() ? std::string() : found->second;
  }
};

class Jails {
 public:
  virtual ~Jails() = default;
  /// Errors: cannot_execute, when this machine cannot build what is asked for, with what to do.
  virtual Task<Result<JailPlan>> prepare(std::string uid, JailRequest request) = 0;
  /// After the run's end.
  virtual Task<void> remove(std::string uid) = 0;
  /// At the start, before the end of any run: these may be jailed, and what their jails stand on stays.
  virtual Task<void> take_over(std::set<std::string> uids) = 0;
  /// After it: removes what earlier runs left, except that of these.
  virtual Task<void> clean(std::set<std::string> uids) = 0;
  virtual Task<JailMeans> means() = 0;
};

/// `program` is cru's own. What is the user's by `environment`, the daemon's own, is hidden whatever a run's
/// says.
std::unique_ptr<Jails> file_jails(std::string root, std::string program, Confine confine,
                                  std::map<std::string, std::string> environment, Pool& pool);

}  // namespace cru::runs
