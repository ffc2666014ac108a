#pragma once
/// BriefReader: reads on the loop's own thread, which saves two changes of thread. Only what is brief: it
/// waits for no disk and no lock and takes a bounded number of steps. Whatever goes beyond is left undone,
/// for a thread that may wait.
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>

#include "store/sqlite/committer.h"

namespace cru::sqlite {

class BriefReader {
 public:
  /// Blocks: not on the loop. Null where it cannot be had. `generation` is that of the database at `path`,
  /// asked before.
  static std::unique_ptr<BriefReader> open(const std::string& path, int64_t generation);
  int64_t generation() const { return generation_; }

  /// False if the job was not brief, or failed for whatever reason: nothing has come of it, and it is to be
  /// run elsewhere. A kind of job that was not brief is not tried again for a while.
  bool run(Store::Job<Reader>& job);
  /// Between two turns of the loop at most `max_in_turn` are run, so that a chain of reads cannot hold it up.
  void begin_turn() {
    in_turn_ = 0;
    end_snapshot();
  }
  /// The reads of a turn see the same, in one transaction, until this is called: before anybody is told of a
  /// commit.
  void end_snapshot();

  static constexpr int max_in_turn = 128;

 private:
  BriefReader(std::unique_ptr<Connection> connection, int64_t generation)
      : connection_(std::move(connection)), generation_(generation) {}
  std::unique_ptr<Connection> connection_;
  const int64_t generation_;
  int in_turn_ = 0;
  bool has_snapshot_ = false;
  std::unordered_map<std::type_index, int> passed_over_;  ///< how often each is still to be
};

}  // namespace cru::sqlite
