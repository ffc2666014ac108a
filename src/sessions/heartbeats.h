#pragma once
/// Rules of heartbeats that are not written yet: a call that only reads is a sign of life too, but not worth
/// a commit each. Kept in memory on the engine's thread, written every 5 seconds at the most.
#include <map>

#include "sessions/session.h"

namespace cru::coordination {

class Heartbeats {
 public:
  static constexpr size_t most = 10'000;
  static constexpr Duration write_every = 5s;

  /// A live session has been read from, or written to, the store.
  void put(const Session& session);
  void erase(const std::string& session_id) { heard_.erase(session_id); }
  bool is_full() const { return heard_.size() >= most; }

  enum class Heard { unknown, kept, to_be_written };
  /// The session of `who` is alive. To be written: also call `written` when that is done.
  Heard hear(const Who& who, const Moment& now);
  void written(const std::string& session_id, const Moment& at);
  void not_written(const std::string& session_id);

  /// `session` with what was heard of it since it was written.
  Session latest(Session session) const;
  std::optional<Moment> last_of(const std::string& session_id) const;
  /// Forgets those that were last heard of before `threshold` ago.
  void forget_old(const Moment& now, Duration threshold);

 private:
  struct Entry {
    std::string owner, member;
    Moment at;
    Moment written_at;
    bool is_idle = false;  ///< as written: the next call makes it active, which others should see
    bool is_being_written = false;
  };
  std::map<std::string, Entry> heard_;
};

}  // namespace cru::coordination
