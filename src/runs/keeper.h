#pragma once
/// Keeper: the process that parents every agent process, as the daemon sees it.
/// The real one speaks docs/formats/keeper.md over a socket (keeper_client.h);
/// the simulator has its own.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/loop/task.h"
#include "platform/sandbox/jail.h"
#include "runs/run.h"

namespace cru::runs {

struct StartSpec {
  std::string uid;
  std::string task_id;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string cwd;
  std::string output;  ///< relative to the project
  bool pty = false;
  bool has_stdin = true;
  bool private_stdio = false;  ///< no other process can open its standard input and output
  int64_t rows = 24, cols = 80;
  int64_t output_limit = 0;
  int64_t disk_floor = 0;
  std::string mark;
  Duration grace{10000};
  std::optional<Jail> jail = {};
};

/// A run as the keeper knows it.
struct KeptRun {
  std::string uid;
  std::string task_id;
  ProcessIdentity process;
  int64_t last_seq = 0;
  std::optional<Exit> exit;  ///< set once it has ended
};

struct Growth {
  std::string uid;
  int64_t last_seq = 0;
  int64_t marked = 0;  ///< the lowest new seq whose text starts with the mark; 0 for none
};

/// What the keeper tells without being asked. All on the loop.
struct KeeperNotices {
  std::function<void(Growth)> grew;
  std::function<void(std::string uid, Exit)> exited;
  std::function<void(std::string uid, std::string reason)> paused;  ///< an empty reason: resumed
  std::function<void()> lost;  ///< the connection broke: the keeper is gone
};

/// What is told (platform/files/trouble.h) while the keeper lives but does not answer: nobody knows then how
/// its runs are.
inline constexpr const char* keeper_trouble = "keeper";

class Keeper {
 public:
  virtual ~Keeper() = default;
  virtual void set_notices(KeeperNotices notices) = 0;
  /// Joins a keeper that is running, without starting one. An empty optional: there is none.
  /// Errors: keeper_unavailable, when one runs and does not answer: its runs must not be given up.
  virtual Task<Result<std::optional<std::vector<KeptRun>>>> join() = 0;
  /// Starts the process, and the keeper first if there is none. Idempotent by uid.
  /// Errors: cannot_execute with the reason; keeper_unavailable.
  virtual Task<Result<ProcessIdentity>> start(StartSpec spec) = 0;
  virtual Task<Result<>> kill(std::string uid, Duration grace) = 0;
  /// Done once the pipe took all bytes; a repeat of `delivery` writes nothing.
  virtual Task<Result<>> write(std::string uid, std::string delivery, std::string bytes, bool eof) = 0;
  /// Whether an earlier `write` of this delivery has reached the keeper, by us or by whoever was here before.
  virtual Task<Result<bool>> has_taken(std::string uid, std::string delivery) = 0;
  virtual Task<Result<>> resize(std::string uid, int64_t rows, int64_t cols) = 0;
  virtual Task<Result<>> forget(std::string uid) = 0;
  /// Keeps a text in the keeper's memory, and in nothing else, beyond our own end; an empty one is forgotten.
  /// Starts no keeper: one that is started later is told. It may be lost with the keeper.
  virtual Task<void> remember(std::string key, std::string text) = 0;
  /// All that the keeper remembers, by its key.
  virtual Task<std::map<std::string, std::string>> recall() = 0;
  /// The exit records of a keeper that is gone.
  virtual Task<std::vector<KeptRun>> read_exit_records() = 0;
  /// Waits until what a keeper that is gone has lost is gone too, and kills what is found of it. The runs of
  /// which processes may be left all the same.
  virtual Task<std::set<std::string>> sweep(std::vector<std::string> uids) = 0;
  /// The pid of the keeper; 0 when there is none. Every process below it belongs to a run.
  virtual int64_t pid() const = 0;
};

}  // namespace cru::runs
