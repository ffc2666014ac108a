#pragma once
/// The command line in a test's own process, with a daemon that the test answers for.
#include <string>
#include <vector>

#include "edges/cli/core/cli.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/client/fake_daemon_fixture.h"

namespace cru::cli {

using client::always;
using client::FakeDaemon;
using client::FakeReply;
using client::FakeRequest;

/// What a verb left behind.
struct Outcome {
  int code = 0;
  std::string out, err;
};

class CliTest : public client::ProjectTest {
 protected:
  /// Carries out `cru WORDS` in this process, in the test's project.
  Outcome cru(std::vector<std::string> words) {
    words.insert(words.begin(), {"--project", project.root});
    return cru_here(std::move(words));
  }
  /// The same in the project of the current folder.
  Outcome cru_here(std::vector<std::string> words) {
    words.insert(words.begin(), "cru");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.code = run(command_table(), static_cast<int>(argv.size()), argv.data());
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }
};

}  // namespace cru::cli
