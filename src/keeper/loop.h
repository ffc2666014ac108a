#pragma once
/// The keeper's loop: one epoll, one timer set, one read buffer and one record buffer for all runs. Nothing
/// here waits for anything but epoll, except for exec to answer and for exit records that are written.
#include <sys/resource.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "keeper/connection.h"
#include "keeper/exit_record.h"
#include "keeper/run.h"
#include "platform/files/own_folder.h"
#include "platform/files/pid_file.h"
#include "platform/files/removal_watch.h"

namespace cru {

class Keeper {
 public:
  /// Takes the project: lock, socket, exit records. Outcomes: true; false if another keeper has it
  /// (`error` is empty) or something failed (`error` says what).
  bool open(const std::string& root, std::string& error);
  /// Serves until stopped, terminated or idle.
  void serve();

 private:
  static constexpr size_t read_size = 64 << 10;     // more leaves the cache: 256 KiB is a fifth slower
  static constexpr size_t max_killed_early = 1024;  // remembered
  static constexpr size_t max_memories = 256, max_memory_bytes = 64 << 10;
  enum class Kind : uint8_t {
    listener,
    signals,
    connection,
    supervisor,
    out,
    err,
    input,
    removals,
    agents_listener
  };
  struct Ended {
    ExitRecord record;
    int64_t marked = 0;
    bool grew = false, announce = false;
  };

  // loop.cc: waiting and waking
  static Fd open_folder(const Fd& parent, const char* name);
  bool listen(std::string& error);
  bool open_door(std::string& error);
  void open_agents_door();
  Fd listen_at(const std::string& name) const;
  void watch(int fd, uint32_t events, Kind kind, uint64_t slot, bool known);
  void dispatch(uint64_t tag, uint32_t events);
  int wait_millis() const;
  void fire_timers();
  void fire(Run& run);
  void arm(Run& run);
  void on_signals();
  bool should_end();

  // state_folder.cc: `.coven` under our feet
  void watch_state();
  void on_removal();
  void look_after_state();
  bool make_state_again();
  bool make_folders_again();
  bool make_records_again();
  void end_all();

  // output of runs (streams.cc)
  void on_readable(Run& run, Stream stream);
  bool take(Run& run, Stream stream, std::string_view bytes);
  bool append(Run& run);
  void end_stream(Run& run, Stream stream);
  void flush_partial(Run& run, Stream stream, bool ended);
  void watch_streams(Run& run, bool on);
  bool floor_reached(Run& run);
  void pause(Run& run, Pause reason);
  void pause(Run& run, const Output::Appended& failed);
  bool append_stalled(Run& run);
  bool take_stalled(Run& run);
  void retry(Run& run);
  void give_up_output(Run& run);
  void write_input(Run& run);
  void close_input(Run& run, std::string_view error);

  // ends of runs (ending.cc)
  void reap();
  bool owns(pid_t pid) const { return supervisors_.contains(pid) || daemons_.contains(pid); }
  void order(Run& run, const Order& order);
  void begin_end(Run& run, int signal, Duration grace);
  void tell_to_end(Run& run, int signal, Duration grace);
  void take_reports(Run& run);
  void main_ended(Run& run, int status, const rusage& usage);
  void supervisor_ended(Run& run, int status);
  bool orphans_are_gone(Run& run);
  void overdue(Run& run);
  void settle(Run& run);
  bool drain(Run& run);
  void finish(Run& run);
  void record_exits();
  ExitRecord exit_of(const Run& run) const;
  void save_exits();

  // control.cc: clients
  void on_accept(const Fd& listener, bool is_agents);
  void on_connection(uint64_t id, uint32_t events);
  void serve_lines(Connection& connection);
  void flush_connections();
  void drop(uint64_t id);
  void answer(const Asker& asker, json::object reply);
  void refuse(const Asker& asker, std::string_view code, std::string_view message, json::object more = {});
  void notice_growth(Run& run);
  void queue_notice(Run& run);
  void send_notices();
  bool notices_ready() const;
  void send_notice(Connection& daemon, Run& run);
  void send_notice(Connection& daemon, Ended& ended);

  // requests.cc
  void handle(const Asker& asker, const json::object& request);
  void hello(const Asker& asker, const json::object& request);
  void start(const Asker& asker, const json::object& request);
  void write(const Asker& asker, const json::object& request, Run& run);
  void on_run(const Asker& asker, std::string_view op, const json::object& request, Run& run);
  void forget(const Asker& asker, const std::string& uid);
  void start_daemon(const Asker& asker);
  void refuse_start(const std::string& uid);
  void remember(const Asker& asker, const json::object& request);
  void recall(const Asker& asker, const json::object& request);
  json::object describe(const Run& run) const;

  std::string timestamp() const;

  Fd root_, exits_folder_, runs_lock_, epoll_, listener_, agents_listener_, signals_;
  StateFolder state_;  ///< `.coven`
  ServingLock lock_;
  RemovalWatch removals_;
  BootTime state_at_ = never;  ///< when it is looked what is missing in `.coven`
  std::string boot_id_;
  const void* heap_ = nullptr;  ///< where ours begins
  rlimit open_files_{};
  std::unordered_map<std::string, std::unique_ptr<Run>> runs_;
  std::unordered_map<uint64_t, Run*> slots_;
  std::unordered_map<pid_t, Run*> supervisors_, mains_;
  std::map<std::string, Ended> ended_;
  std::set<pid_t> daemons_;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::set<std::pair<BootTime, uint64_t>> timers_;
  std::vector<std::string> finished_;  ///< in this wake-up
  std::vector<std::string> unsaved_;   ///< of `ended_`: those that may have no file yet
  std::deque<std::string> notices_;
  std::unique_ptr<char[]> read_buffer_;
  RecordBuffer records_;
  BootTime now_{0}, idle_at_ = never, save_at_ = never, listen_at_ = never, give_up_at_ = never;
  uint64_t next_slot_ = 1, daemon_ = 0;
  BootTime disk_full_until_{0};                ///< no run is read from before, unless a write works again
  std::deque<std::string> killed_early_;       ///< uids whose kill came before their start
  std::map<std::string, std::string> memory_;  ///< what the daemon wants to find again; in no file
  bool stopping_ = false, terminating_ = false;
};

}  // namespace cru
