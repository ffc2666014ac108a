#pragma once
/// Registry: the definitions in force: the project's over the user's over the built-in ones. Looks again
/// whenever it is asked, as far as files have changed; tells of changes (`definitions.changed`) by itself.
#include <memory>
#include <string>
#include <vector>

#include "definitions/catalog.h"
#include "platform/files/folder_watch.h"
#include "platform/loop/pool.h"
#include "store/store.h"

namespace cru::definitions {

struct Folders {
  std::string project;  ///< ROOT/.crucible/agents
  std::string system;   ///< ~/.config/crucible/agents, or below XDG_CONFIG_HOME
  std::string root;     ///< what paths are shown relative to
  std::string home;
};

/// All definitions of the project that need trust, trusted or not. Blocks: for a pool's thread.
std::vector<trust::Item> items_to_trust(const Folders& folders);

class Registry {
 public:
  /// `trusted` says what of the project's counts.
  Registry(Loop& loop, Store& store, Pool& pool, Folders folders, trust::Checks trusted);
  ~Registry();
  /// Reads what has changed since it was asked last.
  Task<Catalog> look();
  /// Begins to watch the folders. What is invalid is logged as a warning and never stops the start.
  Task<void> start();
  /// Other files may be trusted by now: tells of it if that changes anything.
  void look_again();
  /// Writes ROOT/.crucible/agents/NAME.md, or the user's own, whole or not at all; the path as shown.
  /// Errors: invalid_argument; conflict if the file exists, or another of the folder has the name.
  Task<Result<std::string>> create(std::string name, std::string text, Source source);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The agents that come with cru.
std::vector<Definition> builtin_definitions();

}  // namespace cru::definitions
