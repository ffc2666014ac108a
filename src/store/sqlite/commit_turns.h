#pragma once
/// CommitTurns: who commits next. A write that is alone is committed by the loop's thread itself, at the end
/// of its turn, because handing it to another thread and back takes as long as the sync of a good disk. What
/// comes together, and whatever comes while the disk is slow, is the writing thread's. Rules only: the store
/// asks under its mutex, and tells what has happened.
#include <chrono>
#include <cstddef>

namespace cru::sqlite {

class CommitTurns {
 public:
  enum class Next { nobody, loop, writer };

  /// One more write waits; `waiting` counts it. Answers who is to be called now.
  Next added(size_t waiting);
  /// The callers of a commit begin to be resumed, and have been.
  void begin_resuming();
  Next end_resuming(size_t waiting);

  /// Whether the writing thread may begin what waits.
  bool has_work_for_writer(size_t waiting) const;
  /// Whether it may use the committer at all.
  bool is_free() const { return user_ == User::nobody && !is_reserved_; }
  bool is_resuming() const { return is_resuming_; }
  /// So many writes of callers that are being resumed are executed before the others have come.
  static constexpr size_t worth_beginning = 16;

  void writer_begins() { user_ = User::writer; }
  /// The loop still has to resume the callers of a group that is not empty.
  void writer_has_committed(size_t jobs);
  void writer_ends() { user_ = User::nobody; }
  void group_is_told() { --untold_; }

  /// False if the loop no longer has to: what it was to commit has company, and is the writing thread's.
  bool loop_begins();
  void loop_ends(std::chrono::nanoseconds took);
  /// The loop does not come any more, and is done with the committer.
  void stop();

 private:
  Next one_alone();
  enum class User { nobody, writer, loop };
  User user_ = User::nobody;  ///< of the committer
  bool is_reserved_ = false;  ///< the one that waits is the loop's, at the end of its turn
  bool is_resuming_ = false;
  size_t untold_ = 0;  ///< groups that were committed and not told to the loop: nothing goes past them
  int crowd_ = 0;      ///< so many single writes have to come before the loop commits one again
};

}  // namespace cru::sqlite
