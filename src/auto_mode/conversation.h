#pragma once
/// A conversation between agents: whose turn it is, what is handed on, and why it ends. Rules only: minds,
/// feet, voices and timers are effects for the service, and their outcomes are inputs.
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "auto_mode/cast.h"
#include "auto_mode/end_condition.h"
#include "auto_mode/interaction_pattern.h"
#include "base/time.h"

namespace cru::auto_mode {

/// Why a conversation ended. The first four are the requirement's, and hold whatever else is wished for.
enum class Ending : uint8_t {
  keyword,
  timer,
  user,
  agent_exit,
  no_progress,
  restart,
  tool,      ///< an agent used end_conversation
  budget,    ///< its turns or tokens were used up
  condition  ///< what it was to last until has happened
};
std::string_view name(Ending ending);
std::optional<Ending> ending_from(std::string_view name);

/// Something said. By an agent of the cast, or by a person who joined in (`agent_id` is empty).
struct Line {
  int64_t turn = 0;
  std::string agent_id, name, text;
  Time at{};
  int64_t tokens = 0;
  int64_t number = 0;  ///< within the conversation, from 1
};

/// The responder walks and thinks; it speaks; it is over.
enum class Phase : uint8_t { preparing, speaking, over };

inline constexpr size_t max_recent = 24;        ///< lines that are kept at hand, for prompts
inline constexpr size_t max_line_bytes = 8000;  ///< what is said at once; more is cut
inline constexpr int32_t max_failures = 3;      ///< of a mind in one turn
inline constexpr int32_t max_repeats = 2;       ///< in a row, before it counts as no progress

struct AutoModeState {
  std::string id, topic, prompt, keyword;
  InteractionPattern pattern = default_pattern;
  std::vector<CastMember> cast;  ///< in the order of their turns
  bool is_beside = false;        ///< began while another one went on, for clients that know of several
  std::optional<EndCondition> budget, until;
  uint64_t seed = 0;
  Time started_at{};
  Duration limit{};
  BootTime deadline{};  ///< not kept over a restart: the service sets it
  Phase phase = Phase::over;
  int64_t turn = 0;  ///< from 1
  size_t responder = 0;
  std::optional<size_t> speaker;  ///< of the turn before
  bool has_arrived = false;
  /// What the responder is going to say, once it stands.
  std::optional<Line> reply;
  int32_t failures = 0, repeats = 0;
  std::vector<Line> recent;  ///< oldest first
  int64_t lines = 0;         ///< of everybody
  int64_t spoken = 0;        ///< of the cast
  int64_t tokens = 0;
  int64_t prompted = 0;  ///< lines that there were when the responder was asked
  int64_t fresh_from =
      0;  ///< and when the one before it was: what people said since is news to the responder
  /// The responder used end_conversation, and why: it ends when that one has said its last words.
  std::optional<std::string> end_asked;
  std::optional<Ending> ending;
  std::string detail;  ///< of its end, in words
  Time ended_at{};

  bool is_active() const { return phase != Phase::over; }
};

struct Now {
  Time wall;
  BootTime boot;
};

// Inputs.
struct Begin {};
/// The responder stands where it is going to speak.
struct Arrived {
  std::string agent_id;
};
struct Replied {
  int64_t turn;
  std::string text;  ///< without the keyword
  bool has_keyword = false;
  int64_t tokens = 0;
  std::optional<std::string> end_asked = {};  ///< end_conversation was used in it, and why
};
/// The responder used end_conversation while it thinks.
struct EndAsked {
  int64_t turn;
  std::string why;
};
struct MindFailed {
  int64_t turn;
  std::string why;
};
struct HasSpoken {
  std::string agent_id;
};
struct TimeUp {};
struct StopAsked {
  std::string by;
};
struct AgentLeft {
  std::string agent_id;
};
struct LimitSet {
  Duration limit;
};
struct PersonSpoke {
  std::string name, text;
};
/// After a restart: the turn is prepared again.
struct Resumed {};
/// After a restart, where conversations are not to be resumed.
struct Interrupted {};
using Input = std::variant<Begin, Arrived, Replied, MindFailed, HasSpoken, TimeUp, StopAsked, AgentLeft,
                           LimitSet, PersonSpoke, Resumed, Interrupted, EndAsked>;

namespace effect {
struct TurnChanged {};
/// The responder goes where its pattern says; its arrival is told as Arrived, at once if it stays.
struct Approach {};
/// Ask the responder's mind; after a failure not at once.
struct Ask {
  int64_t turn;
  Duration after{0};
};
/// The answer to this turn is not wanted any more.
struct Cancel {
  int64_t turn;
};
/// Was said, or noted; clients are told of it.
struct Said {
  Line line;
};
/// It says this aloud to the one who spoke before, or who speaks next.
struct Speak {
  Line line;
  std::string to;
};
struct SetTimer {};
struct LimitChanged {};
/// Everybody goes back to their seats.
struct Ended {};
}  // namespace effect
using Effect = std::variant<effect::TurnChanged, effect::Approach, effect::Ask, effect::Cancel, effect::Said,
                            effect::Speak, effect::SetTimer, effect::LimitChanged, effect::Ended>;

/// Carries the conversation on. One that is over does not change any more, whatever comes; answers and
/// arrivals of other turns change nothing.
std::vector<Effect> step(AutoModeState& state, const Input& input, Now now);

/// When to look at the time again: at its limit, or when a condition may be met by time alone.
BootTime next_look(const AutoModeState& state, BootTime now);

/// Whether it says the same as before, but for case, blanks and punctuation.
bool says_the_same(std::string_view a, std::string_view b);

}  // namespace cru::auto_mode
