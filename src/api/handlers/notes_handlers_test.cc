// Handoffs, memory, guardrails and ask_user, as a caller meets them: over a real store and real files.
#include <stdlib.h>

#include <algorithm>

#include "api/handlers/coordination_handlers.h"
#include "base/sha256.h"
#include "inbox/question_table.h"
#include "locks/lock_table.h"
#include "members/member_table.h"
#include "platform/files/files.h"
#include "store/store_fixture.h"
#include "work/work_table.h"

namespace cru::api {
namespace {

std::vector<Migration> room_migrations() {
  std::vector<Migration> all;
  for (auto room :
       {reply_migrations(), members::migrations(), inbox::migrations(), coordination::session_migrations(),
        coordination::fencing_migrations(), coordination::lock_migrations(), coordination::work_migrations(),
        coordination::handoff_migrations(), coordination::memory_migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

class NotesTest : public StoreFixture {
 public:
  NotesTest()
      : StoreFixture(room_migrations()),
        pool(thread->loop, 2),
        sessions(thread->loop, *store, pool, system_random(), {.root = folder.path()}),
        handoffs(*store, sessions, pool, system_random(), folder.path()),
        memories(*store, sessions, system_random()),
        inbox(thread->loop, *store),
        api(*store) {
    ::setenv("XDG_CONFIG_HOME", (folder / "user").c_str(), 1);
    bind_handoffs(api, handoffs, memories);
    bind_guardrails(api, pool, sessions, folder.path(), [this] { return is_trusted; });
    bind_ask_user(api, *store, sessions, inbox);
  }
  ~NotesTest() override {
    thread->stop();
    ::unsetenv("XDG_CONFIG_HOME");
  }

  static Call by(std::string agent_id, std::string request_id = {}, std::string session_id = {}) {
    Call made;
    made.agent_id = std::move(agent_id);
    made.request_id = std::move(request_id);
    made.session_id = std::move(session_id);
    return made;
  }
  Result<Reply> ask(const Call& call, std::string_view operation, std::string_view input) {
    const auto* row = find_operation(operation);
    CRU_ASSERT(row != nullptr);
    auto object = parse_json(input)->as_object();
    return thread->await([&] { return api.call(*row, call, object); });
  }
  json::object call(const Call& call, std::string_view operation, std::string_view input) {
    auto reply = ask(call, operation, input);
    if (!reply) return error_reply(*find_operation(operation), reply.error());
    return parse_json(reply->text())->as_object();
  }
  /// The member `key` of every object in the list, one after the other.
  static std::string each(const json::object& reply, std::string_view list, std::string_view key) {
    std::string text;
    const auto* found = array_at(reply, list);
    if (!found) return to_text(reply);
    for (const auto& item : *found)
      text += (text.empty() ? "" : ",") + std::string(text_or(item.as_object(), key));
    return text;
  }
  int64_t count_events(std::string type) {
    auto page = thread->await([&] { return store->events().read(0, {.entity = {}, .types = {type}}, 5000); });
    return static_cast<int64_t>(page->events.size());
  }
  void exec(std::string sql) {
    ASSERT_TRUE(write([sql](Tx& tx) -> Result<int64_t> { return tx.exec(sql); }));
  }

  trust::Check is_trusted = [](const std::string&, std::string_view) { return false; };
  Pool pool;
  coordination::Sessions sessions;
  coordination::Handoffs handoffs;
  coordination::Memories memories;
  inbox::Inbox inbox;
  Api api;
};

TEST_F(NotesTest, AHandoffIsWrittenAndReadNewestFirst) {
  auto first = call(by("ann"), "write_handoff", R"({"summary":"half done","next_steps":["the rest"]})");
  EXPECT_TRUE(bool_or(first, "success"));
  EXPECT_EQ(text_or(first, "handoff_id").size(), 36u);
  call(by("ann"), "write_handoff", R"({"summary":"all done"})");
  call(by("bob"), "write_handoff", R"({"summary":"another's"})");
  EXPECT_EQ(each(call(by("ann"), "read_handoff", "{}"), "handoffs", "summary"), "all done")
      << "one by default";
  EXPECT_EQ(each(call(by("ann"), "read_handoff", R"({"limit":5})"), "handoffs", "summary"),
            "all done,half done")
      << "of the same instant, the later one first";
  EXPECT_EQ(each(call(by("ann"), "read_handoff", R"({"agent_name":"bob"})"), "handoffs", "summary"),
            "another's");
  EXPECT_EQ(count_events("handoff.written"), 3);
  auto one = call(by("bob"), "get_handoff", R"({"id":")" + std::string(text_or(first, "handoff_id")) + "\"}");
  EXPECT_EQ(to_text(one.at("next_steps")), R"(["the rest"])");
  EXPECT_EQ(text_or(one, "kind"), "written");
  auto prefix = std::string(text_or(first, "handoff_id")).substr(0, 12);
  EXPECT_EQ(text_or(call(by("bob"), "get_handoff", R"({"id":")" + prefix + "\"}"), "summary"), "half done");
  EXPECT_EQ(text_or(call(by("bob"), "get_handoff", R"({"id":"nothing"})"), "error"), "not_found");
}

TEST_F(NotesTest, WithoutAHandoffThereIsAnEmptyList) {
  EXPECT_EQ(to_text(call(by("ann"), "read_handoff", "{}")), R"({"handoffs":[]})");
}

TEST_F(NotesTest, WithoutADatabaseAHandoffIsRefusedAtOnceAndTheNextOneWorks) {
  exec("ALTER TABLE handoffs RENAME TO elsewhere");
  auto refused = call(by("ann"), "write_handoff", R"({"summary":"x"})");
  EXPECT_EQ(refused.at("success"), json::value(false));
  EXPECT_EQ(text_or(refused, "error"), "database_unavailable");
  exec("ALTER TABLE elsewhere RENAME TO handoffs");
  EXPECT_TRUE(bool_or(call(by("ann"), "write_handoff", R"({"summary":"x"})"), "success"));
}

TEST_F(NotesTest, TheNextSessionOfAnAgentWithoutAnIdFindsTheHandoff) {
  auto as_claude = [](std::string id) {
    auto made = by(std::move(id));
    made.agent_type = "claude_code";
    return made;
  };
  call(as_claude("claude-00000001"), "write_handoff", R"({"summary":"left off here"})");
  EXPECT_EQ(each(call(as_claude("claude-00000002"), "read_handoff", "{}"), "handoffs", "summary"),
            "left off here");
}

TEST_F(NotesTest, AHandoffNeedsASummary) {
  for (auto input : {"{}", R"({"summary":""})", R"({"summary":" \n"})"}) {
    auto refused = ask(by("ann"), "write_handoff", input);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status(), 400);
    auto reply = parse_json(refused->text())->as_object();
    EXPECT_EQ(text_or(reply, "error"), "summary_required");
    EXPECT_EQ(text_or(reply, "field"), "summary");
  }
  EXPECT_EQ(count_events("handoff.written"), 0);
}

TEST_F(NotesTest, AHandoffThatIsTooLargeNamesItsLargestField) {
  std::string steps;
  for (int i = 0; i < 80; ++i) steps += (i ? ",\"" : "\"") + std::string(4000, 'x') + "\"";
  auto refused = call(by("ann"), "write_handoff", R"({"summary":"x","decisions":[)" + steps + "]}");
  EXPECT_EQ(text_or(refused, "error"), "too_large") << to_text(refused).substr(0, 300);
  EXPECT_EQ(text_or(refused, "field"), "decisions");
}

TEST_F(NotesTest, ARepeatedHandoffIsOne) {
  auto first = call(by("ann", "r1"), "write_handoff", R"({"summary":"x"})");
  EXPECT_EQ(call(by("ann", "r1"), "write_handoff", R"({"summary":"x"})"), first);
  EXPECT_EQ(text_or(call(by("ann", "r1"), "write_handoff", R"({"summary":"y"})"), "error"), "conflict");
  EXPECT_EQ(count_events("handoff.written"), 1);
}

TEST_F(NotesTest, HandoffsAreFoundByTheirWords) {
  call(by("ann"), "write_handoff", R"({"summary":"the parser is done","relevant_files":["src/parser.cc"]})");
  call(by("bob"), "write_handoff", R"({"summary":"lexer","decisions":["the parser stays, \"quoted\""]})");
  auto find = [&](std::string query) {
    return each(call(by("ann"), "list_handoffs", to_text(json::object{{"query", query}})), "handoffs",
                "agent_name");
  };
  EXPECT_EQ(find("lexer"), "bob");
  EXPECT_EQ(find("lex"), "bob") << "what begins with it";
  EXPECT_EQ(find("parser done"), "ann") << "all of the words";
  EXPECT_EQ(find(""), "bob,ann") << "newest first";
  EXPECT_EQ(find("nothing"), "");
  for (auto query : {"\"", "a AND", "NEAR(", "* OR", "summary:x", "-x", "()", "— parser",
                     "'; DROP TABLE handoffs", "^", "{a b}:c", "+"})
    EXPECT_TRUE(ask(by("ann"), "list_handoffs", to_text(json::object{{"query", query}}))) << query;
  EXPECT_EQ(find("— lexer —"), "bob");
}

TEST_F(NotesTest, TheSameMemoryWithinAnHourIsOne) {
  auto input = R"({"event_type":"error","summary":"the build needs ninja","tags":["build"]})";
  auto first = call(by("ann"), "remember", input);
  EXPECT_EQ(text_or(first, "action"), "created");
  clock.advance(59min);
  auto again = call(
      by("ann"), "remember",
      R"({"event_type":"error","summary":"the build needs ninja","tags":["ci"],"lessons":["install it"]})");
  EXPECT_EQ(text_or(again, "action"), "deduplicated");
  EXPECT_EQ(text_or(again, "memory_id"), text_or(first, "memory_id"));
  EXPECT_EQ(text_or(call(by("bob"), "remember", input), "action"), "created") << "another agent's";
  EXPECT_EQ(
      text_or(call(by("ann"), "remember", R"({"event_type":"decision","summary":"the build needs ninja"})"),
              "action"),
      "created")
      << "another kind";
  auto found = call(by("bob"), "recall", R"({"tags":["ci"]})");
  ASSERT_EQ(found.at("memories").as_array().size(), 1u) << "new tags are added to the first";
  const auto& memory = found.at("memories").as_array()[0].as_object();
  EXPECT_EQ(to_text(memory.at("tags")), R"(["build","ci"])");
  EXPECT_EQ(to_text(memory.at("lessons")), R"(["install it"])");
  EXPECT_EQ(each(call(by("bob"), "recall", R"({"query":"install"})"), "memories", "agent_id"), "ann");
  clock.advance(1min);
  EXPECT_EQ(text_or(call(by("ann"), "remember", input), "action"), "created") << "an hour is over";
}

TEST_F(NotesTest, MemoriesAreRecalledByWordsTagsAndKindAndFade) {
  call(by("ann"), "remember",
       R"({"event_type":"discovery","summary":"ports below 1024 need root","tags":["net"]})");
  clock.advance(24h * 10);
  call(
      by("bob"), "remember",
      R"({"event_type":"decision","summary":"listen on port 8765","details":{"why":"free"},"tags":["net","port"]})");
  auto recall = [&](std::string_view input) {
    return each(call(by("cy"), "recall", input), "memories", "agent_id");
  };
  EXPECT_EQ(recall("{}"), "bob,ann");
  EXPECT_EQ(recall(R"({"limit":1})"), "bob");
  EXPECT_EQ(recall(R"({"min_relevance":0.5})"), "bob") << "ten days leave 0.37";
  EXPECT_EQ(recall(R"({"min_relevance":0.3})"), "bob,ann");
  EXPECT_EQ(recall(R"({"tags":["port","nothing"]})"), "bob") << "any tag";
  EXPECT_EQ(recall(R"({"tags":["nothing"]})"), "");
  EXPECT_EQ(recall(R"({"event_type":"discovery"})"), "ann");
  EXPECT_EQ(recall(R"({"query":"root below"})"), "ann");
  EXPECT_EQ(recall(R"({"query":"free"})"), "bob") << "details are searched too";
  EXPECT_EQ(recall(R"({"query":"\"*(--"})"), "bob,ann") << "no word: no filter";
  auto best = call(by("cy"), "recall", R"({"query":"8765"})").at("memories").as_array()[0].as_object();
  EXPECT_NEAR(best.at("score").to_number<double>(), 1.0, 1e-6);
  EXPECT_EQ(to_text(best.at("details")), R"({"why":"free"})");
  EXPECT_EQ(count_events("memory.remembered"), 2);
}

TEST_F(NotesTest, BadInputNamesItsField) {
  auto field = [&](std::string_view operation, std::string_view input) {
    return std::string(text_or(call(by("ann"), operation, input), "field"));
  };
  EXPECT_EQ(field("remember", R"({"event_type":"gossip","summary":"x"})"), "event_type");
  EXPECT_EQ(field("remember", R"({"event_type":"error"})"), "summary");
  EXPECT_EQ(field("remember", R"({"event_type":"error","summary":"x","tags":"x"})"), "tags");
  EXPECT_EQ(field("recall", R"({"limit":0})"), "limit");
  EXPECT_EQ(field("write_handoff", R"({"summary":5})"), "summary");
  EXPECT_EQ(field("check_guardrails", "{}"), "operation_text");
  EXPECT_EQ(field("ask_user", "{}"), "prompt");
  EXPECT_EQ(field("ask_user", R"({"prompt":" "})"), "prompt");
  EXPECT_EQ(field("ask_user", R"({"question_id":"q-none"})"), "question_id");
}

TEST_F(NotesTest, GuardrailsSaySafeUnlessSomethingBlocks) {
  EXPECT_EQ(to_text(call(by("ann"), "check_guardrails", R"({"operation_text":"make"})")),
            R"({"safe":true,"violations":[]})");
  auto medium = call(by("ann"), "check_guardrails", R"({"operation_text":"git reset --hard"})");
  EXPECT_TRUE(bool_or(medium, "safe"));
  EXPECT_EQ(each(medium, "violations", "pattern_name"), "git_discard_changes");
  auto worse = call(by("ann"), "check_guardrails", R"({"operation_text":"rm -rf /","file_paths":[".env"]})");
  EXPECT_FALSE(bool_or(worse, "safe", true));
  EXPECT_EQ(each(worse, "violations", "pattern_name"), "recursive_delete_outside_worktree,credential_file");
}

TEST_F(NotesTest, GuardrailsOfTheProjectAndTheUserAreReadWhenTheyChange) {
  auto found = [&](std::string text) {
    return each(call(by("ann"), "check_guardrails", to_text(json::object{{"operation_text", text}})),
                "violations", "pattern_name");
  };
  EXPECT_EQ(found("make deploy"), "");
  ASSERT_TRUE(make_folder(folder / ".crucible"));
  ASSERT_TRUE(make_folder(folder / "user/crucible"));
  ASSERT_TRUE(
      write_file(folder / ".crucible/guardrails.yaml", "rules: [{name: deploy, pattern: make deploy}]"));
  EXPECT_EQ(found("make deploy"), "deploy");
  ASSERT_TRUE(write_file(folder / "user/crucible/guardrails.yaml", "rules: [{name: mine, pattern: make}]"));
  EXPECT_EQ(found("make deploy"), "mine,deploy");
  ASSERT_TRUE(write_file(folder / ".crucible/guardrails.yaml", "rules: [{nam: x}]\nmore: 1\n"));
  auto reply = call(by("ann"), "check_guardrails", R"({"operation_text":"make deploy && rm -rf /"})");
  EXPECT_EQ(each(reply, "violations", "pattern_name"), "mine,recursive_delete_outside_worktree")
      << "the others still hold";
  auto warnings = to_text(reply.at("warnings"));
  EXPECT_NE(warnings.find("guardrails.yaml:1: rules[0].nam: unknown key; did you mean name?"),
            std::string::npos)
      << warnings;
  EXPECT_NE(warnings.find("guardrails.yaml:2: more"), std::string::npos) << warnings;
}

TEST_F(NotesTest, ARepositorysRulesThatAllowCountOnceTheyAreTrusted) {
  auto check = [&] {
    return call(by("ann"), "check_guardrails", R"({"operation_text":"rm -rf / && make deploy"})");
  };
  ASSERT_TRUE(make_folder(folder / ".crucible"));
  // It has the name and the text of the rule that blocks, and comes before it.
  std::string rules =
      "rules:\n  - {name: recursive_delete_outside_worktree, pattern: rm ..., blocked: false}\n"
      "  - {name: deploy, pattern: make deploy}\n";
  ASSERT_TRUE(write_file(folder / ".crucible/guardrails.yaml", rules));
  auto refused = check();
  EXPECT_FALSE(bool_or(refused, "safe", true));
  EXPECT_EQ(each(refused, "violations", "pattern_name"), "recursive_delete_outside_worktree,deploy");
  EXPECT_NE(to_text(refused.at("warnings")).find("cru trust"), std::string::npos);
  auto items = guardrails_to_trust(folder.path());
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].path, ".crucible/guardrails.yaml");
  EXPECT_EQ(items[0].text, rules);
  is_trusted = [digest = sha256(rules)](const std::string& path, std::string_view known) {
    return path == ".crucible/guardrails.yaml" && known == digest;
  };
  EXPECT_FALSE(check().contains("warnings"));
  ASSERT_TRUE(write_file(folder / ".crucible/guardrails.yaml", "rules: [{name: a, pattern: make}]\n"));
  EXPECT_TRUE(guardrails_to_trust(folder.path()).empty()) << "what only forbids needs no trust";
}

TEST_F(NotesTest, AQuestionIsAskedOnceAnsweredByAPersonAndReadByItsAsker) {
  auto asked =
      call(by("an:na@x", "r1"), "ask_user", R"({"prompt":"Which?","options":["a","b"],"wait_seconds":0})");
  EXPECT_EQ(text_or(asked, "status"), "pending");
  EXPECT_TRUE(asked.at("response").is_null());
  EXPECT_EQ(
      call(by("an:na@x", "r1"), "ask_user", R"({"prompt":"Which?","options":["a","b"],"wait_seconds":0})"),
      asked)
      << "sent again, it is the same question";
  EXPECT_EQ(
      text_or(call(by("an:na@x", "r1"), "ask_user", R"({"prompt":"Other?","wait_seconds":0})"), "error"),
      "conflict");
  auto listed = thread->await([&] { return inbox.list("", true); });
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ((*listed)[0].task_id, "session:an:na@x") << "no run and no chat has such an id";
  auto id = std::string(text_or(asked, "question_id"));
  auto again = to_text(json::object{{"question_id", id}, {"wait_seconds", 20}});
  EXPECT_EQ(text_or(call(by("bob"), "ask_user", again), "error"), "not_found") << "another session's";
  EXPECT_EQ(text_or(call(by("an:na@x", "", "other"), "ask_user", again), "error"), "not_found");
  ASSERT_TRUE(thread->await([&] { return inbox.answer(id, {"2"}); }));
  auto answered = call(by("an:na@x"), "ask_user", again);
  EXPECT_EQ(text_or(answered, "status"), "answered");
  EXPECT_EQ(text_or(answered, "response"), "b");
  EXPECT_TRUE(thread->await([&] { return inbox.find(id); })->delivered);
  EXPECT_EQ(count_events("question.delivered"), 1);
}

TEST_F(NotesTest, AskingWaitsForTheAnswer) {
  thread->on_loop([&] {
    thread->loop.spawn([](NotesTest* self) -> Task<void> {
      for (;;) {
        auto seen = self->store->events().last();  // before the list: what is asked meanwhile is past it
        auto pending = co_await self->inbox.list("", true);
        if (pending && !pending->empty()) {
          (void)co_await self->inbox.answer((*pending)[0].id, {"yes"});
          co_return;
        }
        (void)co_await self->store->events().wait_past(seen, 1h);
      }
    }(this));
  });
  auto answered = call(by("ann"), "ask_user", R"({"prompt":"May I?","wait_seconds":20})");
  EXPECT_EQ(text_or(answered, "response"), "yes");
}

TEST_F(NotesTest, ARunsQuestionIsTheRuns) {
  auto inside = by("ann");
  inside.caller = run;
  inside.run_id = "build";
  call(inside, "ask_user", R"({"prompt":"?","wait_seconds":0})");
  EXPECT_EQ(thread->await([&] { return inbox.list("build", true); })->size(), 1u);
}

}  // namespace
}  // namespace cru::api
