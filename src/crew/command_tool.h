#pragma once
/// Command tool: runs one program for an agent, confined (platform/sandbox/confine.h), and collects what it
/// says. Holds no thread while the program runs. Everything that the program started has ended when it has.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/loop/pool.h"
#include "platform/loop/stop.h"

namespace cru::crew {

struct CommandOptions {
  std::string root;
  std::string program;  ///< of cru
  size_t result_limit = 51'200;
  int64_t output_limit = 16 << 20;  ///< beyond it the command is ended
  size_t max_at_once = 8;
};

struct Command {
  std::vector<std::string> argv;
  std::string cwd = ".";  ///< inside the root
  std::string input;      ///< for its standard input
  Duration limit{120'000};
  bool may_write = false;
  bool may_use_network = false;
  std::map<std::string, std::string> environment;
};

class Commands {
 public:
  Commands(Loop& loop, Pool& pool, CommandOptions options);
  ~Commands();
  /// How it ended, then what it said on both streams, the first and the last of it. More than
  /// `max_at_once` wait for their turn; that time is not counted.
  /// Errors: cannot_execute if it cannot be started, or not be confined as it must; conflict if it was
  /// stopped before it began; those of its folder, in the field cwd.
  Task<Result<std::string>> run(Command command, Stop& stop);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cru::crew
