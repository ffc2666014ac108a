#pragma once
/// For tests: recorded lines, and a keeper whose processes print what the test says.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "minds/mind_fixture.h"
#include "platform/files/files.h"
#include "platform/loop/loop.h"
#include "runs/keeper.h"

namespace cru::minds {

using Words = std::vector<std::string>;

inline Request task(std::string text) {
  auto request = request_saying(std::move(text));
  request.model.id = "model-1";
  request.system = "Be kind.";
  return request;
}

inline Provider provider_of(ProviderKind kind) {
  Provider provider;
  provider.name = name(kind);
  provider.kind = kind;
  return provider;
}

inline Abilities can(bool write, bool network, bool process) {
  return {.write = write,
          .network = network,
          .process = process,
          .spawn = false,
          .is_confined = false,
          .tools = {},
          .disallowed_tools = {}};
}

/// The lines of a recording in tests/fixtures/minds.
inline std::vector<std::string> recorded(const std::string& name) {
  std::vector<std::string> lines;  // the test program, or its folder, is somewhere below the project
  for (auto at : {std::filesystem::current_path(), std::filesystem::read_symlink("/proc/self/exe")})
    for (; lines.empty() && at.has_relative_path(); at = at.parent_path()) {
      std::ifstream in(at / "tests/fixtures/minds" / name);
      for (std::string line; std::getline(in, line);) lines.push_back(line);
    }
  EXPECT_FALSE(lines.empty()) << name;
  return lines;
}

/// Starts whatever it is asked to; what that prints and how it ends is the test's to say.
class PrintingKeeper final : public runs::Keeper {
 public:
  PrintingKeeper(Loop& loop, std::string root) : loop_(loop), root_(std::move(root)) {}
  void set_notices(runs::KeeperNotices notices) override { notices_ = std::move(notices); }
  Task<Result<std::optional<std::vector<runs::KeptRun>>>> join() override {
    co_return std::optional<std::vector<runs::KeptRun>>();
  }
  Task<Result<ProcessIdentity>> start(runs::StartSpec spec) override {
    specs.push_back(spec);
    for (const auto& [stream, line] : prints) print(stream, line);
    if (exits) loop_.post([this] { end({*exits, {}, "exited", seq_}); });
    co_return ProcessIdentity{static_cast<int64_t>(100 + specs.size()), 1, "boot"};
  }
  Task<Result<>> kill(std::string, Duration) override {
    kills++;
    loop_.post([this] { end({{}, 15, "signaled", seq_}); });
    co_return Result<>();
  }
  Task<Result<>> write(std::string, std::string, std::string bytes, bool eof) override {
    if (is_closed) co_return fail(Code::conflict, "standard input is closed");
    input += bytes;
    is_closed = eof;
    co_return Result<>();
  }
  Task<Result<bool>> has_taken(std::string, std::string) override { co_return false; }
  Task<Result<>> resize(std::string, int64_t, int64_t) override { co_return Result<>(); }
  Task<Result<>> forget(std::string) override { co_return Result<>(); }
  Task<void> remember(std::string, std::string) override { co_return; }
  Task<std::map<std::string, std::string>> recall() override {
    co_return std::map<std::string, std::string>();
  }
  Task<std::vector<runs::KeptRun>> read_exit_records() override { co_return std::vector<runs::KeptRun>(); }
  Task<std::set<std::string>> sweep(std::vector<std::string>) override { co_return std::set<std::string>(); }
  int64_t pid() const override { return 1; }

  void print(const std::string& stream, const std::string& line) {
    std::ofstream out(root_ + "/" + specs.back().output, std::ios::app);
    json::object record{
        {"seq", ++seq_}, {"ts", "2026-11-15T10:00:00.000Z"}, {"stream", stream}, {"data", line}};
    out << to_text(record) << "\n";
    out.close();
    if (notices_.grew) notices_.grew({specs.back().uid, seq_, 0});
  }
  void end(runs::Exit exit) {
    if (notices_.exited) notices_.exited(specs.back().uid, exit);
  }

  std::vector<runs::StartSpec> specs;
  std::vector<std::pair<std::string, std::string>> prints;
  std::optional<int64_t> exits = 0;
  std::string input;
  bool is_closed = false;
  int kills = 0;

 private:
  Loop& loop_;
  const std::string root_;
  runs::KeeperNotices notices_;
  int64_t seq_ = 0;
};

}  // namespace cru::minds
