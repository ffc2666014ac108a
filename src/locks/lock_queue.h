#pragma once
/// LockQueue: those who wait for locks, in the order they came. In memory, on the engine's thread;
/// whoever hangs up leaves it by the destructor of its place.
#include <list>
#include <set>

#include "locks/lock.h"
#include "platform/loop/loop.h"

namespace cru::coordination {

class LockQueue {
 public:
  explicit LockQueue(Loop& loop) : changed_(loop) {}

  class Place {
   public:
    Place(LockQueue& queue, Waiting waiting);
    ~Place();
    Place(const Place&) = delete;
    /// Nobody else came earlier for anything that overlaps, but for those who wait for this session itself:
    /// they cannot go on before it does.
    bool is_front() const;
    /// Those who came earlier for something that overlaps.
    std::vector<Waiting> ahead() const;

   private:
    friend class LockQueue;
    LockQueue& queue_;
    Waiting waiting_;
    std::set<const Place*> before_;                  ///< found once, at arrival: later ones do not count
    std::optional<std::vector<LockKey>> held_ = {};  ///< by its session, as last seen; perhaps less by now
    std::list<Place*>::iterator at_;
  };

  size_t size() const { return places_.size(); }
  /// Those who wait for something that overlaps `key`.
  std::vector<Waiting> overlapping(const LockKey& key) const;

  /// What a session holds, as a transaction has just seen it. With something new it may be the front now.
  void note_held(const std::string& session_id, const std::vector<LockKey>& held);
  /// Something was set free: those who wait may try.
  void wake() {
    ++version_;
    changed_.notify();
  }
  /// Tells a change that came while a try was under way.
  uint64_t version() const { return version_; }
  Signal::Waiter changed(Duration limit) { return changed_.wait(limit); }

 private:
  Signal changed_;
  uint64_t version_ = 0;
  std::list<Place*> places_;
};

}  // namespace cru::coordination
