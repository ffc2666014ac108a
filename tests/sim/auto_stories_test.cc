// Auto mode in simulated time: single stories of conversations.
#include "auto_mode/auto_events.h"
#include "auto_mode/transcript.h"
#include "auto_world.h"

namespace cru::sim {
namespace {

/// When the main one is over.
Task<json::object> over(QuietWorld& world) {
  for (;;) {
    auto status = co_await world.mode().status();
    EXPECT_TRUE(status);
    if (!status || !bool_or(*status, "active")) co_return status.value_or(json::object());
    co_await world.loop().sleep(1s);
  }
}

/// A full disk says nothing about a mind: the conversation waits for it, and goes on.
TEST(AutoStories, AFullDiskIsWaitedForAndIsNoFailureOfAMind) {
  QuietWorld world;
  auto work = [&]() -> Task<void> {
    co_await world.recover();
    EXPECT_TRUE(co_await world.mode().start({}));
    co_await world.loop().sleep(10s);
    world.daemon().store->is_full = true;
    co_await world.loop().sleep(1min);
    auto status = co_await world.mode().status();
    EXPECT_TRUE(status && bool_or(*status, "active"));
    world.daemon().store->is_full = false;
    auto end = co_await over(world);
    EXPECT_EQ(text_or(end, "reason"), "keyword") << end;
  };
  world.live(work());
}

/// One that stays full ends nothing either: its own time does.
TEST(AutoStories, ADiskThatStaysFullLeavesTheTimerToEndIt) {
  QuietWorld world;
  auto work = [&]() -> Task<void> {
    co_await world.recover();
    EXPECT_TRUE(co_await world.mode().start({}));
    co_await world.loop().sleep(10s);
    world.daemon().store->is_full = true;
    auto end = co_await over(world);
    EXPECT_EQ(text_or(end, "reason"), "timer") << end;
    world.daemon().store->is_full = false;
    co_await world.loop().sleep(1min);
    EXPECT_EQ(co_await world.count("SELECT count(*) FROM events WHERE type = 'live.auto_mode_ended'"), 1);
  };
  world.live(work());
}

/// A row that cannot be read after a restart ends with that reason, once, and its agents go to their seats.
void damage_and_restart(std::string damage, std::string trouble) {
  SCOPED_TRACE(damage);
  QuietWorld world;
  std::string id, ada;
  auto first = [&]() -> Task<void> {
    co_await world.recover();
    auto_mode::Wanted wanted;
    wanted.until = *auto_mode::condition_from(*parse_json(R"({"turns":1000})"));
    auto began = co_await world.mode().start(std::move(wanted));
    EXPECT_TRUE(began);
    if (!began) co_return;
    id = began->at("conversationId").as_string();
    ada = began->at("agentIds").at(0).as_string();
    co_await world.loop().sleep(20s);
    EXPECT_TRUE(co_await world.daemon().live.recorded());
    auto damaged = co_await world.daemon().store->write([&](Tx& tx) -> Result<> {
      tx.exec(damage);
      return {};
    });
    EXPECT_TRUE(damaged);
  };
  auto after = [&]() -> Task<void> {
    co_await world.recover();
    co_await world.loop().sleep(1min);
    auto shown = co_await world.mode().show(id, 100);
    EXPECT_TRUE(shown);
    if (!shown) co_return;
    EXPECT_FALSE(bool_or(*shown, "active"));
    EXPECT_EQ(text_or(*shown, "reason"), "failed");
    EXPECT_TRUE(text_or(*shown, "ended").contains(trouble)) << *shown;
    EXPECT_FALSE(shown->at("messages").as_array().empty()) << "what was said is still there";
    EXPECT_FALSE(text_or(*shown, "file").empty()) << "its transcript is written";
    EXPECT_EQ(co_await world.count("SELECT count(*) FROM events WHERE type = 'live.auto_mode_ended'"), 1);
    auto status = co_await world.mode().status();
    EXPECT_TRUE(status && text_or(*status, "reason") == "failed") << "whoever asks is told";
    auto standing = world.daemon().live.standing(ada);
    EXPECT_TRUE(standing);
    if (standing && trouble != "no JSON") EXPECT_EQ(standing->tile, standing->home);
  };
  world.live(first());
  for (int restarts = 0; restarts < 2; ++restarts) {
    world.restart();
    world.live(after());
  }
}

TEST(AutoStories, WhatCannotBeReadAfterARestartEndsAndSaysSo) {
  damage_and_restart("UPDATE auto_conversations SET state = '{'", "no JSON");
  damage_and_restart("UPDATE auto_conversations SET state = json_set(state, '$.until', 'soon')",
                     "the condition that it was to end by");
  damage_and_restart("UPDATE auto_conversations SET state = json_set(state, '$.phase', 'asleep')",
                     "how far it has come");
}

/// Two who wrote the same file at once would leave what the slower one knew, which may be the older state.
TEST(AutoStories, TranscriptsAreWrittenOneAfterTheOtherAndTheLastStateWins) {
  QuietWorld world;
  int writing = 0, state = 0, written = 0;
  std::vector<std::string> order;
  Duration takes = 50ms;
  auto write = [&](std::string id) -> Task<void> {
    EXPECT_EQ(++writing, 1) << "two at once";
    auto seen = state;
    co_await world.loop().sleep(std::exchange(takes, 1ms));
    written = seen;
    order.push_back(std::move(id));
    --writing;
  };
  auto_mode::InTurn in_turn(world.loop(), write);
  auto work = [&]() -> Task<void> {
    in_turn.add("a");
    co_await world.loop().sleep(10ms);
    state = 1;
    for (auto* id : {"a", "b", "a"}) in_turn.add(id);
    co_await world.loop().sleep(1s);
    state = 2;
    in_turn.add("b");
    co_await world.loop().sleep(1s);
  };
  world.live(work());
  EXPECT_EQ(order, (std::vector<std::string>{"a", "a", "b", "b"}));
  EXPECT_EQ(written, 2);
}

/// What a definition says about its model holds in a conversation too, unless somebody names minds.
TEST(AutoStories, ADefinitionPlaysWithTheMindThatItNames) {
  QuietWorld world;
  CRU_ASSERT(make_folder(world.root() + "/agents"));
  auto define = [&](const std::string& name, const std::string& model) {
    CRU_ASSERT(
        write_file(fmt::format("{}/agents/{}.md", world.root(), name),
                   fmt::format("---\nname: {0}\ndescription: the {0}\n{1}permissions: []\n---\nYou are "
                               "the {0}.\n",
                               name, model)));
  };
  define("parrot", "model: echo\n");
  define("heir", "model: inherit\n");
  define("lost", "model: nowhere\n");
  CRU_ASSERT(write_file(world.root() + "/echo.yaml", "otherwise: {say: 'Polly wants a cracker.'}"));
  world.models["echo"] = "scripted";
  world.restart();
  auto work = [&]() -> Task<void> {
    co_await world.recover();
    auto begin = [&](std::vector<std::string> definitions, std::vector<std::string> minds) {
      auto_mode::Wanted wanted;
      wanted.definitions = std::move(definitions);
      wanted.minds = std::move(minds);
      wanted.max_turns = 2;
      return world.mode().start(std::move(wanted));
    };
    auto began = co_await begin({"parrot", "heir"}, {});
    EXPECT_TRUE(began) << (began ? "" : began.error().message);
    if (!began) co_return;
    EXPECT_EQ(text_or(*began, "modelName"), "echo, scripted");
    auto end = co_await over(world);
    auto shown = co_await world.mode().show(std::string(text_or(end, "conversationId")), 10);
    EXPECT_TRUE(shown);
    if (shown) EXPECT_EQ(shown->at("messages").at(0).at("text").as_string(), "Polly wants a cracker.");
    auto scripted = co_await begin({"parrot", "heir"}, {"scripted"});
    EXPECT_TRUE(scripted);
    if (scripted) EXPECT_EQ(text_or(*scripted, "modelName"), "scripted") << "a person's word comes first";
    (void)co_await over(world);
    auto refused = co_await begin({"lost"}, {});
    EXPECT_FALSE(refused) << "it does not play with another mind";
    if (!refused) {
      EXPECT_EQ(refused.error().field, "definitions");
      EXPECT_TRUE(refused.error().message.starts_with("the model of agent lost: "))
          << refused.error().message;
    }
  };
  world.live(work());
}

/// Waits until it is this person's turn; empty: until it is an agent's.
Task<void> turn_of(QuietWorld& world, std::string name) {
  for (int i = 0; i < 1000; ++i) {
    auto status = co_await world.mode().status();
    if (status && bool_or(*status, "active") && text_or(*status, "personTurn") == name) co_return;
    co_await world.loop().sleep(100ms);
  }
  ADD_FAILURE() << "it never was the turn of " << name;
}

TEST(AutoStories, APersonTakesPartAlsoAfterARestartAndLeavesWhenTheyAreAway) {
  QuietWorld world;
  auto first = [&]() -> Task<void> {
    co_await world.recover();
    EXPECT_FALSE(co_await world.mode().join("jo")) << "there is nothing to join yet";
    auto_mode::Wanted wanted;
    wanted.limit = 20min;
    EXPECT_TRUE(co_await world.mode().start(std::move(wanted)));
    auto joined = co_await world.mode().join("jo");
    EXPECT_TRUE(joined && bool_or(*joined, "joined"));
    co_await turn_of(world, "jo");
    EXPECT_TRUE(co_await world.mode().say("jo", "What about me?"));
    co_await turn_of(world, "");
    co_await turn_of(world, "jo");
    EXPECT_TRUE(co_await world.daemon().live.recorded());
  };
  auto second = [&]() -> Task<void> {
    co_await world.recover();
    auto status = co_await world.mode().status();
    EXPECT_TRUE(status && text_or(*status, "personTurn") == "jo");
    EXPECT_TRUE(status && status->at("respondingAgentId").is_null());
    auto end = co_await over(world);
    EXPECT_EQ(text_or(end, "reason"), "keyword") << "without a word of theirs it goes on: " << end;
    EXPECT_TRUE(end.at("people").as_array().empty()) << "twice is enough";
    auto shown = co_await world.mode().show(std::string(text_or(end, "conversationId")), 100);
    EXPECT_TRUE(shown);
    bool was_answered = false;
    if (shown)
      for (const auto& line : shown->at("messages").as_array())
        was_answered = was_answered || line.at("text").as_string().starts_with("jo asks: \"What about me?\"");
    EXPECT_TRUE(was_answered);
    EXPECT_EQ(
        co_await world.count("SELECT count(*) FROM events WHERE type = 'live.auto_mode_people_changed'"), 2);
  };
  world.live(first());
  world.restart();
  world.live(second());
}

/// What is heard in a conversation is taken note of in it, also if the daemon ends before anybody thinks
/// again.
TEST(AutoStories, WhatWasHeardInAConversationIsAcknowledgedAlsoAfterARestart) {
  QuietWorld world;
  auto first = [&]() -> Task<void> {
    co_await world.recover();
    EXPECT_TRUE(co_await world.mode().start({}));
    co_await world.loop().sleep(40s);
    EXPECT_TRUE(co_await world.daemon().live.recorded());
  };
  auto second = [&]() -> Task<void> {
    co_await world.recover();
    (void)co_await over(world);
    co_await world.loop().sleep(1min);
    EXPECT_TRUE(co_await world.daemon().live.recorded());
    EXPECT_GT(co_await world.count("SELECT count(*) FROM agent_conversations WHERE receipt = 'directed'"), 4);
    EXPECT_EQ(co_await world.count("SELECT count(*) FROM agent_conversations WHERE receipt = 'delivered'"),
              0);
  };
  world.live(first());
  world.restart();
  world.live(second());
}

/// Through the service, and to the millisecond: a mind that never answers does not hold it up.
TEST(AutoStories, AM_06_WithoutAnotherWishItEndsAfterFiveMinutes) {
  QuietWorld world;
  CRU_ASSERT(write_file(world.root() + "/slow.yaml", "otherwise: {say: 'At last.', delay: 10m}"));
  world.models["slow"] = "scripted";
  world.restart();
  auto work = [&]() -> Task<void> {
    co_await world.recover();
    auto_mode::Wanted wanted;
    wanted.minds = {"slow"};
    auto began = co_await world.mode().start(std::move(wanted));
    EXPECT_TRUE(began) << (began ? "" : began.error().message);
    if (!began) co_return;
    EXPECT_EQ(int_or(*began, "durationMs"), 300'000);
    auto end = co_await over(world);
    EXPECT_EQ(text_or(end, "reason"), "timer");
    EXPECT_EQ(int_or(end, "endedAtMs") - int_or(end, "startedAtMs"), 300'000);
    EXPECT_EQ(co_await world.count("SELECT count(*) FROM events WHERE type = 'live.auto_mode_ended'"), 1);
  };
  world.live(work());
}

/// Whoever speaks faces the one it speaks to, and is faced by the one who spoke before, wherever they meet.
void everybody_faces_the_other(auto_mode::InteractionPattern pattern) {
  SCOPED_TRACE(std::string(auto_mode::name(pattern)));
  QuietWorld world;
  int64_t looked = 0;
  auto work = [&]() -> Task<void> {
    co_await world.recover();
    auto& live = world.daemon().live;
    auto_mode::Wanted wanted;
    wanted.pattern = pattern;
    auto began = co_await world.mode().start(std::move(wanted));
    EXPECT_TRUE(began);
    if (!began) co_return;
    std::vector<std::string> ids;
    for (const auto& id : began->at("agentIds").as_array()) ids.emplace_back(id.as_string());
    for (;;) {
      auto status = co_await world.mode().status();
      if (!status || !bool_or(*status, "active")) break;
      std::string responder(text_or(*status, "respondingAgentId"));
      auto self = live.standing(responder), other = live.standing(responder == ids[0] ? ids[1] : ids[0]);
      EXPECT_FALSE(self->is_speaking && (self->is_walking || other->is_walking));
      bool is_first = int_or(*status, "turn") == 1;
      if (self->is_speaking) {
        ++looked;
        EXPECT_EQ(self->facing, world::direction_to(self->tile, other->tile));
        if (!is_first) EXPECT_EQ(other->facing, world::direction_to(other->tile, self->tile));
      }
      auto table = destination(auto_mode::pattern_table(), auto_mode::InteractionPattern::meet_at_table,
                               {live.floor().layout(), self->tile, world::nowhere});
      bool is_at_table = !self->is_walking && std::ranges::any_of(table, [&](world::Tile tile) {
        return world::steps_between(self->tile, tile) == 1;
      });
      if (pattern == auto_mode::InteractionPattern::meet_at_table && self->is_speaking)
        EXPECT_TRUE(is_at_table);
      co_await world.loop().sleep(100ms);
    }
    EXPECT_GT(co_await world.count("SELECT count(*) FROM events WHERE type = 'live.agent_faced'"), 0);
  };
  world.live(work());
  EXPECT_GT(looked, 10);
}

TEST(AutoStories, AM_11_WhoSpeaksFacesTheOtherInEveryPattern) {
  for (const auto& row : auto_mode::pattern_table()) everybody_faces_the_other(row.pattern);
}

/// A conversation, from nothing but the events that tell of it.
struct Replayed {
  auto_mode::AutoModeState state;
  std::vector<auto_mode::Line> lines;

  void take(std::string_view type, const json::object& data) {
    if (type == "live.auto_mode_started") return begin(data);
    if (text_or(data, "conversationId") != state.id) return;
    if (type == "live.auto_mode_turn_changed" || type == "live.auto_mode_person_turn")
      state.turn = int_or(data, "turn");
    if (type == "live.agent_message" || type == "live.auto_mode_person_spoke")
      lines.push_back({int_or(data, "turn"), std::string(text_or(data, "agent_id")),
                       std::string(text_or(data, "name")), std::string(text_or(data, "text")),
                       from_millis(int_or(data, "atMs")), int_or(data, "tokens"), int_or(data, "number")});
    if (type == "live.auto_mode_timeout_set") state.limit = Duration(int_or(data, "durationMs"));
    if (type == "live.auto_mode_people_changed") {
      state.people.clear();
      for (const auto& name : data.at("people").as_array())
        state.people.push_back({std::string(name.as_string())});
    }
    if (type != "live.auto_mode_ended") return;
    state.ending = auto_mode::ending_from(text_or(data, "reason"));
    state.detail = text_or(data, "detail");
    state.spoken = int_or(data, "turns");
    state.tokens = int_or(data, "tokens");
    state.ended_at = from_millis(int_or(data, "endedAtMs"));
    state.lines = static_cast<int64_t>(lines.size());
  }

  void begin(const json::object& data) {
    state.id = text_or(data, "conversationId");
    state.topic = text_or(data, "topic");
    state.prompt = text_or(data, "prompt");
    state.pattern = *auto_mode::pattern_from(text_or(data, "interactionPattern"));
    state.started_at = from_millis(int_or(data, "startedAtMs"));
    state.limit = Duration(int_or(data, "durationMs"));
    auto text = [&](const char* key, size_t i) { return std::string(data.at(key).at(i).as_string()); };
    for (size_t i = 0; i < data.at("agentIds").as_array().size(); ++i) {
      auto& member = state.cast.emplace_back();
      member.agent_id = text("agentIds", i);
      member.name = text("personaNames", i);
      member.role = text("roles", i);
      member.mind = text("minds", i);
      member.definition = text("definitions", i);
    }
  }
};

TEST(AutoStories, TheEventsOfAConversationTellAllOfIt) {
  QuietWorld world;
  std::string id;
  auto first = [&]() -> Task<void> {
    co_await world.recover();
    auto began = co_await world.mode().start({});
    EXPECT_TRUE(began);
    if (!began) co_return;
    id = began->at("conversationId").as_string();
    EXPECT_TRUE(co_await world.mode().join("jo"));
    EXPECT_TRUE(co_await world.mode().say("kim", "I only listen."));
    EXPECT_TRUE(co_await world.mode().set_limit(20min));
    co_await turn_of(world, "jo");
    EXPECT_TRUE(co_await world.mode().say("jo", "And cats?"));
    co_await world.loop().sleep(10s);
  };
  auto second = [&]() -> Task<void> {
    co_await world.recover();
    (void)co_await over(world);
    co_await world.loop().sleep(10s);
    Replayed replayed;
    int64_t cursor = 0;
    for (bool more = true; more;) {
      auto page = co_await world.daemon().store->events().read(cursor, {}, 500);
      EXPECT_TRUE(page);
      if (!page) co_return;
      for (const auto& event : page->events) replayed.take(event.type, parse_json(event.data)->as_object());
      cursor = page->scanned;
      more = page->more;
    }
    auto shown = co_await world.mode().show(id, 1000);
    EXPECT_TRUE(shown);
    if (!shown) co_return;
    auto state = auto_mode::picture_of(replayed.state);
    for (const auto& member : state) EXPECT_EQ(member.value(), shown->at(member.key())) << member.key();
    json::array lines;
    for (const auto& line : replayed.lines) lines.push_back(auto_mode::to_json(line));
    EXPECT_EQ(lines, shown->at("messages").as_array());
    auto file = read_file(world.root() + "/" + std::string(text_or(*shown, "file")), 1 << 20);
    EXPECT_TRUE(file);
    if (file) EXPECT_EQ(*file, auto_mode::render_transcript(replayed.state, replayed.lines));
  };
  world.live(first());
  world.restart();
  world.live(second());
}

}  // namespace
}  // namespace cru::sim
