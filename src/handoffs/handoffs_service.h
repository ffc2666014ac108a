#pragma once
/// Handoffs: written, read and searched, with what their sessions changed.
#include "handoffs/handoff_table.h"
#include "handoffs/memories_service.h"
#include "sessions/sessions_service.h"

namespace cru::coordination {

class Handoffs {
 public:
  /// Build it after the rooms whose doings a final handoff tells of: what they registered comes first.
  /// `root` is the repository whose commits a changeset names.
  Handoffs(Store& store, Sessions& sessions, Pool& pool, Random& random, std::string root)
      : store_(store), sessions_(sessions), pool_(pool), random_(random), root_(std::move(root)) {
    write_handoffs_at_session_end(sessions);
  }
  /// An empty summary is the reply `summary_required` (400).
  Task<Result<Done>> write(Who who, Handoff handoff);
  /// Without a name: the caller's own.
  Task<Result<Done>> read(Who who, HandoffFilter filter, int64_t limit);
  Task<Result<Done>> list(Who who, HandoffFilter filter, int64_t limit);
  /// With its `changeset`: null if the session changed nothing, or that is not kept any more.
  Task<Result<Done>> find(Who who, std::string id);
  /// What a session changed, newest first.
  Task<Result<Done>> changesets(Who who, std::string session_id, int64_t limit);

 private:
  Task<json::object> tell(Changeset changeset);

  Store& store_;
  Sessions& sessions_;
  Pool& pool_;
  Random& random_;
  const std::string root_;
};

}  // namespace cru::coordination
