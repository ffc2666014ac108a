#include "crew/permission_proposal.h"

#include <gtest/gtest.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru::crew {
namespace {

using approvals::Undo;

TEST(PermissionProposal, AShellCommandIsShownWithItsFolderAndCannotBeUndone) {
  auto proposal = propose_permission("Bash", {{"command", "rm -r build"}, {"description", "Cleans"}}, "/p");
  EXPECT_EQ(proposal.preview.kind, "command");
  EXPECT_EQ(proposal.preview.text, "in /p\n$ rm -r build\n");
  EXPECT_EQ(proposal.undo, Undo::unknown);
  auto other = propose_permission("Bash", {{"command", "rm -r build"}, {"description", "Tidies up"}}, "/p");
  EXPECT_EQ(digest_of(proposal), digest_of(other)) << "what a model says of it changes from call to call";
  EXPECT_NE(digest_of(proposal), digest_of(propose_permission("Bash", proposal.input, "/q")));
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

TEST(PermissionProposal, APatchThatDeletesCannotBeUndone) {
  auto proposal = propose_permission(
      "apply_patch", {{"command", "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"}}, "/p");
  EXPECT_EQ(proposal.what, "patch a.txt");
  EXPECT_EQ(proposal.undo, Undo::irreversible);
}

}  // namespace
}  // namespace cru::crew
