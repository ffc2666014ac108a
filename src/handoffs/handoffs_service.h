#pragma once
/// Handoffs: written, read and searched. Each call is one closure.
#include "handoffs/handoff_table.h"
#include "handoffs/memories_service.h"
#include "sessions/sessions_service.h"

namespace cru::coordination {

class Handoffs {
 public:
  /// Build it after the rooms whose doings a final handoff tells of: what they registered comes first.
  Handoffs(Store& store, Sessions& sessions, Random& random)
      : store_(store), sessions_(sessions), random_(random) {
    write_handoffs_at_session_end(sessions);
  }
  /// An empty summary is the reply `summary_required` (400).
  Task<Result<Done>> write(Who who, Handoff handoff);
  /// Without a name: the caller's own.
  Task<Result<Done>> read(Who who, std::string agent_name, int64_t limit);
  Task<Result<Done>> list(Who who, std::string agent_name, std::string query, int64_t limit);
  Task<Result<Done>> find(Who who, std::string id);

 private:
  Store& store_;
  Sessions& sessions_;
  Random& random_;
};

}  // namespace cru::coordination
