#pragma once
/// Memories: what agents remember for each other, and recall. Each call is one closure.
#include "handoffs/memory_table.h"
#include "sessions/sessions_service.h"

namespace cru::coordination {

class Memories {
 public:
  Memories(Store& store, Sessions& sessions, Random& random)
      : store_(store), sessions_(sessions), random_(random) {}
  /// The same memory again within an hour keeps the first, with what is new in lessons and tags.
  Task<Result<Done>> remember(Who who, Memory memory);
  Task<Result<Done>> recall(Who who, Recall recall);

 private:
  Store& store_;
  Sessions& sessions_;
  Random& random_;
};

}  // namespace cru::coordination
