#include "definitions/registry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "definitions/folder_scan.h"
#include "platform/files/files.h"
#include "store/store_fixture.h"

namespace cru::definitions {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& name, const std::string& description, const std::string& more = {}) {
  return "---\nname: " + name + "\ndescription: " + description + "\npermissions: []\n" + more +
         "---\nprompt of " + description + "\n";
}

class RegistryTest : public StoreFixture {
 public:
  RegistryTest() : StoreFixture({}) {
    folders = {folder / "p/.crucible/agents", folder / "home/.config/crucible/agents", folder / "p",
               folder / "home"};
    fs::create_directories(folders.project);
    fs::create_directories(folders.system);
    pool = std::make_unique<Pool>(thread->loop, 2);
    registry =
        std::make_unique<Registry>(thread->loop, *store, *pool, folders, [this] { return is_trusted; });
  }
  ~RegistryTest() override {
    thread->on_loop([&] {
      registry.reset();
      return true;
    });
    thread->stop();
    pool.reset();
  }
  void project_file(const std::string& file, const std::string& text) { put(folders.project, file, text); }
  void system_file(const std::string& file, const std::string& text) { put(folders.system, file, text); }
  static void put(const std::string& in, const std::string& file, const std::string& text) {
    std::ofstream(in + "/" + file) << text;
  }
  Catalog look() {
    return thread->await([&] { return registry->look(); });
  }
  /// The description of the one in force: "" if there is none.
  static std::string in_force(const Catalog& catalog, const std::string& name) {
    auto found = catalog.find_enabled(name);
    return found ? found->description : "";
  }
  std::string in_force(const std::string& name) { return in_force(look(), name); }

  Folders folders;
  std::unique_ptr<Pool> pool;
  trust::Check is_trusted = [](const std::string&, std::string_view) { return true; };
  std::unique_ptr<Registry> registry;
};

TEST_F(RegistryTest, FindsTheProjectsAndTheUsersAndThoseThatComeWithCru) {
  project_file("mine.md", text_of("mine", "the project's"));
  system_file("yours.md", text_of("yours", "the user's"));
  auto catalog = look();
  EXPECT_EQ(catalog.find("mine")->path, ".crucible/agents/mine.md");
  EXPECT_EQ(catalog.find("mine")->source, Source::project);
  EXPECT_EQ(catalog.find("yours")->path, "~/.config/crucible/agents/yours.md");
  EXPECT_EQ(catalog.find("yours")->source, Source::system);
  EXPECT_EQ(catalog.find("explorer")->path, "builtin:explorer.md");
  EXPECT_EQ(catalog.files, 2u);
  EXPECT_EQ(catalog.agents.size(), 6u);
  EXPECT_TRUE(std::ranges::is_sorted(catalog.agents, {}, &Definition::name));
}

TEST_F(RegistryTest, TheProjectsGoOverTheUsersOverTheBuiltIn) {
  EXPECT_NE(in_force("explorer"), "");
  system_file("explorer.md", text_of("explorer", "the user's"));
  auto catalog = look();
  EXPECT_EQ(in_force(catalog, "explorer"), "the user's");
  EXPECT_EQ(catalog.overridden.at("explorer"), "builtin:explorer.md");
  project_file("explorer.md", text_of("explorer", "the project's"));
  catalog = look();
  EXPECT_EQ(in_force(catalog, "explorer"), "the project's");
  EXPECT_EQ(catalog.overridden.at("explorer"), "~/.config/crucible/agents/explorer.md");
  EXPECT_EQ(catalog.agents.size(), 4u);
}

TEST_F(RegistryTest, AnInvalidOneIsSkippedAndLeavesTheOneBelowInForce) {
  system_file("helper.md", text_of("helper", "the user's"));
  project_file("helper.md", "---\nname: helper\nmodle: x\n---\nprompt\n");
  auto catalog = look();
  EXPECT_EQ(in_force(catalog, "helper"), "the user's");
  EXPECT_EQ(catalog.skipped, 1u);
  EXPECT_FALSE(catalog.overridden.contains("helper"));
  EXPECT_EQ(to_line(catalog.problems.at(0)), ".crucible/agents/helper.md:1: error: description: is missing");
  project_file("only.md", "no frontmatter");
  auto missing = look().find_enabled("only");
  EXPECT_EQ(missing.error().message, "agent not found: \"only\"");
  EXPECT_NE(missing.error().hint.find(".crucible/agents/only.md is not valid"), std::string::npos);
}

TEST_F(RegistryTest, ADisabledOneIsNotFoundAndHidesTheOneBelow) {
  system_file("helper.md", text_of("helper", "the user's"));
  project_file("helper.md", text_of("helper", "the project's", "enabled: false\n"));
  auto catalog = look();
  auto refused = catalog.find_enabled("helper");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::not_found);
  EXPECT_TRUE(refused.error().message.starts_with("agent not found"));
  EXPECT_EQ(catalog.find("helper")->description, "the project's") << "it can still be shown";
  project_file("helper.md", text_of("helper", "the project's", "enabled: true\n"));
  EXPECT_EQ(in_force("helper"), "the project's");
}

TEST_F(RegistryTest, SaysWhatWasSearchedAndWhichNameIsNear) {
  auto missing = look().find("code-reviwer");
  EXPECT_EQ(missing.error().message, "agent not found: \"code-reviwer\"");
  EXPECT_EQ(missing.error().hint,
            "searched .crucible/agents, ~/.config/crucible/agents\ndid you mean: code-reviewer");
}

TEST_F(RegistryTest, AModelThatTheConfigurationDoesNotKnowIsAnErrorOfItsFile) {
  project_file("a.md", text_of("a", "x", "model: sonet\n"));
  project_file("b.md", text_of("b", "x", "model: inherit\n"));
  project_file("c.md", text_of("c", "x"));
  project_file("d.md", text_of("d", "x", "model: gpt-9000\n"));
  project_file("e.md", "---\nname: c\ndescription: a second c\nmodel: opsu\npermissions: []\n---\nx\n");
  auto catalog = look();
  check_models(catalog, {"haiku", "sonnet"});
  EXPECT_TRUE(catalog.find("a")) << "who spawns it may choose another";
  auto problems = catalog.problems;
  std::erase_if(problems, [](const Problem& problem) { return problem.field != "model"; });
  ASSERT_EQ(problems.size(), 3u) << "also of one that is not in force";
  EXPECT_EQ(std::ranges::count(catalog.checked, false, &CheckedFile::is_valid), 3);
  EXPECT_EQ(to_line(problems[0]), ".crucible/agents/a.md:5: error: model: unknown model \"sonet\"");
  EXPECT_EQ(problems[0].suggestion, "did you mean sonnet?");
  EXPECT_EQ(problems[1].suggestion, "valid models: haiku, sonnet");
}

TEST_F(RegistryTest, OfTwoWithOneNameInAFolderTheSecondIsAnError) {
  project_file("a.md", text_of("same", "first"));
  project_file("b.md", text_of("same", "second"));
  auto catalog = look();
  EXPECT_EQ(in_force(catalog, "same"), "first");
  EXPECT_EQ(catalog.skipped, 1u);
  auto error = std::ranges::find(catalog.problems, true, &Problem::is_error);
  ASSERT_NE(error, catalog.problems.end());
  EXPECT_EQ(to_line(*error),
            ".crucible/agents/b.md:2: error: name: \"same\" is already defined by .crucible/agents/a.md");
}

TEST_F(RegistryTest, SeesEveryChangeAlsoOneOfTheSameSizeAtOnce) {
  for (auto description : {"one", "two", "six", "ten"}) {
    project_file("x.md", text_of("x", description));
    EXPECT_EQ(in_force("x"), description);
  }
  fs::remove(folders.project + "/x.md");
  EXPECT_EQ(in_force("x"), "");
  fs::remove_all(folders.project);
  EXPECT_EQ(look().agents.size(), 4u);
}

TEST_F(RegistryTest, DoesNotReadASettledFileTwice) {
  project_file("x.md", text_of("x", "old"));
  timespec past[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  auto path = folders.project + "/x.md";
  auto first = scan_folder(folders.project, "agents", Source::project, {});
  EXPECT_FALSE(first.read.at(path).settled) << "it was written just now";
  auto again = scan_folder(folders.project, "agents", Source::project, first.read);
  EXPECT_NE(again.read.at(path).parsed, first.read.at(path).parsed);
  first.read.at(path).settled = true;
  again = scan_folder(folders.project, "agents", Source::project, first.read);
  EXPECT_EQ(again.read.at(path).parsed, first.read.at(path).parsed);
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), past, 0), 0);
  again = scan_folder(folders.project, "agents", Source::project, first.read);
  EXPECT_NE(again.read.at(path).parsed, first.read.at(path).parsed) << "its times say that it changed";
}

TEST_F(RegistryTest, LooksAtRegularMarkdownFilesOnlyAndNeverHangs) {
  fs::create_directory(folders.project + "/folder.md");
  ASSERT_EQ(::mkfifo((folders.project + "/fifo.md").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folders.project + "/zero.md");
  fs::create_symlink(folders.project + "/fifo.md", folders.project + "/to-fifo.md");
  project_file(".hidden.md", text_of("hidden", "x"));
  project_file("notes.txt", text_of("notes", "x"));
  project_file("real.txt", text_of("linked", "by a link"));
  fs::create_symlink("real.txt", folders.project + "/linked.md");
  fs::create_symlink("loop.md", folders.project + "/loop.md");
  fs::create_symlink("nowhere", folders.project + "/dangling.md");
  auto catalog = look();
  EXPECT_EQ(in_force(catalog, "linked"), "by a link");
  EXPECT_EQ(catalog.files, 3u);
  EXPECT_EQ(catalog.skipped, 2u) << "the loop and the link to nowhere";
  EXPECT_EQ(catalog.agents.size(), 5u);
}

TEST_F(RegistryTest, WhatAsksForMoreOrHidesAnotherWaitsUntilItIsTrusted) {
  auto trusted = std::make_shared<std::map<std::string, std::string>>();
  is_trusted = [trusted](const std::string& path, std::string_view digest) {
    auto found = trusted->find(path);
    return found != trusted->end() && found->second == digest;
  };
  auto writer = "---\nname: writer\ndescription: d\npermissions: [FilesystemWrite, ProcessSpawn]\n---\nx\n";
  project_file("writer.md", writer);
  project_file("explorer.md", text_of("explorer", "hides the built-in one"));
  project_file("plain.md", text_of("plain", "only reads"));
  auto catalog = look();
  EXPECT_EQ(in_force(catalog, "plain"), "only reads");
  for (auto name : {"writer", "explorer"}) {
    EXPECT_EQ(in_force(catalog, name), "") << "nor is what it hides";
    EXPECT_EQ(catalog.find(name).error().code, Code::untrusted_content);
    EXPECT_EQ(catalog.find_enabled(name).error().code, Code::untrusted_content);
  }
  auto items = items_to_trust(folders);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].reasons, std::vector<std::string>{"overrides builtin:explorer.md"});
  EXPECT_EQ(items[1].reasons, std::vector<std::string>{"asks for FilesystemWrite, ProcessSpawn"});
  EXPECT_EQ(items[1].text, writer);
  for (const auto& item : items) (*trusted)[item.path] = sha256(item.text);
  EXPECT_EQ(in_force("writer"), "d");
  EXPECT_EQ(in_force("explorer"), "hides the built-in one");
  project_file("writer.md", std::string(writer) + "more\n");
  EXPECT_EQ(look().find("writer").error().code, Code::untrusted_content) << "one word is enough";
  project_file("explorer.md",
               "---\nname: explorer\ndescription: d\npermissions: []\nenabled: false\n---\nx\n");
  EXPECT_EQ(look().find_enabled("explorer").error().code, Code::untrusted_content)
      << "nor may it switch one off";
}

TEST_F(RegistryTest, AnEmptyCheckTrustsNothing) {
  Registry strict(thread->loop, *store, *pool, folders, {});
  project_file("explorer.md", text_of("explorer", "x"));
  auto catalog = thread->await([&] { return strict.look(); });
  EXPECT_EQ(catalog.find("explorer").error().code, Code::untrusted_content);
}

TEST_F(RegistryTest, FollowsNoLinkOutOfTheProject) {
  ASSERT_TRUE(write_file(folder / "outside.md", text_of("outside", "x")));
  fs::create_symlink(folder / "outside.md", folders.project + "/outside.md");
  auto catalog = look();
  EXPECT_EQ(in_force(catalog, "outside"), "");
  ASSERT_EQ(catalog.skipped, 1u);
  EXPECT_NE(catalog.problems.front().reason.find("is outside the project"), std::string::npos);
  fs::remove_all(folders.project);
  fs::create_directories(folder / "elsewhere");
  ASSERT_TRUE(write_file(folder / "elsewhere/guest.md", text_of("guest", "x")));
  fs::create_symlink(folder / "elsewhere", folders.project);
  EXPECT_EQ(in_force("guest"), "");
}

TEST_F(RegistryTest, LooksAtAThousandFilesAndSaysThatThereAreMore) {
  for (int i = 0; i < 1003; ++i) project_file(fmt::format("x{:04}.md", i), "x");
  auto catalog = look();
  EXPECT_EQ(catalog.files, 1000u);
  EXPECT_EQ(catalog.checked.back().stem, "x0999");
  EXPECT_EQ(to_line(catalog.problems.front()),
            ".crucible/agents:1: error: contains more than 1000 definitions");
}

TEST_F(RegistryTest, CreatesAFileOnceAndWhole) {
  fs::remove_all(folders.system);
  auto text = new_definition_text("fresh", "x y", "", {});
  auto create = [&](std::string name, std::string content, Source source) {
    return thread->await([&] { return registry->create(name, content, source); });
  };
  EXPECT_EQ(create("fresh", *text, Source::system).value_or(""), "~/.config/crucible/agents/fresh.md");
  EXPECT_EQ(create("fresh", *text, Source::project).value_or(""), ".crucible/agents/fresh.md");
  auto twice = create("fresh", *text, Source::project);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::conflict);
  EXPECT_EQ(in_force("fresh"), "x y");
  project_file("other.md", text_of("taken", "x"));
  EXPECT_EQ(create("taken", *new_definition_text("taken", "", "", {}), Source::project).error().message,
            "\"taken\" is already defined by .crucible/agents/other.md");
  EXPECT_EQ(create("../x", "text", Source::project).error().code, Code::invalid_argument);
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folders.project)) count += entry.exists();
  EXPECT_EQ(count, 2u) << "nothing is left behind";
}

// What changes is told without a restart.
TEST_F(RegistryTest, TellsOfChangesByItself) {
  project_file("bad.md", "bad");
  thread->await([&] { return registry->start(); });
  EXPECT_EQ(store->events().last(), 0) << "nothing has changed yet";
  auto next = [&](int64_t after) {
    EXPECT_TRUE(thread->pass_until(50ms, [&] { return store->events().last() > after; }));
    auto page = thread->await([&] { return store->events().read(after, {}, 10); });
    return page && !page->events.empty() ? page->events.back() : Event{};
  };
  project_file("good.md", text_of("good", "x"));
  auto event = next(0);
  EXPECT_EQ(event.type, "definitions.changed");
  EXPECT_EQ(event.data, R"({"agents":5,"skipped":1})");
  fs::remove(folders.project + "/bad.md");
  EXPECT_EQ(next(event.seq).data, R"({"agents":5,"skipped":0})");
}

}  // namespace
}  // namespace cru::definitions
