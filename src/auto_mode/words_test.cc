// What is said: the keyword in a stream, topics, personas, prompts, the scripted dialogue, the transcript.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "auto_mode/dialogue.h"
#include "auto_mode/interaction_pattern.h"
#include "auto_mode/keyword.h"
#include "auto_mode/prompts.h"
#include "auto_mode/topics.h"
#include "auto_mode/transcript.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

AutoModeState talk_about(const Topic& topic, size_t agents, uint64_t seed) {
  AutoModeState state;
  state.id = "2026-11-17-auto-x-000001";
  state.topic = topic.name;
  state.prompt = topic.prompt;
  state.keyword = default_keyword;
  state.limit = 5min;
  state.seed = seed;
  for (size_t i = 0; i < agents; ++i) {
    CastMember member;
    member.agent_id = "agent_00" + std::to_string(i + 1);
    member.name = personas()[i].name;
    member.role = personas()[i].role;
    member.character = personas()[i].character;
    member.mind = "scripted";
    state.cast.push_back(std::move(member));
  }
  return state;
}

/// Lets the scripted mind talk to its end; what was said.
std::vector<std::string> played(AutoModeState& state, int most = 40) {
  std::vector<std::string> words;
  step(state, Begin{}, {});
  while (state.is_active() && most-- > 0) {
    KeywordScanner scanner(state.keyword);
    (void)scanner.add(scripted_words(state));
    words.push_back(scanner.text());
    auto id = state.cast[state.responder].agent_id;
    step(state, Arrived{id}, {});
    step(state, Replied{state.turn, scanner.text(), scanner.has_keyword(), 1}, {});
    step(state, HasSpoken{id}, {});
  }
  return words;
}

/// The prompt with "MARK" for the mark of people's words in it, if that is the same before and after each.
std::string without_mark(std::string prompt) {
  auto from = prompt.find("[person-");
  if (from == std::string::npos) return prompt;
  auto mark = prompt.substr(from + 1, prompt.find(']', from) - from - 1);
  for (auto at = prompt.find(mark); at != std::string::npos; at = prompt.find(mark, at))
    prompt.replace(at, mark.size(), "MARK");
  return prompt;
}

TEST(KeywordTest, AM_04_IsFoundWhereverTheStreamIsCutAndIsNotShown) {
  const std::string whole = "We agree. [CONVERSATION_END] And more.";
  for (size_t first = 0; first <= whole.size(); ++first)
    for (size_t second = first; second <= whole.size(); second += 3) {
      KeywordScanner scanner{std::string(default_keyword)};
      (void)scanner.add(std::string_view(whole).substr(0, first));
      (void)scanner.add(std::string_view(whole).substr(first, second - first));
      (void)scanner.add(std::string_view(whole).substr(second));
      ASSERT_TRUE(scanner.has_keyword()) << first << " " << second;
      ASSERT_EQ(scanner.text(), "We agree.");
    }
  KeywordScanner letters{std::string(default_keyword)};
  for (char c : whole) (void)letters.add(std::string_view(&c, 1));
  EXPECT_EQ(letters.text(), "We agree.");
}

TEST(KeywordTest, AM_04_IsConfigurableAndWhatIsNearlyItIsShown) {
  KeywordScanner scanner("<<DONE>>");
  EXPECT_FALSE(scanner.add("[CONVERSATION_END] <<DONE> <<DON"));
  EXPECT_EQ(scanner.text(), "[CONVERSATION_END] <<DONE> <<DON");
  EXPECT_TRUE(scanner.add("E>>"));
  EXPECT_EQ(scanner.text(), "[CONVERSATION_END] <<DONE>");
}

TEST(TopicsTest, AM_10_ThePoolIsLargeAndAsksForDebate) {
  std::set<std::string_view> names, prompts;
  for (const auto& topic : topics()) {
    names.insert(topic.name);
    prompts.insert(topic.prompt);
    EXPECT_TRUE(topic.prompt.contains('?')) << topic.name;
    EXPECT_GT(topic.prompt.size(), 80u) << topic.name << ": a question alone invites a quick answer";
    for (auto part : topic.claims) EXPECT_TRUE(part.ends_with('.') || part.ends_with('?')) << part;
    for (auto part : topic.objections) EXPECT_TRUE(part.ends_with('.') || part.ends_with('?')) << part;
    for (auto part : topic.questions) EXPECT_TRUE(part.ends_with('?')) << part;
  }
  EXPECT_GE(names.size(), 24u);
  EXPECT_EQ(prompts.size(), names.size());
}

TEST(TopicsTest, AM_10_EveryOneIsDrawn) {
  std::set<std::string_view> drawn;
  for (uint64_t chance = 0; chance < 1000; ++chance) drawn.insert(draw_topic(chance * 2654435761u).name);
  EXPECT_EQ(drawn.size(), topics().size());
}

TEST(CastTest, AM_01_EverybodyHasARoleOfItsOwn) {
  std::set<std::string_view> names, roles, characters;
  for (const auto& persona : personas()) {
    names.insert(persona.name);
    roles.insert(persona.role);
    characters.insert(persona.character);
  }
  EXPECT_EQ(names.size(), max_agents);
  EXPECT_EQ(roles.size(), max_agents);
  EXPECT_EQ(characters.size(), max_agents);
}

TEST(PromptsTest, AM_09_TheInstructionIsPrependedToTheFirstAgentsInput) {
  auto state = talk_about(topics()[0], 2, 1);
  step(state, Begin{}, {});
  auto input = user_prompt(state);
  EXPECT_TRUE(input.starts_with(system_instruction(state.keyword)));
  EXPECT_TRUE(input.ends_with(topics()[0].prompt));
  for (auto* word : {"Explore the topic deeply", "follow-up questions", "Debate constructively",
                     "genuinely exhausted", "[CONVERSATION_END]"})
    EXPECT_TRUE(input.contains(word)) << word;
}

TEST(PromptsTest, AM_02_TheNextOneIsGivenTheResponseWordForWord) {
  auto state = talk_about(topics()[0], 2, 1);
  step(state, Begin{}, {});
  step(state, Arrived{"agent_001"}, {});
  step(state, Replied{state.turn, "I think so.\n\nTwo paragraphs.", false, 1}, {});
  step(state, HasSpoken{"agent_001"}, {});
  EXPECT_EQ(user_prompt(state), "I think so.\n\nTwo paragraphs.");
  step(state, PersonSpoke{"player_0", "And cats?"}, {});
  EXPECT_EQ(without_mark(user_prompt(state)),
            "I think so.\n\nTwo paragraphs.\n\n[MARK]\nplayer_0 (a person), who listens: And cats?\n[/MARK]");
  EXPECT_TRUE(system_prompt(state).starts_with("You are Bertrand, the skeptic."));
}

TEST(PromptsTest, APersonsWordsReachTheNextOneThoughAnotherWasThinkingMeanwhile) {
  auto state = talk_about(topics()[0], 3, 1);
  step(state, Begin{}, {});
  step(state, PersonSpoke{"player_0", "And cats?"}, {});
  step(state, Replied{state.turn, "I have thought.", false, 1}, {});
  step(state, Arrived{"agent_001"}, {});
  step(state, HasSpoken{"agent_001"}, {});
  EXPECT_EQ(without_mark(user_prompt(state)),
            "I have thought.\n\n[MARK]\nplayer_0 (a person), who listens: And cats?\n[/MARK]");
  EXPECT_TRUE(scripted_words(state).starts_with("player_0 asks: \"And cats?\" "));
  step(state, Replied{state.turn, "Cats too.", false, 1}, {});
  step(state, Arrived{"agent_002"}, {});
  step(state, HasSpoken{"agent_002"}, {});
  EXPECT_EQ(user_prompt(state), "Cats too.") << "once is enough";
}

TEST(PromptsTest, HoweverMuchPeopleSayTheNextOneHearsItAndWhatTheAgentBeforeSaid) {
  auto state = talk_about(topics()[0], 3, 1);
  step(state, Begin{}, {});
  int said = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 100; ++i)
      if (!step(state, PersonSpoke{"jo", fmt::format("word {}.", said)}, {}).empty()) ++said;
    auto id = state.cast[state.responder].agent_id;
    step(state, Arrived{id}, {});
    step(state, Replied{state.turn, fmt::format("Thought {}.", turn), false, 1}, {});
    step(state, HasSpoken{id}, {});
  }
  for (int i = 0; i < 100; ++i)
    if (!step(state, PersonSpoke{"jo", fmt::format("word {}.", said)}, {}).empty()) ++said;
  auto prompt = user_prompt(state);
  EXPECT_TRUE(prompt.starts_with("Thought 2.")) << prompt;
  for (int i = said - 2 * static_cast<int>(max_person_lines); i < said; ++i)
    EXPECT_TRUE(prompt.contains(fmt::format("word {}.", i))) << i;
}

TEST(PromptsTest, HoweverLongTheyTalkThePromptIsBounded) {
  auto state = talk_about(topics()[0], 3, 1);
  step(state, Begin{}, {});
  for (int i = 0; i < 50; ++i) {
    auto id = state.cast[state.responder].agent_id;
    step(state, Arrived{id}, {});
    step(state, Replied{state.turn, std::to_string(i) + std::string(9000, 'y'), false, 1}, {});
    step(state, HasSpoken{id}, {});
  }
  EXPECT_LT(system_prompt(state).size(), 12'000u);
  EXPECT_LE(user_prompt(state).size(), max_line_bytes);
}

/// "ü" has two bytes and "🐝" four: no limit falls into the middle of one.
TEST(PromptsTest, WhatIsCutIsCutBetweenCharacters) {
  for (std::string_view letter : {"ü", "🐝", "x"})
    for (size_t shift = 0; shift < 4; ++shift) {
      std::string text(shift, '.');
      while (text.size() < 3 * max_line_bytes) text += letter;
      auto state = talk_about(topics()[0], 2, 1);
      step(state, Begin{}, {});
      step(state, Arrived{"agent_001"}, {});
      step(state, EndAsked{state.turn, text}, {});
      step(state, PersonSpoke{"jo", text}, {});
      step(state, Replied{state.turn, text, false, 1}, {});
      for (const auto& line : state.recent) {
        EXPECT_LE(line.text.size(), max_line_bytes);
        EXPECT_GT(line.text.size(), max_line_bytes - 8);
        EXPECT_TRUE(is_utf8(line.text)) << letter << " " << shift;
      }
      auto copy = state;
      copy.end_asked.reset();
      step(copy, HasSpoken{"agent_001"}, {});
      EXPECT_TRUE(is_utf8(system_prompt(copy)));
      EXPECT_TRUE(is_utf8(user_prompt(copy)));
      EXPECT_TRUE(is_utf8(scripted_words(copy)));
      step(state, HasSpoken{"agent_001"}, {});
      EXPECT_TRUE(is_utf8(state.detail));
      EXPECT_TRUE(is_utf8(render_transcript(state, state.recent)));
    }
}

TEST(DialogueTest, IsADebateWithAnEndOnEveryTopicAndForAnyNumber) {
  for (const auto& topic : topics())
    for (size_t agents = min_agents; agents <= max_agents; ++agents)
      for (uint64_t seed : {0u, 1u, 7u, 12'345u}) {
        auto state = talk_about(topic, agents, seed);
        auto words = played(state);
        ASSERT_EQ(state.ending, Ending::keyword) << topic.name << ", " << agents;
        ASSERT_GE(words.size(), 8u);
        std::string all;
        for (const auto& line : words) all += line + "\n";
        size_t missing = 0;
        for (auto part : topic.claims) missing += !all.contains(part);
        for (auto part : topic.objections) missing += !all.contains(part);
        EXPECT_LE(missing, 1u) << "with an odd number on the two sides one may be left over";
        EXPECT_TRUE(all.contains(topic.middle));
        EXPECT_FALSE(all.contains(default_keyword));
        EXPECT_FALSE(all.contains("{}"));
        for (size_t i = 0; i < words.size(); ++i)
          EXPECT_FALSE(words[i].contains(state.cast[i % agents].name)) << "of itself: " << words[i];
        std::set<std::string> distinct(words.begin(), words.end());
        EXPECT_EQ(distinct.size(), words.size());
        std::map<size_t, std::set<std::string>> beginnings;
        for (size_t i = 0; i < words.size(); ++i)
          EXPECT_TRUE(beginnings[i % agents].insert(words[i].substr(0, words[i].find_first_of(".?"))).second)
              << "the same beginning again: " << words[i];
      }
}

TEST(DialogueTest, TheSameSeedSaysTheSameAndAnotherOneSomethingElse) {
  auto a = talk_about(topics()[3], 2, 99), b = a, c = talk_about(topics()[3], 2, 1234);
  EXPECT_EQ(played(a), played(b));
  EXPECT_NE(played(b = talk_about(topics()[3], 2, 99)), played(c));
}

TEST(TranscriptTest, SaysWhoSaidWhatWhenAndWhatItCost) {
  auto state = talk_about(topics()[1], 2, 5);
  step(state, PersonSpoke{"jo", "# hello"}, {});
  (void)played(state);
  std::vector<Line> lines = state.recent;
  lines.push_back({9, {}, "jo", "# hello\n- a list", from_millis(0), 0, 99});
  auto text = render_transcript(state, lines);
  EXPECT_TRUE(text.starts_with("---\nsession_id: \"2026-11-17-auto-x-000001\"\n"));
  for (auto* part : {"ended_by: keyword", "agents: [\"Ada\", \"Bertrand\"]", "### Ada (",
                     "messages:\n  - {turn: 1, agent: \"agent_001\", tokens: 1}\n", "### jo (a person, ",
                     "\\# hello\n\\- a list", "## How it ended\n\n"})
    EXPECT_TRUE(text.contains(part)) << part << "\n" << text;
  auto body = text.substr(text.find("\n---\n"));
  EXPECT_FALSE(body.contains("tokens")) << "what it cost is not found among what was said";
  EXPECT_TRUE(body.contains("## How it ended\n\n" + how_it_ended(state) + "\n"));
  EXPECT_TRUE(how_it_ended(state).ends_with(" ended the conversation.")) << "a sentence, not a word of ours";
  EXPECT_TRUE(text.contains("previous: null\nnext: null\n---"));
  EXPECT_TRUE(text.ends_with("## Links\n\n- Previous conversation: none\n- Next conversation: none\n"));
  EXPECT_EQ(
      conversation_id(from_millis(1'800'000'000'000), "Should every desk have a plant on it?", 0xabcdef),
      "2027-01-15-auto-should-every-desk-have-a-abcdef");
}

TEST(TranscriptTest, LinksToDefinitionsAndToItsNeighbours) {
  auto state = talk_about(topics()[1], 2, 5);
  state.cast[0].definition = ".crucible/agents/ada.md";
  state.cast[1].definition = "builtin:explorer.md";
  (void)played(state);
  auto text = render_transcript(state, state.recent, "2026-11-16-auto-y-000002");
  EXPECT_TRUE(
      text.contains("- [**Ada**](<../../.crucible/agents/ada.md>), advocate (live agent `agent_001`"));
  EXPECT_TRUE(text.contains("- **Bertrand**, skeptic (live agent `agent_002`")) << text;
  EXPECT_TRUE(text.contains("previous: \"[[2026-11-16-auto-y-000002]]\"\nnext: null\n"));
  auto linked = with_link(text, Neighbour::next, "2026-11-18-auto-z-000003");
  EXPECT_EQ(linked,
            render_transcript(state, state.recent, "2026-11-16-auto-y-000002", "2026-11-18-auto-z-000003"));
  EXPECT_EQ(with_link(linked, Neighbour::previous, ""),
            render_transcript(state, state.recent, "", "2026-11-18-auto-z-000003"));
}

TEST(TranscriptTest, ALinkChangesNothingElseAndNothingWithoutAPlaceForIt) {
  std::string edited =
      "---\ntitle: mine\nnext: null\n---\n\nnext: mine too\n\n- Next conversation: mine\n\n## Links\n\n"
      "- Next conversation: none\n- my own\n";
  EXPECT_EQ(
      with_link(edited, Neighbour::next, "b"),
      "---\ntitle: mine\nnext: \"[[b]]\"\n---\n\nnext: mine too\n\n- Next conversation: mine\n\n## Links\n\n"
      "- Next conversation: [[b]]\n- my own\n");
  EXPECT_EQ(with_link(edited, Neighbour::previous, "b"), edited);
  for (std::string text : {"", "no frontmatter\nnext: null\n", "---\nnext: null\n"})
    EXPECT_EQ(with_link(text, Neighbour::next, "b"), text);
}

TEST(TranscriptTest, ACodeFenceThatSomebodySaysDoesNotSwallowTheRest) {
  auto state = talk_about(topics()[1], 2, 5);
  auto text = render_transcript(state, {{1, "agent_001", "Ada", "```\nx\n~~~", from_millis(0), 1, 1}});
  EXPECT_TRUE(text.contains("\n\\`\\`\\`\nx\n\\~~~\n")) << text;
}

TEST(TranscriptTest, WhatSomebodySaysMakesNoLink) {
  auto state = talk_about(topics()[1], 2, 5);
  step(state, Begin{}, {});
  step(state, Replied{state.turn, "", false, 1, "see [[trap]]"}, {});
  auto text = render_transcript(
      state,
      {{1, "agent_001", "Ada", "[[plans]], [[[plans]]], ![[plans]] and a[0][1]", from_millis(0), 1, 1}});
  EXPECT_TRUE(text.contains("\n\\[\\[plans]], \\[\\[\\[plans]]], !\\[\\[plans]] and a\\[0]\\[1]\n")) << text;
  EXPECT_TRUE(text.contains("see \\[\\[trap]]")) << text;
  EXPECT_FALSE(text.contains("[[")) << text;
}

TEST(TranscriptTest, ATopicOfOnesOwnIsWrittenOnce) {
  Topic own{"Should cats vote?", "Should cats vote?", {}, {}, {}, {}};
  auto text = render_transcript(talk_about(own, 2, 5), {});
  auto body = text.substr(text.find("\n---") + 4);
  EXPECT_EQ(body.find("Should cats vote?"), body.rfind("Should cats vote?"));
}

// Patterns

const world::Layout& office() { return world::default_layout(); }

TEST(PatternTest, AM_14_TheDefaultIsWalkToAgent) {
  EXPECT_EQ(AutoModeState().pattern, InteractionPattern::walk_to_agent);
  EXPECT_EQ(name(default_pattern), "walk-to-agent");
  for (auto* known : {"walk-to-agent", "stay-at-desk", "meet-at-table"})
    EXPECT_EQ(name(*pattern_from(known)), known);
  EXPECT_FALSE(pattern_from("dance"));
}

TEST(PatternTest, AM_11_TheResponderGoesToTheOneWhoSpoke) {
  Scene scene{office(), {3, 4}, {10, 5}};
  auto go = [&](InteractionPattern pattern) { return destination(pattern_table(), pattern, scene); };
  EXPECT_EQ(go(InteractionPattern::walk_to_agent), Destination{scene.speaker});
  EXPECT_TRUE(go(InteractionPattern::stay_at_desk).empty());
  EXPECT_EQ(go(InteractionPattern::meet_at_table).size(), 6u) << "the built-in office has a table of 3 by 2";
  scene.speaker = world::nowhere;
  EXPECT_TRUE(go(InteractionPattern::walk_to_agent).empty()) << "the first one has nobody to go to";
}

TEST(PatternTest, AM_15_AFourthPatternIsOneMoreRowAndChangesNoOther) {
  constexpr auto fourth = static_cast<InteractionPattern>(3);
  auto by_the_door = [](const Scene& scene) -> Destination {
    return {{static_cast<int16_t>(scene.layout.cols - 1), 0}};
  };
  std::vector<PatternRow> table(pattern_table().begin(), pattern_table().end());
  table.push_back({fourth, "by-the-door", by_the_door});
  Scene scene{office(), {3, 4}, {10, 5}};
  EXPECT_EQ(destination(table, fourth, scene), (Destination{{static_cast<int16_t>(office().cols - 1), 0}}));
  for (const auto& row : pattern_table())
    EXPECT_EQ(destination(table, row.pattern, scene), destination(pattern_table(), row.pattern, scene));
}

}  // namespace
}  // namespace cru::auto_mode
