#pragma once
/// Rules of the badge: the one word that tells how a member is, since when, and by what that is known. Every
/// list of agents shows this word, so that no two of them disagree. It looks at facts only; collecting them
/// is the roster's business.
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"

namespace cru::members {

/// In the order in which they count: of several that are true, the first is shown.
enum class Word {
  needs_you,     ///< it asked a person something
  failed,        ///< it, or what it did last, failed
  disconnected,  ///< it is gone and left something behind
  speaking,
  listening,
  thinking,
  using_tool,
  queued,
  idle,
  done  ///< it ended, as it should
};
/// "needs you", "using a tool", …
std::string_view name(Word word);

/// What one of a member's facets is doing.
struct Activity {
  Word word = Word::idle;  ///< from speaking to idle
  Time since = {};
  std::string what = {};  ///< the tool, the task, the words
};

/// What is known of a member. A facet that it does not have is absent.
struct Facts {
  Time started_at = {};
  struct Asked {
    std::string prompt;
    Time at;
  };
  std::optional<Asked> asked = {};  ///< the oldest question that waits
  struct Failed {
    std::string why;
    Time at;
  };
  std::optional<Failed> failed = {};
  struct Ended {
    std::string why;
    Time at;
    std::string left_behind = {};  ///< "2 locks, 1 work item"; empty: nothing
  };
  std::optional<Ended> ended = {};
  struct Session {
    bool is_idle = false;     ///< it says so itself
    bool tells_idle = false;  ///< its host's hooks do, between turns: silence means that it is at work
    bool lasts = false;       ///< a program here speaks for it, not a call now and then
    Time last_heartbeat;
    std::string doing = {};
    /// What it does, as it says itself or its host's hooks do. The tool is in use, or was used last; or it is
    /// what its user is needed for, or why its turn failed.
    struct Told {
      Word word = Word::idle;
      Time since = {};
      std::string tool = {};
    };
    std::optional<Told> told = {};
  };
  std::optional<Session> session = {};
  std::optional<Activity> thread = {}, body = {};
  std::optional<Activity> run = {};  ///< while its process is there
  Time until = Time::max();          ///< another fact comes then, though nobody does anything
};

struct Badge {
  Word word = Word::idle;
  Time since = {};
  std::string evidence = {};  ///< one line: "asked: Which port?"
  Time until = Time::max();   ///< it may be another then, though nobody does anything
};

/// A session whose host does not tell when it is idle is so when it has said nothing for this long.
constexpr Duration quiet_after = std::chrono::minutes(5);

/// A process that merely runs says less than a session, a thread or a body does of itself: it counts only
/// where there is nothing else to go by.
Badge badge(const Facts& facts, Time now);

json::object to_json(const Badge& badge);

}  // namespace cru::members
