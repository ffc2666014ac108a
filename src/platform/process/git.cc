#include "platform/process/git.h"

#include <algorithm>
#include <array>

extern char** environ;

namespace cru {
namespace {

std::vector<std::string> environment_for_git(GitUse use) {
  constexpr std::array<std::string_view, 9> kept = {"PATH", "HOME", "USER",   "LOGNAME",        "LANG",
                                                    "TZ",   "TERM", "TMPDIR", "XDG_CONFIG_HOME"};
  std::vector<std::string> out{"GIT_TERMINAL_PROMPT=0"};
  if (use == GitUse::looks) {
    out.emplace_back("GIT_NO_LAZY_FETCH=1");
    out.emplace_back("GIT_OPTIONAL_LOCKS=0");
  }
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    auto name = text.substr(0, text.find('='));
    if (name.starts_with("LC_") || std::ranges::find(kept, name) != kept.end()) out.emplace_back(text);
  }
  return out;
}

}  // namespace

Result<ProgramResult> run_git(GitUse use, const std::vector<std::string>& words, const std::string& folder,
                              Duration limit) {
  // What is said here goes before every file's word. A folder that merely looks like a repository is none.
  std::vector<std::string> argv{"git", "--no-pager",           "-c", "core.hooksPath=/dev/null",
                                "-c",  "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"};
  if (use == GitUse::looks)
    argv.insert(argv.end(), {"-c", "log.showSignature=false", "-c", "protocol.allow=never"});
  argv.insert(argv.end(), words.begin(), words.end());
  return run_program(argv, folder, limit, environment_for_git(use));
}

}  // namespace cru
