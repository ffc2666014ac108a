#include "crew/permission_proposal.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru::crew {
namespace {

using approvals::Undo;

TEST(PermissionProposal, WhetherAShellCommandCanBeUndoneIsToldByItsWords) {
  auto undo = [](std::string_view command) {
    return propose_permission("Bash", {{"command", command}}, "/p").undo;
  };
  EXPECT_EQ(undo("make"), Undo::unknown);
  EXPECT_EQ(undo("git log | cat; git push"), Undo::irreversible);
  EXPECT_EQ(undo("cat a.txt | wc -l"), Undo::reversible);
}

TEST(PermissionProposal, AShellCommandIsShownWithItsFolder) {
  auto proposal = propose_permission("Bash", {{"command", "rm -r build"}, {"description", "Cleans"}}, "/p");
  EXPECT_EQ(proposal.preview.kind, "command");
  EXPECT_EQ(proposal.preview.text,
            "in /p\nnot covered: the programs behind these names, which only the agent's shell knows: rm\n"
            "$ rm -r build\n");
  EXPECT_NE(propose_permission("Bash", {{"command", "$X a"}}, "/p")
                .preview.text.find("not covered: the programs that it runs, which are not certain: "),
            std::string::npos);
  EXPECT_EQ(proposal.undo, Undo::irreversible);
  auto other = propose_permission("Bash", {{"command", "rm -r build"}, {"description", "Tidies up"}}, "/p");
  EXPECT_EQ(digest_of(proposal), digest_of(other)) << "what a model says of it changes from call to call";
  EXPECT_NE(digest_of(proposal), digest_of(propose_permission("Bash", proposal.input, "/q")));
}

TEST(PermissionProposal, AFieldThatIsCalledCommandMakesNoShellOfATool) {
  json::object input{{"owner", "me"}, {"repo", "production"}, {"command", "ls"}};
  auto proposal = propose_permission("mcp__github__delete_repository", input, "/p");
  EXPECT_EQ(proposal.undo, Undo::unknown);
  EXPECT_EQ(proposal.preview.kind, "text");
  EXPECT_NE(proposal.what.find("mcp__github__delete_repository"), std::string::npos) << proposal.what;
  for (auto part : {"mcp__github__delete_repository", "production", "ls"})
    EXPECT_NE(proposal.preview.text.find(part), std::string::npos) << proposal.preview.text;
  EXPECT_EQ(propose_permission("Bash", {{"command", "ls"}}, "/p").undo, Undo::reversible);
}

TEST(PermissionProposal, AStatementIsShownWithAllThatStandsBesideIt) {
  auto proposal =
      propose_permission("mcp__db__execute", {{"statement", "SELECT 1"}, {"sql", "DROP TABLE users"}}, "/p");
  EXPECT_NE(proposal.preview.text.find("DROP TABLE users"), std::string::npos) << proposal.preview.text;
  EXPECT_EQ(proposal.undo, Undo::irreversible);
  auto deep =
      propose_permission("mcp__db__batch", {{"all", json::array{json::object{{"q", "truncate a"}}}}}, "/p");
  EXPECT_EQ(deep.undo, Undo::irreversible);
  EXPECT_EQ(propose_permission("mcp__db__execute", {{"statement", "SELECT 1"}}, "/p").undo, Undo::unknown);
}

TEST(PermissionProposal, WhateverStandsBesideACommandIsShownAndNeverCountsAsReversible) {
  auto proposal =
      propose_permission("Bash", {{"command", "ls"}, {"dangerouslyDisableSandbox", true}, {"x\ny", 1}}, "/p");
  EXPECT_TRUE(proposal.preview.text.starts_with(
      "in /p\nwith \"dangerouslyDisableSandbox\": true\nwith \"x\\ny\": 1\n"))
      << proposal.preview.text;
  EXPECT_EQ(proposal.undo, Undo::unknown);
  EXPECT_NE(proposal.undo_why.find("dangerouslyDisableSandbox"), std::string::npos) << proposal.undo_why;
  json::object advised{{"command", "ls"}, {"description", "Lists"}, {"timeout", 5}};
  EXPECT_EQ(propose_permission("Bash", advised, "/p").undo, Undo::reversible);
  EXPECT_EQ(propose_permission("Bash", {{"command", "rm a"}, {"run_in_background", true}}, "/p").undo,
            Undo::irreversible);
  // What cannot be shown whole is not known.
  EXPECT_EQ(propose_permission("Bash", {{"command", "ls " + std::string(300 << 10, 'a')}}, "/p").undo,
            Undo::unknown);
}

TEST(PermissionProposal, WhateverStandsBesideAFileIsShownToo) {
  TemporaryFolder folder;
  json::object input{{"file_path", "a.txt"}, {"content", "x\n"}};
  EXPECT_EQ(propose_permission("Write", input, folder.path()).undo, Undo::reversible);
  input["mode"] = "0777";
  auto written = propose_permission("Write", input, folder.path());
  EXPECT_EQ(written.preview.kind, "diff");
  EXPECT_TRUE(written.preview.text.starts_with("with \"mode\": \"0777\"\n")) << written.preview.text;
  EXPECT_EQ(written.undo, Undo::unknown);
  auto patched = propose_permission(
      "apply_patch",
      {{"command", "*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch"}, {"workdir", "/etc"}},
      folder.path());
  EXPECT_NE(patched.preview.text.find("with \"workdir\": \"/etc\"\n"), std::string::npos);
  EXPECT_EQ(patched.undo, Undo::unknown);
}

TEST(PermissionProposal, WhereNobodyKnowsTheFolderNothingRelativeIsCovered) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "deploy.sh", "echo good\n"));
  auto propose = [&](std::string tool, json::object input, bool keeps_folder, std::string agent = {}) {
    json::object context{{"tool", tool}, {"input", input}, {"agent_id", agent}};
    return propose_permission_of_run(to_text(context), "", folder.path(), keeps_folder);
  };
  auto known = propose("Bash", {{"command", "cat deploy.sh"}}, true);
  EXPECT_TRUE(known.preview.text.starts_with("in " + folder.path() + "\n")) << known.preview.text;
  EXPECT_EQ(known.files.size(), 1u);
  EXPECT_EQ(known.undo, Undo::reversible);
  for (const auto& lost : {propose("Bash", {{"command", "cat deploy.sh"}}, false),
                           propose("Bash", {{"command", "cat deploy.sh"}}, true, "a subagent")}) {
    EXPECT_TRUE(lost.preview.text.starts_with("in a folder that is not known")) << lost.preview.text;
    EXPECT_TRUE(lost.files.empty());
    EXPECT_EQ(lost.undo, Undo::unknown);
    EXPECT_EQ(digest_of(propose_again(lost, lost.input)), digest_of(lost));
  }
  auto whole = propose("Bash", {{"command", "cat " + folder / "deploy.sh"}}, false);
  EXPECT_EQ(whole.files.size(), 1u) << "an absolute path is the same everywhere";
  EXPECT_EQ(whole.undo, Undo::unknown);
  json::object written{{"file_path", "a.txt"}, {"content", "x"}};
  EXPECT_EQ(propose("Write", written, false).undo, Undo::unknown);
  written["file_path"] = folder / "a.txt";
  EXPECT_EQ(propose("Write", written, false).undo, Undo::reversible);
  EXPECT_EQ(propose("Write", written, false).folder, folder.path());
}

TEST(PermissionProposal, ABareNameIsTheProgramThatTheAgentsPathLeadsTo) {
  TemporaryFolder folder;
  auto program = [&](const std::string& name, std::string_view text) {
    ASSERT_TRUE(write_file(folder / name, text, 0755));
  };
  ASSERT_TRUE(make_folder(folder / "first") && make_folder(folder / "second"));
  program("second/deploy", "#!/bin/sh\n");
  auto path = folder / "first" + ":" + folder / "second" + ":/usr/bin";
  auto propose = [&](std::string_view command) {
    return propose_permission("Bash", {{"command", command}}, folder.path(), path);
  };
  auto shown = propose("deploy now && deploy again && perhaps");
  EXPECT_EQ(shown.preview.text,
            "in " + folder.path() + "\nprogram: deploy is " + folder / "second/deploy" +
                "\nprogram: perhaps is not in the PATH of its agent, so it is the shell's own\n"
                "$ deploy now && deploy again && perhaps\n");
  ASSERT_EQ(shown.files.size(), 1u);
  EXPECT_EQ(shown.files[0].path, folder / "second/deploy");
  program("second/deploy", "#!/bin/sh\nrm -rf .\n");
  auto digest = [&] { return digest_of(propose_again(shown, shown.input)); };
  auto changed = digest();
  EXPECT_NE(changed, digest_of(shown)) << "the program is another one";
  program("first/deploy", "#!/bin/sh\n");
  EXPECT_NE(digest(), changed) << "another program comes first";
  // The name of a program of the system is not that program.
  EXPECT_EQ(propose("ls").undo, Undo::reversible);
  program("first/ls", "#!/bin/sh\n");
  EXPECT_EQ(propose("ls").undo, Undo::unknown);
}

TEST(PermissionProposal, APatchCoversTheFilesThatItNames) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "a.txt", "one\n"));
  json::object input{{"command",
                      "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: b.txt\n+new\n"
                      "*** End Patch"}};
  auto proposal = propose_permission("apply_patch", input, folder.path());
  ASSERT_EQ(proposal.files.size(), 2u);
  EXPECT_EQ(proposal.files[0].path, folder / "a.txt");
  EXPECT_TRUE(proposal.files[1].sha256.empty()) << "there is no such file yet";
  EXPECT_EQ(proposal.undo, Undo::reversible);
  ASSERT_TRUE(write_file(folder / "a.txt", "other\n"));
  EXPECT_NE(digest_of(propose_permission("apply_patch", input, folder.path())), digest_of(proposal));
}

TEST(PermissionProposal, AToolThatChangesAFileNamesItWhateverBecomesOfIt) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "a.txt", "one\n"));
  ASSERT_TRUE(make_folder(folder / "sub"));
  std::filesystem::create_symlink(folder / "a.txt", folder / "sub/link");
  for (auto [tool, field] : {std::pair{"MultiEdit", "file_path"}, std::pair{"NotebookEdit", "notebook_path"},
                             std::pair{"Edit", "file_path"},  // with a text that is not there
                             std::pair{"mcp__cru__write_file", "path"}})
    for (const auto& path : {folder / "a.txt", std::string("../a.txt"), folder / "sub/link"}) {
      auto proposal = propose_permission(tool, {{field, path}, {"old_string", "none"}}, folder / "sub");
      ASSERT_EQ(proposal.files.size(), 1u) << tool;
      EXPECT_EQ(proposal.files[0].path, folder / "a.txt") << tool;
    }
  EXPECT_TRUE(propose_permission("Read", {{"file_path", folder / "a.txt"}}, folder.path()).files.empty());
}

TEST(PermissionProposal, APatchThatDeletesCannotBeUndone) {
  auto proposal = propose_permission(
      "apply_patch", {{"command", "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"}}, "/p");
  EXPECT_EQ(proposal.what, "patch a.txt");
  EXPECT_EQ(proposal.undo, Undo::irreversible);
}

TEST(PermissionProposal, AHeaderThatCodexTakesIsTakenHoweverItIsIndented) {
  for (std::string indent : {"   ", "\t", "\xc2\xa0", " \xe3\x80\x80\r"}) {
    auto proposal = propose_permission("apply_patch",
                                       {{"command", "*** Begin Patch\n*** Add File: a.txt\n+new\n" + indent +
                                                        "*** Delete File: b.txt \n*** End Patch"}},
                                       "/p");
    EXPECT_EQ(proposal.undo, Undo::irreversible) << indent;
    ASSERT_EQ(proposal.files.size(), 2u) << indent;
    EXPECT_EQ(proposal.files[1].path, "/p/b.txt");
  }
}

TEST(PermissionProposal, APatchThatReplacesAFileCannotBeUndone) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "a.txt", "one\n"));
  ASSERT_TRUE(write_file(folder / "b.txt", "two\n"));
  auto undo = [&](std::string_view body) {
    auto text = "*** Begin Patch\n" + std::string(body) + "*** End Patch";
    return propose_permission("apply_patch", {{"command", text}}, folder.path());
  };
  auto added = undo("*** Add File: a.txt\n+new\n");
  EXPECT_EQ(added.undo, Undo::irreversible) << "Codex overwrites it";
  EXPECT_EQ(added.undo_why, "it replaces a.txt, whose content is not in the patch");
  EXPECT_EQ(undo("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+1\n").undo, Undo::irreversible);
  EXPECT_EQ(undo("*** Update File: a.txt\n*** Move to: c.txt\n@@\n-one\n+1\n").undo, Undo::reversible);
}

TEST(PermissionProposal, ACommandIsBoundToTheFilesThatItNames) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "deploy.sh", "echo one\n"));
  ASSERT_TRUE(write_file(folder / "book.ipynb", "{}\n"));
  auto digest = [&](std::string_view tool, json::object input) {
    return digest_of(propose_permission(std::string(tool), std::move(input), folder.path()));
  };
  auto run = [&](std::string_view command) { return digest("Bash", {{"command", command}}); };
  auto script = run("ls && ./deploy.sh"), quoted = run("sudo sh -c './deploy.sh x'"), other = run("make");
  auto book = digest("NotebookEdit", {{"notebook_path", "book.ipynb"}, {"new_source", "x"}});
  ASSERT_TRUE(write_file(folder / "deploy.sh", "rm -rf /\n"));
  ASSERT_TRUE(write_file(folder / "book.ipynb", "{ }\n"));
  EXPECT_NE(run("ls && ./deploy.sh"), script);
  EXPECT_NE(run("sudo sh -c './deploy.sh x'"), quoted);
  EXPECT_EQ(run("make"), other);
  EXPECT_NE(digest("NotebookEdit", {{"notebook_path", "book.ipynb"}, {"new_source", "x"}}), book);
}

TEST(PermissionProposal, ALinkThatLeadsToNothingIsTheFileThatWouldBeMade) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("../elsewhere/new.txt", folder / "harmless.txt");
  auto target = std::filesystem::path(folder.path()).parent_path().string() + "/elsewhere/new.txt";
  json::object input{{"file_path", "harmless.txt"}, {"content", "x\n"}};
  auto written = propose_permission("Write", input, folder.path());
  EXPECT_EQ(written.what, "create " + target);
  ASSERT_EQ(written.files.size(), 1u);
  EXPECT_EQ(written.files[0].path, target);
  EXPECT_NE(written.impact.find("harmless.txt leads to " + target), std::string::npos) << written.impact;
  auto patched = propose_permission(
      "apply_patch", {{"command", "*** Begin Patch\n*** Add File: harmless.txt\n+x\n*** End Patch"}},
      folder.path());
  ASSERT_EQ(patched.files.size(), 1u);
  EXPECT_EQ(patched.files[0].path, target);
  EXPECT_NE(patched.preview.text.find("harmless.txt leads to " + target), std::string::npos);
  // Another target is another approval.
  std::filesystem::remove(folder / "harmless.txt");
  std::filesystem::create_symlink("other.txt", folder / "harmless.txt");
  EXPECT_NE(digest_of(propose_permission("Write", input, folder.path())), digest_of(written));
  // A loop is nobody's file: shown as the program says it, and not as one that can be undone.
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_EQ(propose_permission("Write", {{"file_path", "loop"}, {"content", "x"}}, folder.path()).undo,
            Undo::unknown);
}

TEST(PermissionProposal, AChangedEditIsLookedAtLikeTheFirst) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "a.txt", "one\n"));
  json::object input{
      {"file_path", folder / "a.txt"}, {"old_string", "one"}, {"new_string", "two"}, {"of_tomorrow", 1}};
  approvals::Approval approval;
  approval.request.schema = schema_of_claude_tool("Edit");
  approval.request.proposal = propose_permission("Edit", input, folder.path());
  auto with = [&](std::string_view field, json::value value) {
    auto changed = input;
    changed[field] = std::move(value);
    return propose_changed_permission(approval, changed);
  };
  auto good = with("new_string", "three");
  ASSERT_TRUE(good);
  EXPECT_NE(good->preview.text.find("+three"), std::string::npos);
  EXPECT_TRUE(good->input.contains("of_tomorrow")) << "what is not known stays";
  EXPECT_EQ(with("old_string", "not there").error().field, "set");
  EXPECT_EQ(with("replace_all", "yes").error().field, "replace_all");
  EXPECT_EQ(schema_of_claude_tool("mcp__cru__submit_work"), "");
}

}  // namespace
}  // namespace cru::crew
