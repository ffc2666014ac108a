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
#include "base/result.h"
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
  tool,       ///< an agent used end_conversation
  budget,     ///< its turns or tokens were used up
  condition,  ///< what it was to last until has happened
  failed      ///< it cannot be carried on, and nobody who takes part is to blame
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

/// A person who takes part: they have a turn of their own after the agent whose turn it was when they joined.
struct Person {
  std::string name;
  size_t after = 0;    ///< of the cast
  int32_t missed = 0;  ///< turns in a row
};

/// The responder walks and thinks; it speaks; a person has the word; it is over.
enum class Phase : uint8_t { preparing, speaking, waiting, over };

inline constexpr size_t max_recent = 24;        ///< lines that are kept at hand, for prompts
inline constexpr size_t max_line_bytes = 8000;  ///< what is said at once; more is cut
/// What people say before an agent speaks again: all of it is for the next one.
inline constexpr size_t max_person_lines = 8, max_person_bytes = 16'000;
inline constexpr int32_t max_failures = 3;    ///< of a mind in one turn
inline constexpr int32_t max_repeats = 2;     ///< in a row, before it counts as no progress
inline constexpr size_t max_people = 3;       ///< who have turns of their own
inline constexpr Duration person_wait = 60s;  ///< for a person's words; then the turn passes
inline constexpr int32_t max_missed = 2;      ///< turns in a row; then a person is taken to have gone

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
  std::vector<Person> people;     ///< in the order of joining
  std::optional<size_t> person;   ///< whose turn it is, while it waits for one
  BootTime person_deadline{};     ///< not kept over a restart: the wait begins again
  Time person_until{};            ///< the same, for clients
  bool has_arrived = false;
  /// What the responder is going to say, once it stands.
  std::optional<Line> reply;
  int32_t failures = 0, repeats = 0;
  int32_t limits = 0;  ///< of its mind's provider, or of the disk, that this turn has met: no failures
  int32_t tries() const { return failures + limits; }
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

/// It follows from the conversation, so no column keeps it.
std::string trace_id_of(const AutoModeState& state);

struct Now {
  Time wall;
  BootTime boot;
};

// Inputs.
/// Its state has told everybody already when it started.
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
  std::optional<Time> until = {};  ///< of a usage limit: the mind is asked again then
  bool is_ours = false;            ///< the disk is full, or such: the mind is asked again, and did not fail
};
/// It cannot be carried on: what is said cannot be kept, or what was kept cannot be read.
struct CannotGoOn {
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
struct PersonJoined {
  std::string name;
};
struct PersonLeft {
  std::string name;
};
/// After a restart: the turn is prepared again.
struct Resumed {};
/// After a restart, where conversations are not to be resumed.
struct Interrupted {};
using Input =
    std::variant<Begin, Arrived, Replied, MindFailed, HasSpoken, TimeUp, StopAsked, AgentLeft, LimitSet,
                 PersonSpoke, Resumed, Interrupted, EndAsked, CannotGoOn, PersonJoined, PersonLeft>;

namespace effect {
struct TurnChanged {};
/// The responder goes where its pattern says; its arrival is told as Arrived, at once if it stays.
struct Approach {};
/// Ask the responder's mind; after a failure not at once.
struct Ask {
  int64_t turn;
  Duration after{0};
  bool is_limited = false;  ///< so late because its provider takes no work before
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
/// A person has the word.
struct PersonTurn {};
struct PeopleChanged {
  std::string name;
  bool has_joined = false;
};
/// Everybody goes back to their seats.
struct Ended {};
}  // namespace effect
using Effect = std::variant<effect::TurnChanged, effect::Approach, effect::Ask, effect::Cancel, effect::Said,
                            effect::Speak, effect::SetTimer, effect::LimitChanged, effect::PersonTurn,
                            effect::PeopleChanged, effect::Ended>;

/// Carries the conversation on. One that is over does not change any more, whatever comes; answers and
/// arrivals of other turns change nothing.
std::vector<Effect> step(AutoModeState& state, const Input& input, Now now);

/// Whether this person may say so much now: in their own turn always. Errors: overloaded, until an agent has
/// spoken.
Result<> check_words(const AutoModeState& state, std::string_view person, std::string_view text);
/// Errors: overloaded if too many people take part.
Result<> check_join(const AutoModeState& state, std::string_view person);
bool takes_part(const AutoModeState& state, std::string_view person);
/// The person whose turn it is; null if it is an agent's.
const Person* person_to_speak(const AutoModeState& state);

/// When to look at the time again: at its limit, or when a condition may be met by time alone.
BootTime next_look(const AutoModeState& state, BootTime now);

/// Its end as a sentence, for people; empty while it goes on.
std::string how_it_ended(const AutoModeState& state);

/// Whether it says the same as before, but for case, blanks and punctuation.
bool says_the_same(std::string_view a, std::string_view b);

}  // namespace cru::auto_mode
