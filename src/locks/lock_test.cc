#include "locks/lock.h"

#include <gtest/gtest.h>

#include <bitset>

#include "base/glob.h"
#include "locks/lock_replies.h"

namespace cru::coordination {
namespace {

LockKey key(std::string_view text) {
  auto parsed = parse_lock_key(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : LockKey{};
}

TEST(LockKey, IsAPathAGlobOrALogicalKey) {
  using Kind = LockKey::Kind;
  struct {
    std::string_view text;
    Kind kind;
  } rows[] = {{"src/a.cc", Kind::path},
              {"src/", Kind::glob},
              {"src/*.cc", Kind::glob},
              {"src/?.cc", Kind::glob},
              {"api:users", Kind::logical},
              {"db:a*b", Kind::logical},
              {"app/[id]/page.tsx", Kind::path},
              {"apis:x", Kind::path},
              {"a:b", Kind::path},
              {"contract:v1/users", Kind::logical}};
  for (const auto& row : rows) EXPECT_EQ(key(row.text).kind, row.kind) << row.text;
}

TEST(LockKey, RefusesWhatNamesNoFile) {
  std::string nul("a\0b", 3), many = "a", stars = "*";
  many.append(5000, 'b');
  for (int i = 0; i < 8; ++i) stars += "a*?";
  std::string long_glob(300, 'a');
  long_glob += '*';
  for (const std::string& text : {std::string(), nul, std::string("a\nb"), std::string("a\\b"),
                                  std::string("C:\\x"), std::string("api:"), many, stars, long_glob,
                                  std::string("src/*/../../etc"), std::string("\x1b[2J")}) {
    auto parsed = parse_lock_key(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid_argument);
    EXPECT_EQ(parsed.error().field, "file_path");
    EXPECT_FALSE(parsed.error().message.empty());
  }
}

TEST(LockKey, AGlobIsResolvedUpToItsFirstWildcard) {
  struct {
    std::string_view glob, folder, rest;
  } rows[] = {{"src/**/*.cc", "src/", "**/*.cc"},
              {"*.cc", "", "*.cc"},
              {"src/a*", "src/", "a*"},
              {"src/", "src/", ""},
              {"./a/./b?/c", "./a/./", "b?/c"}};
  for (const auto& row : rows) {
    auto parts = split_glob(row.glob);
    EXPECT_EQ(parts.folder, row.folder) << row.glob;
    EXPECT_EQ(parts.rest, row.rest) << row.glob;
  }
  EXPECT_EQ(join_glob("src", "*//./a*").text, "src/*/a*");
  EXPECT_EQ(join_glob("src", "").text, "src/");
  EXPECT_EQ(join_glob("", "").text, "**") << "the whole project";
  EXPECT_EQ(join_glob("", "*.cc").text, "*.cc");
}

TEST(Overlap, TruthTable) {
  struct {
    std::string_view a, b;
    bool overlap;
  } rows[] = {
      {"src/a.cc", "src/a.cc", true},
      {"src/a.cc", "src/b.cc", false},
      {"src/a.cc", "src/a.cc.bak", false},
      {"src/", "src/a.cc", true},
      {"src/", "src/deep/er/a.cc", true},
      {"src/", "src", true},
      {"src/", "srcs/a.cc", false},
      {"src/", "src/deep/", true},
      {"src/", "lib/", false},
      {"src/deep/", "src/", true},
      {"src/*.cc", "src/a.cc", true},
      {"src/*.cc", "src/a.h", false},
      {"src/*.cc", "src/deep/a.cc", false},
      {"src/**/*.cc", "src/a.cc", true},
      {"src/**/*.cc", "src/x/y/a.cc", true},
      {"src/**/*.cc", "src/x/y/a.h", false},
      {"src/**", "src/x/y", true},
      {"**", "anything/at.all", true},
      {"**/", "anything/at.all", true},
      {"**/test", "test", true},
      {"**/test", "a/test", true},
      {"**/test", "atest", false},
      {"a**b", "a/x/b", true},
      {"?.cc", "a.cc", true},
      {"?.cc", "ab.cc", false},
      {"a?b", "a/b", false},
      {"*.cc", "*.h", false},
      {"*.cc", "a*", true},
      {"src/*", "*/a.cc", true},
      {"src/*.cc", "src/", true},
      {"src/*", "lib/*", false},
      {"a*c", "*b*", true},
      {"a/*/c", "a/b", false},
      {"a/*/c", "a/b/*", true},
      {"a/**/z", "a/*.txt", false},
      {"x*y*z", "x*zy", false},
      {"****", "a/b", true},
      {"app/[id]/page.tsx", "app/i/page.tsx", false},
      {"app/[id]/page.tsx", "app/*/page.tsx", true},
      {"api:users", "api:users", true},
      {"api:users", "api:user", false},
      {"api:users", "**", false},
      {"api:*", "api:users", false},
      {"db:users", "api:users", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(overlap(key(row.a), key(row.b)), row.overlap) << row.a << " and " << row.b;
    EXPECT_EQ(overlap(key(row.b), key(row.a)), row.overlap) << row.b << " and " << row.a;
  }
}

/// What a glob means, said in the most simple way: by trying everything.
bool slow_match(std::string_view glob, std::string_view path, bool at_segment = true) {
  if (glob == "/" && !glob.empty()) return path.empty() || path.front() == '/';
  if (glob.empty()) return path.empty();
  if (at_segment && glob.starts_with("**/") && glob.size() > 3) {
    if (slow_match(glob.substr(3), path)) return true;
    for (size_t i = 0; i < path.size(); ++i)
      if (path[i] == '/' && slow_match(glob.substr(3), path.substr(i + 1))) return true;
    return false;
  }
  if (glob.starts_with("**")) {
    for (size_t i = 0; i <= path.size(); ++i)
      if (slow_match(glob.substr(2), path.substr(i), false)) return true;
    return false;
  }
  if (glob.front() == '*') {
    for (size_t i = 0; i <= path.size(); ++i) {
      if (slow_match(glob.substr(1), path.substr(i), false)) return true;
      if (i < path.size() && path[i] == '/') break;
    }
    return false;
  }
  if (path.empty() || (glob.front() == '?' ? path.front() == '/' : path.front() != glob.front()))
    return false;
  return slow_match(glob.substr(1), path.substr(1), glob.front() == '/');
}

std::vector<std::string> all_texts(std::string_view letters, size_t longest) {
  std::vector<std::string> texts{""};
  for (size_t begin = 0; texts.back().size() < longest;) {
    auto end = texts.size();
    for (; begin < end; ++begin)
      for (char c : letters) texts.push_back(texts[begin] + c);
  }
  return texts;
}

TEST(Glob, MatchesWhatTryingEverythingFinds) {
  auto paths = all_texts("ab/", 5);
  auto globs = all_texts("a*?/", 4);
  for (std::string more : {"a**/b", "**/*/**", "*/**/a", "a*?*b", "**a**", "?**/?", "**/**/a/"})
    globs.push_back(more);
  size_t matched = 0;
  for (const auto& glob : globs) {
    Glob automaton(glob);
    for (const auto& path : paths) {
      bool is_match = automaton.matches(path);
      ASSERT_EQ(is_match, slow_match(glob, path)) << "glob " << glob << " path " << path;
      matched += is_match;
    }
  }
  EXPECT_GT(matched, 1000u);
}

TEST(Glob, MeetsAnotherExactlyWhenSomeTextMatchesBoth) {
  auto globs = all_texts("a*?/", 3);
  for (std::string more : {"a**b", "**/ab", "b/**/", "*a*b", "?/**", "**b/a", "a*/b"}) globs.push_back(more);
  auto paths = all_texts("ab/", 6);
  std::vector<std::bitset<1093>> matches(globs.size());
  ASSERT_EQ(paths.size(), 1093u);
  for (size_t a = 0; a < globs.size(); ++a)
    for (size_t i = 0; i < paths.size(); ++i) matches[a][i] = Glob(globs[a]).matches(paths[i]);
  for (size_t a = 0; a < globs.size(); ++a)
    for (size_t b = 0; b < globs.size(); ++b) {
      bool common = (matches[a] & matches[b]).any();
      ASSERT_EQ(Glob(globs[a]).meets(Glob(globs[b])), common) << globs[a] << " and " << globs[b];
    }
}

TEST(Glob, TakesNoTimeToRefuseWhatBacktrackingNeverEnds) {
  std::string glob, path(4000, 'a');
  for (int i = 0; i < 15; ++i) glob += "a*";
  EXPECT_FALSE(Glob(glob + "b").matches(path));
  EXPECT_FALSE(Glob("**" + std::string(200, 'a') + "b").meets(Glob(std::string(200, '?') + "**c")));
}

const Moment noon{Time(1'000'000h), "boot-1", BootTime(10h)};
Moment at(Duration later) { return after(noon, later); }
Who agent(std::string id, std::string session) { return {.agent_id = id, .session_id = session}; }
const Who ann = agent("ann", "s-ann"), bob = agent("bob", "s-bob"), second_ann = agent("ann", "s-ann-2");

Lock held(const Who& who, std::string_view text, int64_t token, Duration ttl = 60min) {
  return {.key = key(text),
          .agent_id = who.agent_id,
          .agent_type = who.agent_type,
          .session_id = who.session_id,
          .reason = "refactoring",
          .fencing_token = token,
          .locked_at = noon.wall,
          .expires = at(ttl)};
}
Taking take_by(const Who& who, std::string_view text, std::vector<Lock> locks,
               std::vector<Waiting> ahead = {}, std::optional<int64_t> token = {}, Duration ttl = 120min) {
  std::vector<Lock> mine, standing;
  LockRequest request{.key = key(text), .reason = "", .ttl = ttl, .fencing_token = token};
  for (const auto& lock : locks) {
    if (lock.session_id == who.session_id) mine.push_back(lock);
    if (overlap(lock.key, request.key)) standing.push_back(lock);
  }
  return take(who, request, standing, mine, ahead, noon);
}
using What = Taking::What;

TEST(Lock, OfAFreeKeyIsTaken) {
  auto taking = take_by(ann, "a.cc", {held(bob, "b.cc", 1)});
  ASSERT_EQ(taking.what, What::acquire);
  EXPECT_EQ(taking.lock.session_id, "s-ann");
  EXPECT_EQ(until(taking.lock.expires, noon), 120min);
}

TEST(Lock, IsRefusedWhileAnotherHoldsSomethingThatOverlaps) {
  for (auto text : {"src/a.cc", "src/", "src/**/*.cc", "**"}) {
    auto taking = take_by(ann, "src/a.cc", {held(bob, text, 7)});
    ASSERT_EQ(taking.what, What::held_by_other) << text;
    EXPECT_EQ(taking.other.fencing_token, 7);
  }
}

TEST(Lock, IsTheSessionsAndNotTheAgents) {
  EXPECT_EQ(take_by(second_ann, "a.cc", {held(ann, "a.cc", 1)}).what, What::held_by_other);
}

TEST(Lock, IsRefreshedWithItsTokenAndNeverShortened) {
  auto longer = take_by(ann, "a.cc", {held(ann, "a.cc", 3)});
  ASSERT_EQ(longer.what, What::refresh);
  EXPECT_EQ(longer.lock.fencing_token, 3);
  EXPECT_EQ(longer.lock.reason, "refactoring") << "kept when no new one is given";
  EXPECT_EQ(until(longer.lock.expires, noon), 120min);
  auto shorter = take_by(ann, "a.cc", {held(ann, "a.cc", 3)}, {}, {}, 1min);
  EXPECT_EQ(until(shorter.lock.expires, noon), 60min);
}

TEST(Lock, OneSessionMayHoldKeysThatOverlap) {
  EXPECT_EQ(take_by(ann, "src/a.cc", {held(ann, "src/", 3)}).what, What::acquire);
}

TEST(Lock, ATokenThatIsNotTheCurrentOneIsRefused) {
  EXPECT_EQ(take_by(ann, "a.cc", {held(ann, "a.cc", 3)}, {}, 3).what, What::refresh);
  EXPECT_EQ(take_by(ann, "a.cc", {held(ann, "a.cc", 3)}, {}, 2).what, What::stale_token);
  EXPECT_EQ(take_by(ann, "a.cc", {}, {}, 3).what, What::stale_token) << "it expired";
  auto stolen = take_by(ann, "a.cc", {held(bob, "a.cc", 4)}, {}, 3);
  ASSERT_EQ(stolen.what, What::stale_token);
  EXPECT_EQ(stolen.other.agent_id, "bob");
}

TEST(Lock, NobodyOvertakesWhoWaitsUnlessThatOneWaitsForIt) {
  Waiting waiting{key("src/"), "bob", "s-bob"};
  EXPECT_EQ(take_by(ann, "src/a.cc", {}, {waiting}).what, What::behind_waiting);
  EXPECT_EQ(take_by(bob, "src/a.cc", {}, {waiting}).what, What::acquire) << "one's own place is none";
  EXPECT_EQ(take_by(ann, "src/b.cc", {held(ann, "src/a.cc", 1)}, {waiting}).what, What::acquire)
      << "bob waits for ann: were she to wait for him, both would";
}

TEST(LockReply, HasEveryKeyOfTheWireWhateverItSays) {
  LockRequest request{.key = key("a.cc"), .reason = "", .ttl = 1min, .fencing_token = 9};
  std::vector<Done> replies = {
      taken_reply(take_by(ann, "a.cc", {}), request),
      taken_reply(take_by(ann, "a.cc", {held(bob, "a.cc", 7)}), request),
      taken_reply(take_by(ann, "a.cc", {}, {{key("a.cc"), "bob", "s-bob"}}), request),
      taken_reply(take_by(ann, "a.cc", {}, {}, 9), request),
      ttl_out_of_range_reply("a.cc", 0),
      invalid_path_reply("../a", Error{Code::invalid_argument, "outside"})};
  for (const auto& done : replies)
    for (auto name : {"success", "action", "file_path", "expires_at", "reason", "locked_by", "lock_reason",
                      "fencing_token", "locked_by_session"})
      EXPECT_TRUE(done.reply.contains(name)) << name << " in " << to_text(done.reply);
  EXPECT_EQ(replies[0].status, 0);
  EXPECT_EQ(replies[1].status, 409);
  EXPECT_EQ(replies[1].reply.at("reason"), "locked_by_other");
  EXPECT_EQ(replies[1].reply.at("locked_by"), "bob");
  EXPECT_EQ(replies[1].reply.at("lock_reason"), "refactoring");
  EXPECT_EQ(replies[3].reply.at("reason"), "stale_fencing_token");
  EXPECT_EQ(replies[4].status, 400);
  EXPECT_EQ(replies[4].reply.at("field"), "ttl_minutes");
  EXPECT_EQ(replies[5].reply.at("reason"), "invalid_file_path");
  EXPECT_EQ(replies[5].reply.at("message"), "outside");
}

TEST(LockReply, ADeniedEditSaysWhoUntilWhenAndWhatNow) {
  auto denied = edit_denied(key("src/a.cc"), held(bob, "src/a.cc", 1));
  auto until_when = to_rfc3339(at(60min).wall);
  EXPECT_EQ(text_or(denied.reply, "message"), "src/a.cc is locked by bob (refactoring) until " + until_when +
                                                  "; wait, work on something else, or ask bob");
  EXPECT_EQ(denied.reply.at("allowed"), false);
  auto through = edit_denied(key("src/a.cc"), held(bob, "src/", 1));
  EXPECT_NE(std::string(through.reply.at("message").as_string()).find("through src/"), std::string::npos);
}

}  // namespace
}  // namespace cru::coordination
