#pragma once
/// Handoffs and memory: small enough for one service each call of which is one closure.
#include "coordination/handoff_table.h"
#include "coordination/memory_table.h"
#include "coordination/sessions_service.h"

namespace cru::coordination {

class Handoffs {
 public:
  Handoffs(Store& store, Sessions& sessions, Random& random)
      : store_(store), sessions_(sessions), random_(random) {}
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

class Memories {
 public:
  Memories(Store& store, Sessions& sessions, Random& random)
      : store_(store), sessions_(sessions), random_(random) {}
  Task<Result<Done>> remember(Who who, Memory memory);
  Task<Result<Done>> recall(Who who, Recall recall);

 private:
  Store& store_;
  Sessions& sessions_;
  Random& random_;
};

}  // namespace cru::coordination
