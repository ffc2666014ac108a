#include "autonomy/instinct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "autonomy/decision.h"
#include "base/text.h"
#include "minds/reply_builder.h"

namespace cru::autonomy {
namespace {

constexpr size_t max_in_a_row = 2;
constexpr Duration lately = 1min;        ///< for all that it said
constexpr Duration one_talk = 10min;     ///< for what it said to the same one
constexpr Duration beginning = 30s;      ///< of a task that nobody says is in progress
constexpr uint64_t thoughts_a_task = 3;  ///< it is done after at most so many
constexpr size_t max_quote_bytes = 80;

using Lines = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> answers{
    "I heard you: {}. {}", "You said {}, and I have taken note of it. {}", "{}: understood. {}",
    "Thank you for telling me: {}. {}", "On {}, I agree so far. {}"};
constexpr std::array<std::string_view, 3> last_answers{"Noted: {}. {} Let us leave it at that.",
                                                       "I shall think about {}. {} Until later.",
                                                       "{}: agreed. {} Back to it, then."};
constexpr std::array<std::string_view, 5> greetings{
    "Good to see you, {}. What are you working on?", "Hello, {}. Quiet here today.",
    "{}, a moment: is there anything I can take off your hands?",
    "Morning or evening, {}, the desks look the same. How is it going?", "Hello, {}. I was just passing by."};
constexpr std::array<std::string_view, 3> proposals{
    "Shall we go over what is still open, {}, together?",
    "{}, I could review what you did last, if you review mine.",
    "Two see more than one, {}: let us look at the hardest part first."};
constexpr std::array<std::string_view, 5> waits{"nothing needs me right now",
                                                "watching how the others get on", "thinking it over",
                                                "enjoying the quiet", "looking out of the window, briefly"};
constexpr std::array<std::string_view, 4> walks{"stretching my legs", "a change of view helps",
                                                "it is quieter over there", "seeing who is about"};
constexpr std::array<std::string_view, 4> works{"working on {}", "still at {}, it is coming along",
                                                "checking {} once more", "halfway through {}"};
constexpr std::array<std::string_view, 3> results{"Done: {}. Nothing is left open.",
                                                  "{} is finished and checked.",
                                                  "Completed {}; it took less than I feared."};

/// The next number of a sequence that begins with a thought's seed.
uint64_t roll(uint64_t& seed) {
  seed += 0x9E3779B97F4A7C15u;
  auto mixed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

template <class T>
const T& pick(std::span<const T> from, uint64_t& seed) {
  return from[roll(seed) % from.size()];
}

template <class... Parts>
std::string line(Lines lines, uint64_t& seed, const Parts&... parts) {
  return fmt::format(fmt::runtime(pick(lines, seed)), parts...);
}

/// In a few words, in quotation marks.
std::string quote(std::string_view text) {
  auto words = cut_words(valid_utf8(text), max_quote_bytes);
  std::ranges::replace(words, '\n', ' ');
  return fmt::format("“{}”", words);
}

/// What itself quotes is not quoted again, and again.
std::string quote_heard(std::string_view text) {
  return text.find("“") == std::string_view::npos ? quote(text) : "that much";
}

/// People are answered always; among agents somebody has to stop.
bool is_person(std::string_view id) { return !id.starts_with("agent_"); }

size_t said_lately(const Situation& situation, std::string_view to) {
  return static_cast<size_t>(std::ranges::count_if(situation.recent, [&](const Remembered& message) {
    if (message.sender != situation.agent_id || is_person(message.recipient)) return false;
    auto ago = situation.now - message.at;
    return ago < lately || (message.recipient == to && ago < one_talk);
  }));
}

Decision answer(const Situation& situation, const Remembered& heard, uint64_t& seed) {
  auto said = is_person(heard.sender) ? 0 : said_lately(situation, heard.sender);
  if (said >= max_in_a_row) return Wait{fmt::format("all is said between {} and me", quote(heard.sender))};
  auto task = situation.task ? fmt::format("I am at {}.", quote(situation.task->task_name))
                             : std::string("I have no task at the moment.");
  Lines lines = said + 1 == max_in_a_row ? Lines(last_answers) : Lines(answers);
  return Speak{line(lines, seed, quote_heard(heard.content), task), heard.sender};
}

Decision work(const Situation& situation, uint64_t& seed) {
  const auto& task = *situation.task;
  auto name = quote(task.task_name);
  // How long it has worked is not known, so each task has thoughts of its own at which it is done.
  uint64_t offset = std::hash<std::string_view>()(task.task_id) % thoughts_a_task;
  bool has_begun = task.status != "assigned" || situation.now - task.since > beginning;
  bool is_done = has_begun && (static_cast<uint64_t>(situation.thought) + offset) % thoughts_a_task == 0;
  if (is_done) return CompleteTask{task.task_id, line(results, seed, name)};
  return Wait{line(works, seed, name)};
}

/// Somebody near with whom it has not just spoken.
const Neighbour* company(const Situation& situation, uint64_t& seed) {
  if (situation.neighbours.empty()) return nullptr;
  const auto& other = pick(std::span(situation.neighbours), seed);
  bool has_spoken = std::ranges::any_of(situation.recent, [&](const Remembered& message) {
    return message.sender == other.id || message.recipient == other.id;
  });
  return has_spoken ? nullptr : &other;
}

Decision be_idle(const Situation& situation, uint64_t& seed) {
  auto chance = roll(seed) % 100;
  if (chance < 25 && !situation.free_nearby.empty())
    return Move{pick(std::span(situation.free_nearby), seed), line(walks, seed)};
  if (chance >= 25 && chance < 35)
    if (const auto* other = company(situation, seed)) {
      auto name = valid_utf8(other->name);
      if (chance < 33) return Speak{line(greetings, seed, name), other->id};
      return Collaborate{other->id, line(proposals, seed, name)};
    }
  return Wait{line(waits, seed)};
}

Decision decide(const Situation& situation) {
  auto seed = situation.seed;
  auto heard = std::ranges::find_if(
      situation.unanswered.rbegin(), situation.unanswered.rend(), [&](const Remembered& said) {
        return said.sender != situation.agent_id && is_meant_for(said, situation.agent_id);
      });
  if (heard != situation.unanswered.rend()) return answer(situation, *heard, seed);
  if (situation.task) return work(situation, seed);
  // Whoever chimes in where others talk makes more of them talk, and so on without end.
  if (!situation.unanswered.empty()) return Wait{"listening to the others"};
  return be_idle(situation, seed);
}

}  // namespace

std::string instinct(const Situation& situation) {
  auto words = to_text(to_json(decide(situation)));
  // A tile or an id may be none that a decision can name.
  const auto read = read_decision(words);
  const auto* wait = std::get_if<Wait>(&read);
  return wait && wait->was_unreadable ? to_text(to_json(Wait{"at a loss for words"})) : words;
}

}  // namespace cru::autonomy
