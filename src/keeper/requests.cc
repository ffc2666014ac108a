// What clients may ask: docs/formats/keeper.md.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/id.h"
#include "keeper/loop.h"
#include "keeper/tree.h"

namespace cru {
namespace {

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

/// The parts of `start` that the process itself is made of. Empty error if it can be tried.
std::string read_command(const json::object& request, SpawnRequest& command) {
  const json::array* argv = array_at(request, "argv");
  if (!argv || argv->empty()) return "argv must be a list of at least one string";
  for (const auto& value : *argv) {
    if (!value.is_string() || has_nul(value.as_string())) return "argv must contain strings without NUL";
    command.argv.emplace_back(value.as_string());
  }
  if (command.argv[0].empty()) return "argv[0] is empty";
  if (const json::object* env = object_at(request, "env"))
    for (const auto& [name, value] : *env) {
      if (!value.is_string() || has_nul(value.as_string()) || has_nul(name) || name.contains('='))
        return "env must contain strings without NUL, and names without '='";
      command.env.push_back(std::string(name) + "=" + std::string(value.as_string()));
    }
  command.cwd = text_or(request, "cwd", ".");
  command.pty = bool_or(request, "pty");
  command.stdin_pipe = text_or(request, "stdin", "pipe") != "null";
  command.private_stdio = bool_or(request, "private_stdio");
  command.rows = static_cast<unsigned short>(std::clamp<int64_t>(int_or(request, "rows", 24), 1, 9999));
  command.cols = static_cast<unsigned short>(std::clamp<int64_t>(int_or(request, "cols", 80), 1, 9999));
  if (has_nul(command.cwd)) return "cwd contains NUL";
  const auto* jail = request.if_contains("jail");
  if (!jail) return {};
  auto understood = jail->is_object() ? jail_from(jail->get_object()) : fail(Code::invalid_argument, "jail");
  if (!understood) return understood.error().message;
  command.jail = *std::move(understood);
  return {};
}

/// Why a run's output cannot be written, in words: its start is refused for it.
std::string why_no_output(const std::string& path, int error) {
  if (error == ELOOP) return path + " is a symbolic link, which is not followed";
  if (error == EACCES || error == EPERM) return path + " may not be written: does it belong to another user?";
  if (error == ENOSPC || error == EDQUOT) return "there is no space on the disk for " + path;
  if (error == EBUSY) return path + " is in use";
  return path + ": " + std::strerror(error);
}

json::object started(const std::string& uid, int64_t pid, int64_t start_time, const std::string& boot_id,
                     int64_t first_seq) {
  return {
      {"uid", uid}, {"pid", pid}, {"start_time", start_time}, {"boot_id", boot_id}, {"first_seq", first_seq}};
}

}  // namespace

void Keeper::handle(const Asker& asker, const json::object& request) {
  std::string_view op = text_or(request, "op");
  if (op == "hello") return hello(asker, request);
  if (op == "start") return start(asker, request);
  if (op == "forget") return forget(asker, std::string(text_or(request, "uid")));
  if (op == "start_daemon") return start_daemon(asker);
  if (op == "remember") return remember(asker, request);
  if (op == "recall") return recall(asker, request);
  if (op == "stop") {
    if (!runs_.empty()) return refuse(asker, "busy", "runs are active");
    save_at_ = now_;
    save_exits();
    if (!unsaved_.empty()) return refuse(asker, "busy", "the end of a run is not saved yet");
    stopping_ = true;
    return answer(asker, {});
  }
  for (std::string_view known : {"kill", "signal", "write", "has_taken", "resize"}) {
    if (op != known) continue;
    std::string uid(text_or(request, "uid"));
    if (auto run = runs_.find(uid); run != runs_.end()) return on_run(asker, op, request, *run->second);
    if (!ended_.contains(uid)) {
      if (op == "kill") refuse_start(uid);
      return refuse(asker, "not_found", "no run has this uid");
    }
    return op == "kill" ? answer(asker, {}) : refuse(asker, "not_running", "the run has ended");
  }
  refuse(asker, "unknown_op", "unknown operation");
}

/// Whoever kills a uid that is not there has given up on its start, which may still be on its way through
/// another connection.
void Keeper::refuse_start(const std::string& uid) {
  if (!is_task_id(uid) || std::ranges::find(killed_early_, uid) != killed_early_.end()) return;
  killed_early_.push_back(uid);
  if (killed_early_.size() > max_killed_early) killed_early_.pop_front();
}

void Keeper::remember(const Asker& asker, const json::object& request) {
  std::string key(text_or(request, "key")), text(text_or(request, "text"));
  if (key.empty() || key.size() > 256 || text.size() > max_memory_bytes)
    return refuse(asker, "invalid_argument", "key or text");
  if (text.empty()) {
    memory_.erase(key);
    return answer(asker, {});
  }
  if (!memory_.contains(key) && memory_.size() >= max_memories)
    return refuse(asker, "memory_full", "too much is remembered already");
  memory_[key] = std::move(text);
  answer(asker, {});
}

void Keeper::recall(const Asker& asker, const json::object& request) {
  if (request.contains("key")) {
    auto found = memory_.find(std::string(text_or(request, "key")));
    return answer(asker, {{"text", found == memory_.end() ? "" : found->second}});
  }
  json::array keys;
  for (const auto& [key, text] : memory_) keys.emplace_back(key);
  answer(asker, {{"keys", std::move(keys)}});
}

json::object Keeper::describe(const Run& run) const {
  return {{"uid", run.uid},
          {"task_id", run.task_id},
          {"pid", run.pid},
          {"start_time", run.start_time},
          {"boot_id", boot_id_},
          {"last_seq", run.written_seq},
          {"bytes", run.output.bytes()},
          {"state", run.main_alive ? "running" : "ending"}};
}

void Keeper::hello(const Asker& asker, const json::object& request) {
  json::array runs;
  for (const auto& [uid, run] : runs_) runs.push_back(describe(*run));
  for (const auto& [uid, ended] : ended_) {
    const ExitRecord& record = ended.record;
    runs.push_back({{"uid", uid},
                    {"task_id", record.task_id},
                    {"pid", record.pid},
                    {"start_time", record.start_time},
                    {"boot_id", record.boot_id},
                    {"last_seq", record.last_seq},
                    {"bytes", record.bytes},
                    {"state", "exited"},
                    {"exit", to_json(record)}});
  }
  if (text_or(request, "role") == "daemon") {
    daemon_ = asker.connection;
    connections_.at(daemon_)->was_daemon = true;
    for (auto& [uid, ended] : ended_) ended.grew = ended.announce = false;  // this answer says it
    for (auto& [uid, run] : runs_) {
      run->announced_pause = Pause::none;  // a new daemon has not heard of it
      if (run->pause != Pause::none) queue_notice(*run);
    }
  }
  answer(asker, {{"protocol", 1},
                 {"version", CRU_VERSION},
                 {"pid", getpid()},
                 {"boot_id", boot_id_},
                 {"features", {"jail-2", "memory"}},
                 {"remembers", memory_.size()},
                 {"runs", std::move(runs)}});
}

void Keeper::start(const Asker& asker, const json::object& request) {
  std::string uid(text_or(request, "uid")), task_id(text_or(request, "task_id"));
  std::string path(text_or(request, "output"));
  if (!is_task_id(uid) || !is_task_id(task_id)) return refuse(asker, "invalid_argument", "uid or task_id");
  if (auto known = runs_.find(uid); known != runs_.end()) {
    const Run& run = *known->second;
    return answer(asker, started(uid, run.pid, run.start_time, boot_id_, run.first_seq));
  }
  if (auto known = ended_.find(uid); known != ended_.end()) {
    const ExitRecord& record = known->second.record;
    return answer(asker, started(uid, record.pid, record.start_time, record.boot_id, record.first_seq));
  }
  if (terminating_ || stopping_) return refuse(asker, "stopping", "the keeper is stopping");
  if (std::ranges::find(killed_early_, uid) != killed_early_.end())
    return refuse(asker, "killed", "the run was killed before it started");
  if (asker.connection != daemon_ && connections_.at(asker.connection)->was_daemon)
    return refuse(asker, "superseded", "another daemon has replaced this one");
  SpawnRequest command;
  if (auto wrong = read_command(request, command); !wrong.empty())
    return refuse(asker, "invalid_argument", wrong);
  auto failed = [&](const char* step, int error, std::string why = {}) {
    if (why.empty()) why = std::string(step) + ": " + std::strerror(error);
    refuse(asker, "spawn_failed", why, {{"step", step}, {"errno", error}});
  };
  for (const auto& [other, run] : runs_)
    if (run->output_path == path) return failed("output", EBUSY, why_no_output(path, EBUSY));
  auto output = Output::open(root_.get(), path);
  if (!output) return failed("output", output.error(), why_no_output(path, output.error()));
  command.open_files = open_files_;
  auto grace = Duration(std::clamp<int64_t>(int_or(request, "grace_ms", 10000), 0, 3600000));
  command.custody = {uid, grace, runs_lock_.get(), exits_folder_.get(), heap_};
  auto spawned = spawn(command);
  if (!spawned) {
    // Its program may have run by then, and what that has started is our child now.
    if (spawned.error().error == ETIMEDOUT)
      kill_all([this] { return strays([this](pid_t pid) { return owns(pid); }); });
    return failed(spawned.error().step, spawned.error().error);
  }

  auto run = std::make_unique<Run>(next_slot_++, std::move(*output), std::string(text_or(request, "mark")),
                                   command.pty);
  run->uid = uid;
  run->task_id = task_id;
  run->output_path = path;
  run->pid = spawned->pid;
  run->supervisor = spawned->supervisor;
  run->orders = std::move(spawned->orders);
  run->start_time = spawned->start_time;
  run->written_seq = run->splitter.last_seq();
  run->first_seq = run->written_seq + 1;
  run->source(Stream::out).fd = std::move(spawned->out);
  run->source(Stream::err).fd = std::move(spawned->err);
  run->input = std::move(spawned->in);
  run->output_limit = int_or(request, "output_limit");
  run->disk_floor = int_or(request, "disk_floor");
  run->grace = grace;
  slots_[run->slot] = mains_[run->pid] = supervisors_[run->supervisor] = run.get();
  watch(run->orders.get(), EPOLLIN, Kind::supervisor, run->slot, false);
  watch_streams(*run, true);
  answer(asker, started(uid, run->pid, run->start_time, boot_id_, run->first_seq));
  runs_[uid] = std::move(run);
}

void Keeper::on_run(const Asker& asker, std::string_view op, const json::object& request, Run& run) {
  int64_t signal = int_or(request, "signal", 15);
  bool valid = signal > 0 && signal <= 64;
  if (op == "kill" && valid) {
    int64_t grace = std::clamp<int64_t>(int_or(request, "grace_ms", 10000), 0, 3600000);
    tell_to_end(run, static_cast<int>(signal), Duration(grace));
    return answer(asker, {});
  }
  if (op == "has_taken")
    return answer(asker, {{"taken", run.deliveries.has_taken(text_or(request, "delivery"))}});
  // The queue knows what was written before the end, and refuses the rest.
  if (!run.main_alive && op != "write") return refuse(asker, "not_running", "the run has ended");
  if (op == "write") return write(asker, request, run);
  if (op == "resize") {
    winsize size{};
    size.ws_row = static_cast<unsigned short>(std::clamp<int64_t>(int_or(request, "rows", 24), 1, 9999));
    size.ws_col = static_cast<unsigned short>(std::clamp<int64_t>(int_or(request, "cols", 80), 1, 9999));
    if (run.pty && run.input) ioctl(run.input.get(), TIOCSWINSZ, &size);
    return answer(asker, {});
  }
  if (!valid) return refuse(asker, "invalid_argument", "no such signal");
  order(run, {.signal = static_cast<int32_t>(signal)});
  answer(asker, {});
}

void Keeper::write(const Asker& asker, const json::object& request, Run& run) {
  auto data = from_base64(text_or(request, "data"));
  if (!data) return refuse(asker, "invalid_argument", "data is not base64");
  Delivery delivery{std::string(text_or(request, "delivery")), std::move(*data), bool_or(request, "eof"),
                    asker};
  if (delivery.eof && run.pty) {  // a terminal has no end, but a character that says so
    delivery.data.push_back('\x04');
    delivery.eof = false;
  }
  std::string id = delivery.id;
  switch (run.deliveries.offer(std::move(delivery))) {
    case StdinQueue::Offer::done_before:
      return answer(asker, {{"delivery", id}, {"written", true}});
    case StdinQueue::Offer::full:
      return refuse(asker, "stdin_full", "more than 1 MiB of input is pending");
    case StdinQueue::Offer::closed:
      if (!run.main_alive) return refuse(asker, "not_running", "the run has ended");
      return refuse(asker, "stdin_closed", "the run's input is closed");
    case StdinQueue::Offer::queued:
      return write_input(run);
  }
}

void Keeper::forget(const Asker& asker, const std::string& uid) {
  if (runs_.contains(uid)) return refuse(asker, "running", "the run is active");
  if (ended_.erase(uid) > 0) remove_exit(exits_folder_.get(), uid);
  answer(asker, {});
}

void Keeper::start_daemon(const Asker& asker) {
  SpawnRequest command;
  char path[4096] = {};
  ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  std::string program(path, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  constexpr std::string_view deleted = " (deleted)";
  if (program.ends_with(deleted)) program.resize(program.size() - deleted.size());  // upgraded: the new one
  command.argv = {access(program.c_str(), X_OK) == 0 ? program : "/proc/self/exe", "daemon", "run"};
  for (char** entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("CRU_RUN=")) command.env.emplace_back(*entry);
  command.cwd = ".";
  command.outlives = true;
  command.open_files = open_files_;
  auto spawned = spawn(command);
  if (!spawned)
    return refuse(asker, "spawn_failed", std::strerror(spawned.error().error),
                  {{"step", spawned.error().step}, {"errno", spawned.error().error}});
  daemons_.insert(spawned->pid);
  answer(asker, {});
}

}  // namespace cru
