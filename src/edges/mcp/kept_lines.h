#pragma once
/// KeptLines: what `cru mcp` must tell a new daemon again: requests without an answer, and what the client
/// has agreed on and subscribed to. Lines as the client wrote them; bounded.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "edges/mcp/peek.h"

namespace cru::mcp {

class KeptLines {
 public:
  struct Entry {
    std::string id;  ///< as JSON text; empty for a batch
    std::string line;
    int attempts = 0;
    bool is_sent = false;
  };
  struct Listen {
    std::string id;
    std::string line;
  };

  /// Whether more must be remembered of such a line than that it is unanswered.
  static bool is_of_note(const Peeked& about);
  /// Looks at a line of the client's before it is sent.
  void note(const Peeked& about, std::string_view line);
  /// Keeps a request until it is answered.
  void keep(uint64_t number, const Peeked& about, std::string_view line);
  void keep_listen(uint64_t number, const Peeked& about, std::string_view line);
  void mark_sent(uint64_t number);
  /// It is answered, or never will be.
  void forget(uint64_t number);

  bool is_full() const;
  bool is_waiting(std::string_view id) const { return by_id_.contains(std::string(id)); }
  bool has_subscriptions() const { return !subscriptions_.empty() || !listens_.empty(); }
  bool used_tools() const { return used_tools_; }
  void note_used_tools() { used_tools_ = true; }

  std::map<uint64_t, Entry>& unanswered() { return unanswered_; }
  const std::map<uint64_t, Listen>& listens() const { return listens_; }
  const std::map<std::string, std::string>& subscriptions() const { return subscriptions_; }
  const std::string& initialize() const { return initialize_; }
  const std::string& initialized() const { return initialized_; }
  const std::string& set_level() const { return set_level_; }

 private:
  void cancelled(const std::string& id);

  std::map<uint64_t, Entry> unanswered_;
  size_t bytes_ = 0;
  std::unordered_map<std::string, uint64_t> by_id_;  ///< the latest with the id
  std::string initialize_, initialized_, set_level_;
  std::map<std::string, std::string> subscriptions_;  ///< lines by address
  std::map<uint64_t, Listen> listens_;
  bool used_tools_ = false;
};

}  // namespace cru::mcp
