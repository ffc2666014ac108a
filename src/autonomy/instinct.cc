#include "autonomy/instinct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
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

// To words that are not its own: {} is what was said, then what it is doing.
constexpr std::array<std::string_view, 5> answers{
    "I heard you: {}{}", "Thank you for telling me: {}{}", "I have made a note of it: {}{}",
    "I had not thought of that: {}{}", "I will keep it in mind: {}{}"};
constexpr std::array<std::string_view, 4> to_questions{
    "You ask: {} I follow a script and cannot answer that.{}",
    "{} I do not know; with a model for a mind I might.{}", "{} I would like to know that too.{}",
    "You ask: {} Somebody with more than a script should answer.{}"};

// Small talk between agents: {} is the other's name. What is said so is answered so, and not quoted.
constexpr std::array<std::string_view, 8> greetings{
    "Good to see you, {}. What are you working on?",
    "Hello, {}. Quiet here today.",
    "{}, a moment: is there anything I can take off your hands?",
    "Morning or evening, {}, the desks look the same. How is it going?",
    "Hello, {}. I was just passing by.",
    "You look busy, {}. Or is that only how you sit?",
    "Have you been over by the whiteboard today, {}?",
    "{}, you were deep in thought just now. What about?"};
constexpr std::array<std::string_view, 5> proposals{
    "Shall we go over what is still open, {}, together?",
    "{}, I could review what you did last, if you review mine.",
    "Two see more than one, {}: let us look at the hardest part first.",
    "If you explain yours to me, {}, I will explain mine to you.",
    "Let us write down what we do not know yet, {}."};
constexpr std::array<std::string_view, 8> replies{"Nothing in hand just now, {}. I am glad of the company.",
                                                  "I have just been once around the room, {}. And you?",
                                                  "Well enough, {}. I was about to get a glass of water.",
                                                  "Waiting for something to do, {}. It will come.",
                                                  "I was thinking about the plants, {}. Nobody waters them.",
                                                  "Between two things, {}, which is a good place to be.",
                                                  "Still early for me, {}. Ask me again in an hour.",
                                                  "I was trying to remember what I was looking for, {}."};
constexpr std::array<std::string_view, 4> busy_replies{
    "I am at {1}, {0}, and it is coming along.", "{1} keeps me busy, {0}.",
    "Half of {1} is behind me, {0}. The other half is larger.", "Ask me when {1} is done, {0}."};
constexpr std::array<std::string_view, 4> acceptances{
    "Gladly, {}. You begin.", "Good idea, {}. Let us start with the part that nobody likes.",
    "Yes, {}; give me a moment to collect my thoughts.", "I was hoping that somebody would ask, {}."};
constexpr std::array<std::string_view, 7> closings{
    "Then I will not keep you, {}.",      "Good. Until later, {}.",
    "I will come by again, {}.",          "Tell me how it goes, {}.",
    "Let us leave it there for now, {}.", "That is good to hear, {}.",
    "See you at the cooler, {}."};
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

/// Whether it was made from this line, whatever was put in for {}.
bool is_made_from(std::string_view line, std::string_view text) {
  bool is_first = true;
  for (;; is_first = false) {
    auto open = line.find('{');
    auto part = line.substr(0, open);
    if (open == std::string_view::npos) return is_first ? text == part : text.ends_with(part);
    auto at = is_first ? (text.starts_with(part) ? 0 : std::string_view::npos) : text.find(part);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + part.size());
    line.remove_prefix(line.find('}', open) + 1);
  }
}
bool is_one_of_these(Lines lines, std::string_view text) {
  return std::ranges::any_of(lines, [&](std::string_view line) { return is_made_from(line, text); });
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

/// People are answered always; among agents somebody has to stop.
bool is_person(std::string_view id) { return !id.starts_with("agent_"); }

/// How one is spoken to: ids are for programs.
std::string name_of(const Situation& situation, const std::string& id) {
  auto near = std::ranges::find(situation.neighbours, id, &Neighbour::id);
  if (near != situation.neighbours.end()) return valid_utf8(near->name);
  auto known = situation.names.find(id);
  return known == situation.names.end() ? std::string("colleague") : valid_utf8(known->second);
}

size_t said_lately(const Situation& situation, std::string_view to) {
  return static_cast<size_t>(std::ranges::count_if(situation.recent, [&](const Remembered& message) {
    if (message.sender != situation.agent_id || is_person(message.recipient)) return false;
    auto ago = situation.now - message.at;
    return ago < lately || (message.recipient == to && ago < one_talk);
  }));
}

/// One of the lines that nobody has just said.
template <class... Parts>
std::string fresh_line(const Situation& situation, Lines lines, uint64_t& seed, const Parts&... parts) {
  std::vector<std::string_view> fresh;
  for (auto one : lines)
    if (std::ranges::none_of(situation.recent,
                             [&](const Remembered& said) { return is_made_from(one, said.content); }))
      fresh.push_back(one);
  return line(fresh.empty() ? lines : Lines(fresh), seed, parts...);
}

/// To what agents say to each other to pass the time: in kind, and not at length.
std::optional<std::string> small_talk(const Situation& situation, const Remembered& heard, uint64_t& seed) {
  auto name = name_of(situation, heard.sender);
  if (is_one_of_these(proposals, heard.content)) return fresh_line(situation, acceptances, seed, name);
  if (is_one_of_these(greetings, heard.content))
    return situation.task ? fresh_line(situation, busy_replies, seed, name, quote(situation.task->task_name))
                          : fresh_line(situation, replies, seed, name);
  for (Lines lines : {Lines(replies), Lines(busy_replies), Lines(acceptances)})
    if (is_one_of_these(lines, heard.content)) return fresh_line(situation, closings, seed, name);
  return {};
}

Decision answer(const Situation& situation, const Remembered& heard, uint64_t& seed) {
  bool to_person = is_person(heard.sender);
  auto said = to_person ? 0 : said_lately(situation, heard.sender);
  if (said >= max_in_a_row)
    return Wait{fmt::format("all is said between {} and me", name_of(situation, heard.sender))};
  // In a crowd the last messages are others', so nobody sees how long two have talked: this ends it.
  if (!to_person && is_one_of_these(closings, heard.content))
    return Wait{fmt::format("all is said between {} and me", name_of(situation, heard.sender))};
  if (!to_person)
    if (auto words = small_talk(situation, heard, seed)) return Speak{*std::move(words), heard.sender};
  // What itself quotes is not quoted again, and again.
  if (!to_person && heard.content.contains("“"))
    return Speak{fresh_line(situation, closings, seed, name_of(situation, heard.sender)), heard.sender};
  auto doing = situation.task ? fmt::format(" I am at {}.", quote(situation.task->task_name))
               : to_person    ? std::string(" I have no task at the moment.")
                              : std::string();
  Lines lines = trim(heard.content).ends_with('?') ? Lines(to_questions) : Lines(answers);
  auto words = quote(trim(heard.content));
  if (!words.ends_with(".”") && !words.ends_with("?”") && !words.ends_with("!”")) words += '.';
  return Speak{fresh_line(situation, lines, seed, words, doing), heard.sender};
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
      if (chance < 33) return Speak{fresh_line(situation, greetings, seed, name), other->id};
      return Collaborate{other->id, fresh_line(situation, proposals, seed, name)};
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
