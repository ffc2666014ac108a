#include "runs/jailing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cru::runs {
namespace {

const JailMeans all_means{.namespaces = true, .seccomp = true, .landlock = 6, .why_not = {}};

JailPlaces some_places() {
  JailPlaces places;
  places.root = "/home/ann/p";
  places.folder = "/home/ann/p";
  places.own = "/home/ann/p/.coven/jails/u";
  places.door = "/home/ann/p/.coven/door";
  places.home = "/home/ann";
  places.cache = "/home/ann/.cache";
  places.keys = "/home/ann/.config/crucible/keys";
  places.state = "/home/ann/.local/state/crucible";
  places.guarded = {"/home/ann/p/.git/hooks"};
  places.sockets = {"/run/user", "/run/docker.sock"};
  places.needed = {"/home/ann/p", "/home/ann"};
  return places;
}

bool has_path(const std::vector<std::string>& list, const std::string& path) {
  return std::ranges::find(list, path) != list.end();
}

const Bind* bind_at(const std::vector<Bind>& binds, const std::string& at) {
  auto found = std::ranges::find(binds, at, &Bind::at);
  return found == binds.end() ? nullptr : &*found;
}

TEST(Jailing, WithoutTheRightToWriteNothingOfTheUsersIsWritable) {
  auto plan =
      plan_jail({.may_write = false, .may_use_network = true, .passages = {}}, some_places(), all_means);
  EXPECT_EQ(plan.jail.view.writable, (std::vector<std::string>{"/tmp", "/var/tmp"}));
  for (const auto* hidden : {"/home/ann/p/.coven", "/home/ann/.config/crucible/keys",
                             "/home/ann/.local/state/crucible", "/run/user", "/home/ann/.ssh"})
    EXPECT_TRUE(has_path(plan.jail.view.hidden, hidden)) << hidden;
  EXPECT_TRUE(has_path(plan.jail.view.shown, "/home/ann/p/.coven/door"));
}

TEST(Jailing, WithTheRightToWriteTheGuardedPathsAreReadOnly) {
  auto plan =
      plan_jail({.may_write = true, .may_use_network = true, .passages = {}}, some_places(), all_means);
  EXPECT_TRUE(has_path(plan.jail.view.writable, "/home/ann/p"));
  EXPECT_TRUE(has_path(plan.jail.view.readonly, "/home/ann/p/.git/hooks"));
}

TEST(Jailing, LetsInWhatIsPermittedAndNothingElse) {
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .passages = {Passage::docker}},
                        some_places(), all_means);
  EXPECT_FALSE(has_path(plan.jail.view.hidden, "/run/docker.sock"));
  EXPECT_TRUE(has_path(plan.jail.view.hidden, "/run/user"));
  EXPECT_TRUE(has_path(plan.removed, "SSH_AUTH_SOCK"));
  EXPECT_FALSE(has_path(plan.removed, "DOCKER_HOST"));
}

TEST(Jailing, SharesAProgramsLoginAndKeepsItsSettingsReadOnly) {
  auto places = some_places();
  places.program = folder_of_program("claude", {{"HOME", "/home/ann"}});
  places.files = {".credentials.json", "settings.json", "stats.json"};
  places.folders = {"plugins", "projects"};
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .passages = {}}, places, all_means);
  const auto& binds = plan.jail.view.binds;
  ASSERT_TRUE(bind_at(binds, "/home/ann/.claude/.credentials.json"));
  EXPECT_TRUE(bind_at(binds, "/home/ann/.claude/.credentials.json")->writable);
  EXPECT_TRUE(bind_at(binds, "/home/ann/.claude/projects")->writable);
  ASSERT_TRUE(bind_at(binds, "/home/ann/.claude/settings.json"));
  EXPECT_FALSE(bind_at(binds, "/home/ann/.claude/settings.json")->writable);
  EXPECT_FALSE(bind_at(binds, "/home/ann/.claude/plugins")->writable);
  EXPECT_FALSE(bind_at(binds, "/home/ann/.claude/stats.json")) << "it has a copy";
  EXPECT_EQ(plan.environment.at("CLAUDE_CONFIG_DIR"), "/home/ann/.claude");
  auto copy = std::ranges::find(plan.make_copies, "/home/ann/.claude.json", &Bind::from);
  ASSERT_NE(copy, plan.make_copies.end());
  EXPECT_EQ(copy->at, places.own + "/program/.claude.json");
}

const JailMeans no_namespaces{.namespaces = false, .seccomp = true, .landlock = 6, .why_not = {}};

TEST(Jailing, WithoutNamespacesOnlyWhatIsListedIsWritable) {
  auto places = some_places();
  places.open = {"/home/ann/p/src", "/home/ann/p/.git/objects"};
  auto writer =
      plan_jail({.may_write = true, .may_use_network = true, .passages = {}}, places, no_namespaces);
  EXPECT_TRUE(writer.jail.landlock);
  EXPECT_TRUE(has_path(writer.jail.files.writable, "/home/ann/p/src"));
  EXPECT_FALSE(has_path(writer.jail.files.writable, "/home/ann/p"));
  for (const auto* secret : {"/home/ann/p/.coven", "/home/ann/.config/crucible/keys", "/home/ann/.ssh"})
    EXPECT_TRUE(has_path(writer.jail.files.unreadable, secret)) << secret;
  EXPECT_FALSE(has_path(writer.jail.files.readable, places.root)) << "the token would be readable with it";
  auto reader =
      plan_jail({.may_write = false, .may_use_network = true, .passages = {}}, places, no_namespaces);
  EXPECT_FALSE(has_path(reader.jail.files.writable, "/home/ann/p/src"));
  EXPECT_FALSE(has_path(reader.jail.files.writable, places.cache));
}

TEST(Jailing, WithoutNamespacesAProgramHasAFolderOfItsOwnWithLinks) {
  auto places = some_places();
  places.program = folder_of_program("claude", {{"HOME", "/home/ann"}});
  places.files = {".credentials.json", "settings.json", "stats.json"};
  places.folders = {"plugins", "projects"};
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .passages = {}}, places, no_namespaces);
  auto own = places.own + "/program";
  EXPECT_EQ(plan.environment.at("CLAUDE_CONFIG_DIR"), own);
  for (const auto* linked : {".credentials.json", "settings.json", "plugins", "projects"})
    EXPECT_TRUE(bind_at(plan.make_links, own + "/" + linked)) << linked;
  EXPECT_TRUE(bind_at(plan.make_copies, own + "/stats.json"));
  EXPECT_TRUE(has_path(plan.jail.files.writable, "/home/ann/.claude/.credentials.json"));
  EXPECT_FALSE(has_path(plan.jail.files.writable, "/home/ann/.claude/settings.json"));
  EXPECT_FALSE(has_path(plan.jail.files.writable, "/home/ann/.claude/plugins"));
  EXPECT_TRUE(bind_at(plan.returned, "/home/ann/.claude/.credentials.json"));
}

TEST(Jailing, OfOurStateOnlyAWorktreeIsAPlaceToWork) {
  auto places = some_places();
  places.folder = "/home/ann/p/.coven/output";
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .passages = {}}, places, all_means);
  EXPECT_FALSE(has_path(plan.jail.view.shown, places.folder));
  places.folder = "/home/ann/p/.coven/worktrees/a";
  plan = plan_jail({.may_write = true, .may_use_network = true, .passages = {}}, places, all_means);
  EXPECT_TRUE(has_path(plan.jail.view.shown, places.folder));
}

TEST(Jailing, OfAChildIsNeverMoreThanOfItsParent) {
  JailRights parent{.may_write = false, .may_use_network = true, .passages = {Passage::gpg}};
  JailRights child{.may_write = true, .may_use_network = true, .passages = {Passage::gpg, Passage::docker}};
  EXPECT_EQ(both(parent, child), parent);
}

TEST(Jailing, IsReadFromItsRecordAsItWas) {
  std::optional<JailRights> rights(
      JailRights{.may_write = true, .may_use_network = false, .passages = {Passage::ssh_agent}});
  EXPECT_EQ(rights_from_record(to_record(rights)), rights);
  EXPECT_EQ(rights_from_record(""), std::nullopt);
  auto damaged = rights_from_record("[1]");
  ASSERT_TRUE(damaged);
  EXPECT_FALSE(damaged->may_write || damaged->may_use_network);
  EXPECT_EQ(describe(std::nullopt), "no");
}

}  // namespace
}  // namespace cru::runs
