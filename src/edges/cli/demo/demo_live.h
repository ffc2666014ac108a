#pragma once
/// The demo's live agents: three who decide for themselves, and are still there after the daemon was killed.
#include "edges/cli/core/context.h"

namespace cru::cli {

inline constexpr size_t demo_lives = 3;

/// Brings them to life and wishes them a good morning.
Result<> begin_demo_lives(Client& client);

/// Auto mode, for those who stay to watch.
Result<> begin_demo_conversation(Client& client);

struct DemoLives {
  size_t here = 0;  ///< of those who were brought to life
  int64_t thoughts = 0;
};
Result<DemoLives> look_at_demo_lives(Client& client);

}  // namespace cru::cli
