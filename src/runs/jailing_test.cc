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
  places.own_cache = "/home/ann/p/.coven/cache";
  places.secrets = {"/home/ann/p/.coven", "/home/ann/.config/crucible/keys", "/home/ann/.local/state/cru"};
  places.ssh_folders = {"/home/ann/.ssh"};
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
      plan_jail({.may_write = false, .may_use_network = true, .permits = {}}, some_places(), all_means);
  EXPECT_EQ(plan.jail.view.writable, (std::vector<std::string>{"/tmp", "/var/tmp"}));
  for (const auto* hidden : {"/home/ann/p/.coven", "/home/ann/.config/crucible/keys",
                             "/home/ann/.local/state/cru", "/run/user", "/home/ann/.ssh"})
    EXPECT_TRUE(has_path(plan.jail.view.hidden, hidden)) << hidden;
  EXPECT_TRUE(has_path(plan.jail.view.shown, "/home/ann/p/.coven/door"));
}

TEST(Jailing, WithTheRightToWriteTheGuardedPathsAreReadOnly) {
  auto plan =
      plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, some_places(), all_means);
  EXPECT_TRUE(has_path(plan.jail.view.writable, "/home/ann/p"));
  EXPECT_TRUE(has_path(plan.jail.view.readonly, "/home/ann/p/.git/hooks"));
}

TEST(Jailing, LetsInWhatIsPermittedAndNothingElse) {
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {Permit::docker}},
                        some_places(), all_means);
  EXPECT_FALSE(has_path(plan.jail.view.hidden, "/run/docker.sock"));
  EXPECT_TRUE(has_path(plan.jail.view.hidden, "/run/user"));
  EXPECT_TRUE(has_path(plan.removed, "SSH_AUTH_SOCK"));
  EXPECT_FALSE(has_path(plan.removed, "DOCKER_HOST"));
}

TEST(Jailing, SharesAProgramsLoginAndKeepsItsSettingsReadOnly) {
  auto places = some_places();
  places.program = folder_of_program("claude", {{"HOME", "/home/ann"}}, places.folder, places.root);
  places.files = {".credentials.json", "settings.json", "stats.json"};
  places.folders = {"plugins", "projects"};
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
  const auto& binds = plan.jail.view.binds;
  ASSERT_TRUE(bind_at(binds, "/home/ann/.claude/.credentials.json"));
  EXPECT_TRUE(bind_at(binds, "/home/ann/.claude/.credentials.json")->writable);
  auto here = "/home/ann/.claude/projects/" + claude_project(places.folder);
  ASSERT_TRUE(bind_at(binds, here));
  EXPECT_TRUE(bind_at(binds, here)->writable);
  EXPECT_FALSE(bind_at(binds, "/home/ann/.claude/projects")) << "other projects are none of its business";
  ASSERT_TRUE(bind_at(binds, "/home/ann/.claude/settings.json"));
  EXPECT_FALSE(bind_at(binds, "/home/ann/.claude/settings.json")->writable);
  EXPECT_FALSE(bind_at(binds, "/home/ann/.claude/plugins")->writable);
  EXPECT_FALSE(bind_at(binds, "/home/ann/.claude/stats.json")) << "it has a copy";
  EXPECT_EQ(plan.environment.at("CLAUDE_CONFIG_DIR"), "/home/ann/.claude");
  auto copy = std::ranges::find(plan.make_copies, "/home/ann/.claude.json", &Bind::from);
  ASSERT_NE(copy, plan.make_copies.end());
  EXPECT_EQ(copy->at, places.own + "/program/.claude.json");
}

TEST(Jailing, WhatAProgramsOtherSessionsWouldExecuteOrBelieveIsNotShared) {
  auto places = some_places();
  for (std::string program : {"claude", "codex", "gemini"}) {
    SCOPED_TRACE(program);
    places.program = folder_of_program(program, {{"HOME", "/home/ann"}}, places.folder, places.root);
    places.folders = {"shell-snapshots", "session-env", "projects", "shell_snapshots", "tmp"};
    auto plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
    const auto& binds = plan.jail.view.binds;
    for (const auto& own : places.program.own) {
      auto name = own.substr(0, own.size() - 1);
      EXPECT_FALSE(bind_at(binds, places.program.path + "/" + name)) << name;
      EXPECT_TRUE(has_path(plan.make_folders, places.own + "/program/" + name)) << name;
    }
    for (const auto& bind : binds)
      if (bind.writable && bind.at.starts_with(places.program.path + "/"))
        for (const auto* executed : {"shell-snapshots", "session-env", "shell_snapshots", "tmp/bin"})
          EXPECT_EQ(bind.at.find(executed), std::string::npos) << bind.at;
  }
  places.program = folder_of_program("gemini", {{"HOME", "/home/ann"}}, places.folder, places.root);
  auto of_gemini = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
  const auto* programs = bind_at(of_gemini.jail.view.binds, "/home/ann/.gemini/tmp/bin");
  ASSERT_TRUE(programs);
  EXPECT_FALSE(programs->writable);
  places.program = folder_of_program("claude", {{"HOME", "/home/ann"}}, places.folder, places.root);
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
  const auto& binds = plan.jail.view.binds;
  const auto* memory = bind_at(binds, "/home/ann/.claude/projects/-home-ann-p/memory");
  ASSERT_TRUE(memory);
  EXPECT_FALSE(memory->writable);
  EXPECT_GT(memory, bind_at(binds, "/home/ann/.claude/projects/-home-ann-p")) << "upon what is shared";
}

TEST(Jailing, SeesWhatALinkInAProgramsFolderLeadsTo) {
  auto places = some_places();
  places.program = folder_of_program("claude", {{"HOME", "/home/ann"}}, places.folder, places.root);
  places.files = {".credentials.json", "settings.json", "stats.json"};
  places.targets = {{"settings.json", "/home/ann/dotfiles/settings.json"},
                    {".credentials.json", "/home/ann/dotfiles/login"},
                    {"stats.json", "/home/ann/dotfiles/stats"}};
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
  const auto* settings = bind_at(plan.jail.view.binds, "/home/ann/.claude/settings.json");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->from, "/home/ann/dotfiles/settings.json");
  EXPECT_FALSE(settings->writable);
  const auto* login = bind_at(plan.jail.view.binds, "/home/ann/.claude/.credentials.json");
  ASSERT_TRUE(login);
  EXPECT_EQ(login->from, "/home/ann/dotfiles/login");
  EXPECT_TRUE(login->writable);
  ASSERT_TRUE(bind_at(plan.make_copies, places.own + "/program/stats.json"));
  EXPECT_EQ(bind_at(plan.make_copies, places.own + "/program/stats.json")->from, "/home/ann/dotfiles/stats");
}

TEST(Jailing, PeoplesOwnCacheIsNotWrittenWhatTheyExecuteIsInIt) {
  auto places = some_places();
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
  EXPECT_FALSE(has_path(plan.jail.view.writable, places.cache));
  const auto* cache = bind_at(plan.jail.view.binds, places.cache);
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->from, places.own_cache);
  places.root = places.folder = "/home/ann/.cache/p";
  plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
  EXPECT_FALSE(bind_at(plan.jail.view.binds, places.cache)) << "the project would be hidden with it";
}

TEST(Jailing, KnowsWhereClaudeCodeKeepsTheSessionsOfAFolder) {
  EXPECT_EQ(claude_project("/home/ann/my.p_1"), "-home-ann-my-p-1");
  EXPECT_EQ(claude_project("/h/\xc3\xa9"), "-h--");
  // As its own function answers.
  EXPECT_EQ(claude_project("/" + std::string(250, 'a')), "-" + std::string(199, 'a') + "-feo44x");
}

const JailMeans no_namespaces{.namespaces = false, .seccomp = true, .landlock = 6, .why_not = {}};

TEST(Jailing, WithoutNamespacesOnlyWhatIsListedIsWritable) {
  auto places = some_places();
  places.open = {"/home/ann/p/src", "/home/ann/p/.git/objects"};
  auto writer = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, no_namespaces);
  EXPECT_TRUE(writer.jail.landlock);
  EXPECT_TRUE(has_path(writer.jail.files.writable, "/home/ann/p/src"));
  EXPECT_FALSE(has_path(writer.jail.files.writable, "/home/ann/p"));
  for (const auto* secret : {"/home/ann/p/.coven", "/home/ann/.config/crucible/keys", "/home/ann/.ssh"})
    EXPECT_TRUE(has_path(writer.jail.files.unreadable, secret)) << secret;
  EXPECT_FALSE(has_path(writer.jail.files.readable, places.root)) << "the token would be readable with it";
  auto reader =
      plan_jail({.may_write = false, .may_use_network = true, .permits = {}}, places, no_namespaces);
  EXPECT_FALSE(has_path(reader.jail.files.writable, "/home/ann/p/src"));
  EXPECT_FALSE(has_path(reader.jail.files.writable, places.own_cache));
  EXPECT_TRUE(has_path(writer.jail.files.writable, places.own_cache));
  EXPECT_FALSE(has_path(writer.jail.files.writable, places.cache));
}

TEST(Jailing, WithoutNamespacesAProgramHasAFolderOfItsOwnWithLinks) {
  auto places = some_places();
  places.program = folder_of_program("claude", {{"HOME", "/home/ann"}}, places.folder, places.root);
  places.files = {".credentials.json", "settings.json", "stats.json"};
  places.folders = {"plugins", "projects"};
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, no_namespaces);
  auto own = places.own + "/program";
  EXPECT_EQ(plan.environment.at("CLAUDE_CONFIG_DIR"), own);
  for (const auto* linked : {".credentials.json", "settings.json", "plugins", "projects/-home-ann-p"})
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
  auto plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
  EXPECT_FALSE(has_path(plan.jail.view.shown, places.folder));
  places.folder = "/home/ann/p/.coven/worktrees/a";
  plan = plan_jail({.may_write = true, .may_use_network = true, .permits = {}}, places, all_means);
  EXPECT_TRUE(has_path(plan.jail.view.shown, places.folder));
}

TEST(Jailing, AConfinedAgentNamesNoneOfThePlacesOfAJail) {
  std::map<std::string, std::string> environment{{"HOME", "/nonexistent"},
                                                 {"XDG_CACHE_HOME", "/home/ann"},
                                                 {"CLAUDE_CONFIG_DIR", "/home/ann/.ssh"},
                                                 {"CODEX_HOME", "/home/ann/.ssh"},
                                                 {"SSH_AUTH_SOCK", "/home/ann/p/.coven/covend.sock"},
                                                 {"LANG", "C"}};
  remove_places(environment);
  EXPECT_EQ(environment, (std::map<std::string, std::string>{{"LANG", "C"}}));
}

TEST(Jailing, OfAChildIsNeverMoreThanOfItsParent) {
  JailRights parent{.may_write = false, .may_use_network = true, .permits = {Permit::gpg}};
  JailRights child{.may_write = true, .may_use_network = true, .permits = {Permit::gpg, Permit::docker}};
  EXPECT_EQ(both(parent, child), parent);
}

TEST(Jailing, IsReadFromItsRecordAsItWas) {
  std::optional<JailRights> rights(
      JailRights{.may_write = true, .may_use_network = false, .permits = {Permit::ssh_agent}});
  EXPECT_EQ(rights_from_record(to_record(rights)), rights);
  EXPECT_EQ(rights_from_record(""), std::nullopt);
  auto damaged = rights_from_record("[1]");
  ASSERT_TRUE(damaged);
  EXPECT_FALSE(damaged->may_write || damaged->may_use_network);
  EXPECT_FALSE(damaged->is_known);
  EXPECT_EQ(describe(std::nullopt), "no");
  EXPECT_EQ(rights_from_record(to_record(unknown_rights())), unknown_rights());
  EXPECT_EQ(describe(unknown_rights()), "unknown: its record was lost");
  EXPECT_EQ(describe(JailRights{.may_write = false, .may_use_network = true, .permits = {}}),
            "writes nothing, network for its model");
}

}  // namespace
}  // namespace cru::runs
