#pragma once
/// Registry: the definitions in force: the project's over the user's over the built-in ones. Looks again
/// whenever it is asked, as far as files have changed; tells of changes (`definitions.changed`) by itself.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "definitions/definition.h"
#include "platform/folder_watch.h"
#include "platform/pool.h"
#include "store/store.h"

namespace cru::definitions {

struct Folders {
  std::string project;  ///< ROOT/.crucible/agents
  std::string system;   ///< ~/.config/crucible/agents, or below XDG_CONFIG_HOME
  std::string root;     ///< what paths are shown relative to
  std::string home;
};

/// One look at the folders.
struct Catalog {
  std::vector<Definition> agents;                 ///< by name, those in force, disabled ones too
  std::map<std::string, std::string> overridden;  ///< name to the path of what it hides
  std::vector<Problem> problems;                  ///< by path and line
  size_t files = 0;                               ///< looked at, the built-in ones not counted
  size_t skipped = 0;                             ///< files with an error

  /// Disabled ones too. Errors: not_found, beginning "agent not found", with the nearest name as a hint.
  Result<Definition> find(const std::string& name) const;
  /// Errors: as above for disabled ones too.
  Result<Definition> find_enabled(const std::string& name) const;
};

class Registry {
 public:
  Registry(Loop& loop, Store& store, Pool& pool, Folders folders);
  ~Registry();
  Task<Catalog> look();
  /// Begins to watch the folders. What is invalid is logged as a warning and never stops the start.
  Task<void> start();
  /// Writes ROOT/.crucible/agents/NAME.md, or the user's own. Errors: invalid_argument; conflict if it
  /// exists.
  Task<Result<std::string>> create(std::string name, std::string text, Source source);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The agents that come with cru.
std::vector<Definition> builtin_definitions();

}  // namespace cru::definitions
