#include "members/badge.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cru::members {
namespace {

constexpr std::array<std::string_view, 10> badge_words = {"needs you", "failed",   "disconnected", "speaking",
                                                          "listening", "thinking", "using a tool", "queued",
                                                          "idle",      "done"};
constexpr size_t max_evidence_bytes = 200;

/// Its first line that says something, short enough for a table.
std::string in_short(std::string_view text) {
  auto line = first_line(trim(text));
  if (line.size() <= max_evidence_bytes) return std::string(line);
  return std::string(cut_at_character(line, max_evidence_bytes)) + "…";
}

std::string evidence_of(const Facts::Session& session) {
  const auto& told = *session.told;
  if (told.word == Word::using_tool || told.word <= Word::failed) return told.tool;
  if (told.word == Word::idle) return "waiting for a prompt";
  if (!session.doing.empty()) return session.doing;
  return told.tool.empty() ? "working on a prompt" : "after " + told.tool;
}

/// Nothing if all that is known is that it called: that is no sign of being at work.
std::optional<Activity> activity_of(const Facts::Session& session, Time now) {
  bool is_quiet = !session.tells_idle && now - session.last_heartbeat >= quiet_after;
  if (session.told && !is_quiet)
    return Activity{session.told->word, session.told->since, evidence_of(session)};
  if (session.is_idle || is_quiet) return Activity{Word::idle, session.last_heartbeat, session.doing};
  if (!session.tells_idle && !session.lasts && session.doing.empty()) return {};
  return Activity{Word::thinking, session.last_heartbeat, session.doing};
}

/// What it is doing now, by whichever facet says most.
Activity activity_of(const Facts& facts, Time now) {
  std::optional<Activity> most;
  auto consider = [&](const Activity& other) {
    if (!most || other.word < most->word) most = other;
  };
  for (const auto* facet : {&facts.body, &facts.thread})
    if (*facet) consider(**facet);
  if (facts.session)
    if (auto of_session = activity_of(*facts.session, now)) consider(*of_session);
  if (!most && facts.run) consider(*facts.run);
  return most.value_or(
      Activity{Word::idle, facts.session ? facts.session->last_heartbeat : facts.started_at});
}

/// A session that says nothing turns quiet.
Time quiet_at(const Facts& facts, Time now) {
  if (!facts.session || facts.session->tells_idle) return Time::max();
  auto at = facts.session->last_heartbeat + quiet_after;
  return at > now ? at : Time::max();
}

Badge badge_now(const Facts& facts, Time now) {
  if (facts.asked && !facts.ended)
    return {Word::needs_you, facts.asked->at, "asked: " + in_short(facts.asked->prompt)};
  if (facts.failed) return {Word::failed, facts.failed->at, in_short(facts.failed->why)};
  if (facts.ended) {
    const auto& ended = *facts.ended;
    if (ended.left_behind.empty()) return {Word::done, ended.at, in_short(ended.why)};
    return {Word::disconnected, ended.at, in_short(ended.why) + "; it left " + ended.left_behind};
  }
  auto doing = activity_of(facts, now);
  return {doing.word, doing.since, in_short(doing.what)};
}

}  // namespace

std::string_view name(Word word) { return badge_words[static_cast<size_t>(word)]; }

Badge badge(const Facts& facts, Time now) {
  auto told = badge_now(facts, now);
  told.until = std::min(facts.until, quiet_at(facts, now));
  return told;
}

json::object to_json(const Badge& badge) {
  return {{"badge", name(badge.word)},
          {"since", to_rfc3339(badge.since)},
          {"evidence", json_or_null(badge.evidence)}};
}

}  // namespace cru::members
