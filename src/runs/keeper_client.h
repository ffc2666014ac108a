#pragma once
/// KeeperClient: the keeper over its control socket (docs/formats/keeper.md).
/// Starts the keeper when the first process is to be started, joins one that runs.
#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "platform/files/fd.h"
#include "platform/files/pid_file.h"
#include "platform/loop/loop.h"
#include "platform/loop/pool.h"
#include "runs/keeper.h"

namespace cru::runs {

class KeeperClient final : public Keeper {
 public:
  /// `program` is our own executable.
  KeeperClient(Loop& loop, Pool& pool, std::string root, std::string program);
  ~KeeperClient() override;

  void set_notices(KeeperNotices notices) override { notices_ = std::move(notices); }
  Task<Result<std::optional<std::vector<KeptRun>>>> join() override;
  Task<Result<ProcessIdentity>> start(StartSpec spec) override;
  Task<Result<>> kill(std::string uid, Duration grace) override;
  Task<Result<>> write(std::string uid, std::string delivery, std::string bytes, bool eof) override;
  Task<Result<bool>> has_taken(std::string uid, std::string delivery) override;
  Task<Result<>> resize(std::string uid, int64_t rows, int64_t cols) override;
  Task<Result<>> forget(std::string uid) override;
  Task<void> remember(std::string key, std::string text) override;
  Task<std::map<std::string, std::string>> recall() override;
  Task<std::vector<KeptRun>> read_exit_records() override;
  Task<std::set<std::string>> sweep(std::vector<std::string> uids) override;
  int64_t pid() const override { return pid_; }

  /// It is there and has not said a word for `silence_limit`, though it was asked something. Over when it
  /// says one, or is gone.
  bool is_silent() const { return is_silent_; }
  /// Called when that changes.
  void when_silent(std::function<void()> changed) { silence_changed_ = std::move(changed); }
  static constexpr Duration silence_limit = 5s;

 private:
  using Reply = Result<json::object>;
  Task<Reply> request(json::object message, Duration limit = 30s);
  Task<Result<>> simple_request(json::object message, Duration limit = 30s);
  Task<Reply> hello();
  Task<void> send_memory(std::string key, std::string text);
  Task<Result<>> ensure();
  Task<Result<>> launch_keeper();
  Task<std::set<std::string>> wait_for_supervisors(std::vector<std::string> uids);
  Task<bool> connect();
  Task<std::optional<PidFileHolder>> find_server();
  void disconnect(const std::string& why);
  void await_readable();
  void read_some();
  void handle_line(std::string_view line);
  void handle_notice(const json::object& notice);
  void expect_word();
  Task<void> fall_silent();
  void heard();
  void flush();

  Loop& loop_;
  Pool& pool_;
  const std::string root_;
  const std::string program_;
  KeeperNotices notices_;
  Fd socket_;
  std::unique_ptr<Watch> watch_;
  std::string incoming_;
  std::string outgoing_;
  bool writing_ = false;
  int64_t last_id_ = 0;
  int64_t pid_ = 0;
  bool has_joined_ = false;    ///< the keeper has told us what it holds, so its loss is news
  bool builds_jails_ = false;  ///< an older keeper would start what should be jailed without a jail
  bool remembers_ = false;     ///< an older keeper does not
  std::map<std::string, std::string> memory_;  ///< what the keeper is to remember
  bool launching_ = false;
  bool is_silent_ = false, is_suspected_ = false;
  Loop::TimerId silence_timer_ = 0;
  std::function<void()> silence_changed_;
  Signal launched_;
  std::map<int64_t, Completion<Reply>::Handle> waiting_;
};

}  // namespace cru::runs
