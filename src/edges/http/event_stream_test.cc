#include "edges/http/event_stream.h"

#include "edges/http/edge_fixture.h"

namespace cru::edges {
namespace {

struct Frame {
  std::string event, id;
  json::object data;
};

class Events : public EdgeFixture {
 protected:
  /// A client that reads frames.
  struct Reader {
    Client client;
    std::string head;
    std::string held = {};
    Frame next() {
      while (held.find("\n\n") == std::string::npos) {
        auto size = client.until("\r\n");
        if (size.empty()) return {.event = "closed", .id = {}, .data = {}};
        auto length = std::stoul(size, nullptr, 16);
        held += client.exactly(length);
        client.exactly(2);
      }
      auto end = held.find("\n\n");
      std::string text = held.substr(0, end + 1);
      held.erase(0, end + 2);
      Frame frame;
      for (size_t at = 0; at < text.size();) {
        auto line = text.substr(at, text.find('\n', at) - at);
        at += line.size() + 1;
        if (line.starts_with("event: ")) frame.event = line.substr(7);
        if (line.starts_with("id: ")) frame.id = line.substr(4);
        if (line.starts_with("data: ")) frame.data = parse_json(line.substr(6)).value().as_object();
      }
      return frame;
    }
  };
  Reader open(std::string_view query = {}, std::string_view headers = {}) {
    Reader reader{local(), {}};
    reader.client.send(
        text(fmt::format("GET /events{}", query), fmt::format("Accept: text/event-stream\r\n{}", headers)));
    reader.head = reader.client.until("\r\n\r\n");
    return reader;
  }
  static json::array events_in(const std::string& answer) {
    return parse_json(body_of(answer)).value().at("events").as_array();
  }
  static std::string brief(const Frame& frame) { return frame.event + "#" + frame.id; }
  void ask_question(std::string id, std::string task) {
    questions_.push_back(
        json::object{{"id", id}, {"task_id", task}, {"prompt", "a\nb"}, {"status", "pending"}});
  }
};

TEST_F(Events, BeginWithASnapshotAndGoOnAfterIt) {
  emit("agent.started", "a", 3);
  start();
  auto reader = open();
  EXPECT_EQ(status_of(reader.head), 200);
  EXPECT_NE(reader.head.find("Content-Type: text/event-stream"), std::string::npos);
  EXPECT_NE(reader.head.find("Cache-Control: no-store"), std::string::npos);
  auto snapshot = reader.next();
  EXPECT_EQ(brief(snapshot), "state.snapshot#3");
  EXPECT_EQ(text_or(snapshot.data, "type"), "state.snapshot");
  EXPECT_EQ(int_or(*object_at(snapshot.data, "data"), "last_seq"), 3);
  emit("agent.completed", "a");
  auto event = reader.next();
  EXPECT_EQ(brief(event), "agent.completed#4");
  EXPECT_EQ(text_or(event.data, "type"), "agent.completed");
  EXPECT_EQ(text_or(event.data, "entity_id"), "a");
  EXPECT_EQ(int_or(event.data, "id"), 4);
  EXPECT_TRUE(parse_rfc3339(text_or(event.data, "timestamp")));
  EXPECT_NE(object_at(event.data, "data"), nullptr);
}

TEST_F(Events, ResumeAtTheCursorWithoutASnapshot) {
  emit("agent.started", "a", 1000);
  start();
  for (auto* how : {"query", "header"}) {
    bool is_query = std::string_view(how) == "query";
    auto reader = is_query ? open("?since=2") : open("", "Last-Event-ID: 2\r\n");
    for (int seq = 3; seq <= 1000; ++seq) ASSERT_EQ(reader.next().id, std::to_string(seq));
  }
  auto both = open("?since=1", "Last-Event-ID: 999\r\n");
  EXPECT_EQ(both.next().id, "1000");
}

TEST_F(Events, ResumeAtATime) {
  emit("agent.started", "a", 2);
  start();
  EXPECT_EQ(open("?since=2000-01-01T00:00:00Z").next().id, "1");
  auto later = open("?since=2999-01-01T00:00:00Z");
  emit("agent.killed", "a");
  EXPECT_EQ(brief(later.next()), "agent.killed#3");
}

TEST_F(Events, FilterByEntityAndType) {
  emit("agent.started", "a");
  emit("agent.started", "b");
  emit("agent.output", "a");
  emit("tasks.updated", "a");
  start();
  EXPECT_EQ(body_of(ask("GET /events?entity=b")).find("\"entity_id\":\"a\""), std::string::npos);
  auto reader = open("?since=0&entity=a&type=agent.*,x");
  EXPECT_EQ(brief(reader.next()), "agent.started#1");
  EXPECT_EQ(brief(reader.next()), "agent.output#3");
}

TEST_F(Events, BeginWithTheApprovalsThatWaitForAPersonAndForNobodyElse) {
  emit("agent.started", "a", 2);
  approvals_.push_back(
      json::object{{"id", "A-1"}, {"chat_id", "c"}, {"task_id", "t"}, {"status", "pending"}});
  approvals_.push_back(
      json::object{{"id", "A-2"}, {"chat_id", nullptr}, {"task_id", "a"}, {"status", "held"}});
  start();
  for (auto* query : {"", "?since=2"}) {
    auto reader = open(query);
    if (*query == 0) EXPECT_EQ(brief(reader.next()), "state.snapshot#2");
    for (auto* id : {"A-1", "A-2"}) {
      auto frame = reader.next();
      EXPECT_EQ(brief(frame), "approval.requested#") << "no id: it is no new event";
      EXPECT_EQ(text_or(*object_at(frame.data, "data"), "id"), id);
    }
  }
  auto of_run = open("?since=2&entity=a&type=approval.*").next();
  EXPECT_EQ(text_or(*object_at(of_run.data, "data"), "id"), "A-2");
  EXPECT_EQ(text_or(of_run.data, "entity_id"), "a");
  caller_ = api::agent;
  auto agents = open("?since=2");
  emit("agent.killed", "a");
  EXPECT_EQ(brief(agents.next()), "agent.killed#3");
}

TEST_F(Events, AHeartbeatInSilenceAdvancesTheCursor) {
  start();
  emit("agent.started", "a", 5);
  auto reader = open("?since=0&entity=other");
  auto begun = clock_.boot();
  pass_until_news(reader.client);
  EXPECT_GE(clock_.boot() - begun, 15s);
  auto beat = reader.next();
  EXPECT_EQ(brief(beat), "heartbeat#5");
  EXPECT_EQ(text_or(beat.data, "type"), "heartbeat");
  pass_until_news(reader.client);
  EXPECT_EQ(brief(reader.next()), "heartbeat#5");
}

TEST_F(Events, PendingQuestionsAreAskedAgainOnEveryConnection) {  // EX: questions survive a restart
  emit("agent.started", "a", 2);
  ask_question("q1", "a");
  ask_question("q2", "b");
  start();
  auto fresh = open();
  EXPECT_EQ(brief(fresh.next()), "state.snapshot#2");
  auto question = fresh.next();
  EXPECT_EQ(brief(question), "agent.question#");
  EXPECT_EQ(text_or(*object_at(question.data, "data"), "id"), "q1");
  EXPECT_EQ(text_or(*object_at(question.data, "data"), "prompt"), "a\nb");
  EXPECT_EQ(text_or(question.data, "entity_id"), "a");
  EXPECT_EQ(brief(fresh.next()), "agent.question#");
  auto again = open("?entity=b", "Last-Event-ID: 1\r\n");
  EXPECT_EQ(text_or(again.next().data, "entity_id"), "b");
  emit("agent.killed", "b");
  EXPECT_EQ(brief(again.next()), "agent.killed#3");
  auto others = open("?since=1&type=agent.started");
  EXPECT_EQ(brief(others.next()), "agent.started#2");
}

TEST_F(Events, ACursorBelowTheFloorGetsANewSnapshot) {
  emit("agent.started", "a", 10);
  forget_events(4);
  start();
  auto reader = open("?since=2");
  auto truncated = reader.next();
  EXPECT_EQ(brief(truncated), "log.truncated#");
  EXPECT_EQ(to_text(truncated.data.at("data")), R"({"floor":4,"last":10})");
  EXPECT_EQ(brief(reader.next()), "state.snapshot#10");
  EXPECT_EQ(brief(open("?since=4").next()), "agent.started#5");
  EXPECT_EQ(brief(open("?since=99").next()), "log.truncated#") << "a cursor of another log";
}

TEST_F(Events, AnswerJsonWhenNoStreamIsAskedFor) {
  emit("agent.started", "a", 10);
  start();
  auto answer = ask("GET /events?since=7");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_NE(answer.find("Cru-Last-Seq: 10\r\n"), std::string::npos);
  auto events = events_in(answer);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events.at(0).at("id").as_int64(), 8);
  auto page = ask("GET /events?limit=4");
  EXPECT_EQ(events_in(page).size(), 4u);
  EXPECT_NE(page.find("Cru-Last-Seq: 4\r\n"), std::string::npos);
  EXPECT_NE(page.find("Cru-More: true\r\n"), std::string::npos);
  EXPECT_EQ(body_of(ask("GET /events?since=10")), R"({"events":[],"more":false,"next":10})"
                                                  "\n");
}

TEST_F(Events, AJsonPageSaysInItsBodyWhereTheNextOneBegins) {
  emit("agent.started", "a", 10);
  start();
  std::string seen;
  int64_t next = 0;
  for (bool more = true; more;) {
    auto page = parse_json(body_of(ask(fmt::format("GET /events?since={}&limit=4", next)))).value();
    for (const auto& event : page.at("events").as_array())
      seen += std::to_string(event.at("id").as_int64()) + " ";
    more = page.at("more").as_bool();
    next = page.at("next").as_int64();
  }
  EXPECT_EQ(seen, "1 2 3 4 5 6 7 8 9 10 ");
  EXPECT_EQ(next, 10);
}

TEST_F(Events, JsonPagesBeyondOneRead) {
  emit("agent.started", "a", 3000);
  start();
  EXPECT_EQ(events_in(ask("GET /events?limit=2500")).size(), 2500u);
}

TEST_F(Events, SayWhenACursorIsGoneOrNone) {
  emit("agent.started", "a", 10);
  forget_events(4);
  start();
  auto gone = ask("GET /events?since=2");
  EXPECT_EQ(status_of(gone), 410);
  EXPECT_NE(gone.find(R"("error":"cursor_gone")"), std::string::npos);
  EXPECT_NE(gone.find(R"("details":{"floor":4,"last":10})"), std::string::npos) << gone;
  EXPECT_EQ(status_of(ask("GET /events?since=11")), 410);
  EXPECT_EQ(status_of(ask("GET /events")), 200) << "without a cursor it begins where the log does";
  for (auto* since : {"abc", "-1", "1.5", "99999999999999999999", "", "2026-13-01T00:00:00Z", "+1"}) {
    auto answer = ask(fmt::format("GET /events?since={}", since));
    EXPECT_EQ(status_of(answer), 400) << since;
    EXPECT_NE(answer.find("\"field\":\"since\""), std::string::npos) << answer;
  }
  auto header = ask("GET /events", "Last-Event-ID: x\r\nAccept: text/event-stream\r\n");
  EXPECT_EQ(status_of(header), 400);
  EXPECT_NE(header.find("\"field\":\"Last-Event-ID\""), std::string::npos);
}

TEST_F(Events, OfConversationsAreNotAnAgentsToRead) {
  emit("agent.started", "a");
  emit("chat.entry", "c", 600);
  emit("subagent.completed", "c");
  emit("chatter.heard", "a");
  start();
  auto count = [this] { return events_in(ask("GET /events")).size(); };
  EXPECT_EQ(count(), 603u);
  EXPECT_EQ(brief(open("?since=1").next()), "chat.entry#2");
  caller_ = api::run;
  EXPECT_EQ(count(), 2u);
  EXPECT_NE(ask("GET /events").find("Cru-Last-Seq: 603\r\n"), std::string::npos);
  EXPECT_TRUE(events_in(ask("GET /events?entity=c&type=chat.*,subagent.*")).empty());
  auto reader = open("?since=0");
  EXPECT_EQ(brief(reader.next()), "agent.started#1");
  EXPECT_EQ(brief(reader.next()), "chatter.heard#603");
  emit("subagent.started", "c");
  emit("agent.completed", "a");
  EXPECT_EQ(brief(reader.next()), "agent.completed#605");
}

TEST_F(Events, OfDirectWordsAreHeardByPersonsAndBySendersOnly) {
  auto say = [this](std::string agent, bool direct) {
    emit("live.agent_spoke", agent, 1, {{"agent_id", agent}, {"content", "hi"}, {"direct", direct}});
  };
  say("ann", true);
  say("ann", false);
  say("r", true);
  start();
  auto seen = [this] {
    std::string ids;
    for (const auto& event : events_in(ask("GET /events"))) ids += std::to_string(event.at("id").as_int64());
    return ids;
  };
  EXPECT_EQ(seen(), "123");
  caller_ = api::agent;
  EXPECT_EQ(seen(), "2");
  caller_ = api::run;
  EXPECT_EQ(seen(), "2");
  run_id_ = "r";
  EXPECT_EQ(seen(), "23");
  auto reader = open("?since=0");
  EXPECT_EQ(brief(reader.next()), "live.agent_spoke#2");
  EXPECT_EQ(brief(reader.next()), "live.agent_spoke#3");
  say("ann", true);
  say("ann", false);
  EXPECT_EQ(brief(reader.next()), "live.agent_spoke#5");
}

TEST_F(Events, ManyReadersSeeEveryEventOnce) {
  start();
  std::vector<Reader> readers;
  for (int i = 0; i < 20; ++i) readers.push_back(open("?since=0"));
  for (int i = 0; i < 10; ++i) emit("agent.output", "a", 30);
  for (auto& reader : readers)
    for (int seq = 1; seq <= 300; ++seq) ASSERT_EQ(reader.next().id, std::to_string(seq));
}

}  // namespace
}  // namespace cru::edges
