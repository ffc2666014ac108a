#include "daemon/notice.h"

#include <gtest/gtest.h>

#include "approvals/approvals_service.h"

namespace cru::daemon {
namespace {

Event requested(json::object data) { return {1, "approval.requested", "c", {}, to_text(data)}; }

json::object secretive() {
  approvals::Approval approval{.id = "A-7"};
  approval.request = {
      .task_id = "t-1", .member = "m-1", .agent = "careful", .task = "SECRET", .reason = "SECRET"};
  approval.request.proposal = {.tool = "run_command",
                               .input = {{"argv", {"curl", "-H", "SECRET"}}},
                               .preview = {"command", "SECRET"},
                               .what = "run curl -H SECRET",
                               .impact = "Creates the file SECRET.txt (4 bytes)."};
  return to_summary(approval);
}

TEST(Notice, NamesMemberTaskAndKindAndNothingOfWhatWouldBeDone) {
  auto notice = notice_of(requested(secretive()));
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->task, "") << "who wrote it is not known from an event";
  EXPECT_EQ(
      text_of(*notice),
      "careful (task: t-1) needs your approval A-7 to use run_command. It is not known whether it can be "
      "undone.");
  notice->task = "deploy it\nand more";
  EXPECT_EQ(
      text_of(*notice),
      "careful (task: deploy it) needs your approval A-7 to use run_command. It is not known whether it can "
      "be undone.");
  for (auto format : {"webhook", "ntfy"}) {
    auto request = to_request({.url = "https://x.example/t", .format = format}, *notice,
                              "http://127.0.0.1:8765/", "project");
    std::string all = request.body;
    for (const auto& [key, value] : request.headers) all += key + ": " + value + "\n";
    EXPECT_EQ(all.find("SECRET"), std::string::npos) << all;
    EXPECT_NE(all.find("http://127.0.0.1:8765/#approval=A-7"), std::string::npos) << all;
    EXPECT_NE(all.find("careful"), std::string::npos);
    EXPECT_EQ(request.method, "POST");
  }
  auto body = parse_json(to_request({.url = "https://x.example/t", .link = "https://me.example"}, *notice,
                                    "http://127.0.0.1:1/", "p")
                             .body)
                  ->as_object();
  EXPECT_EQ(text_or(body, "member"), "m-1");
  EXPECT_EQ(text_or(body, "url"), "https://me.example/#approval=A-7");
}

TEST(Notice, IsNotForWhatWaitsForNobody) {
  auto decided = secretive();
  decided["status"] = "approved";
  EXPECT_FALSE(notice_of(requested(decided))) << "a rule has decided it";
  EXPECT_FALSE(notice_of({1, "approval.approved", "c", {}, to_text(secretive())}));
  json::object question{
      {"id", "q"}, {"task_id", "cc"}, {"kind", "question"}, {"prompt", "SECRET?"}, {"status", "pending"}};
  auto asked = notice_of({1, "agent.question", "cc", {}, to_text(question)});
  ASSERT_TRUE(asked);
  EXPECT_EQ(text_of(*asked).find("SECRET"), std::string::npos);
  EXPECT_EQ(link_of(*asked, "http://h"), "http://h/#question=q");
  question["task_id"] = "session:an:na";
  EXPECT_EQ(text_of(*notice_of({1, "agent.question", "cc", {}, to_text(question)})),
            "an:na asks you a question.");
  question["kind"] = "permission";
  EXPECT_FALSE(notice_of({1, "agent.question", "cc", {}, to_text(question)})) << "it is told as an approval";
  EXPECT_FALSE(notice_of({1, "agent.question", "cc", {}, "no object"}));
}

TEST(Notice, AToolIsNamedOnlyIfThatIsAName) {
  auto data = secretive();
  data["tool"] = "Write /home/me/SECRET.txt";
  EXPECT_EQ(text_of(*notice_of(requested(data))).find("SECRET"), std::string::npos);
  data["tool"] = "mcp__cru__submit_work";
  EXPECT_NE(text_of(*notice_of(requested(data))).find("mcp__cru__submit_work"), std::string::npos);
}

TEST(Notice, KeepsAHeaderInItsLine) {
  auto data = secretive();
  data["id"] = "A-1\r\nX: y";
  auto request =
      to_request({.url = "https://x", .format = "ntfy"}, *notice_of(requested(data)), "http://h/", "ö\nX: y");
  for (const auto& [key, value] : request.headers)
    EXPECT_EQ(value.find_first_of("\r\n"), std::string::npos) << value;
}

TEST(Notice, AnAddressIsToldWithoutItsPath) {
  EXPECT_EQ(without_path("https://ntfy.sh/my-secret-topic?x"), "https://ntfy.sh/…");
  EXPECT_EQ(without_path("https://hooks.example"), "https://hooks.example");
  EXPECT_EQ(without_path(""), "");
}

}  // namespace
}  // namespace cru::daemon
