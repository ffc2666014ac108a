#include "runs/keeper_client.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/id.h"
#include "platform/files/family_lock.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/transfer.h"
#include "platform/files/trouble.h"
#include "platform/net/unix_socket.h"
#include "platform/process/detach.h"
#include "platform/process/marked_processes.h"

namespace cru::runs {
namespace {

constexpr size_t max_line_bytes = 4 << 20;
/// How long the supervisors of a keeper that is gone may take to end what they hold.
constexpr Duration supervisors_limit = 10s;

ProcessIdentity to_process(const json::object& object) {
  return {int_or(object, "pid"), int_or(object, "start_time"), std::string(text_or(object, "boot_id"))};
}

std::optional<int64_t> maybe_int(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  if (!value || value->is_null()) return {};
  return int_or(object, key);
}

Exit to_exit(const json::object& object) {
  Exit exit{maybe_int(object, "code"), maybe_int(object, "signal"), std::string(text_or(object, "reason")),
            int_or(object, "last_seq")};
  exit.left_behind = int_or(object, "left_behind");
  exit.unwritten = int_or(object, "unwritten");
  if (const auto* delivered = array_at(object, "delivered"))
    for (const auto& id : *delivered)
      if (id.is_string()) exit.delivered.emplace_back(id.get_string());
  return exit;
}

KeptRun to_kept_run(const json::object& object) {
  KeptRun run{std::string(text_or(object, "uid")),
              std::string(text_or(object, "task_id")),
              to_process(object),
              int_or(object, "last_seq"),
              {}};
  if (const auto* exit = object_at(object, "exit")) run.exit = to_exit(*exit);
  return run;
}

std::vector<KeptRun> to_kept_runs(const json::object& hello) {
  std::vector<KeptRun> runs;
  if (const auto* list = array_at(hello, "runs"))
    for (const auto& item : *list)
      if (const auto* object = item.if_object()) runs.push_back(to_kept_run(*object));
  return runs;
}

/// Our code for one of the keeper's.
Error to_keeper_error(const json::object& reply) {
  auto code = text_or(reply, "error");
  std::string message(text_or(reply, "message"));
  if (code == "forbidden") return {Code::forbidden, message};
  if (code == "spawn_failed") return {Code::cannot_execute, message, "argv"};
  if (code == "stdin_closed" || code == "running") return {Code::conflict, message};
  if (code == "stdin_full")
    return {Code::overloaded, message, "", "the run does not read its standard input; retry later"};
  if (code == "not_running" || code == "not_found") return {Code::not_running, message};
  return {Code::keeper_unavailable, message};
}

json::object to_message(const StartSpec& spec) {
  json::object env;
  for (const auto& [name, value] : spec.env) env[name] = value;
  json::object message{{"op", "start"},
                       {"uid", spec.uid},
                       {"task_id", spec.task_id},
                       {"argv", json::value_from(spec.argv)},
                       {"env", std::move(env)},
                       {"cwd", spec.cwd},
                       {"output", spec.output},
                       {"pty", spec.pty},
                       {"stdin", spec.has_stdin ? "pipe" : "null"},
                       {"private_stdio", spec.private_stdio},
                       {"rows", spec.rows},
                       {"cols", spec.cols},
                       {"output_limit", spec.output_limit},
                       {"disk_floor", spec.disk_floor},
                       {"mark", spec.mark},
                       {"grace_ms", spec.grace.count()}};
  if (spec.jail) message["jail"] = to_json(*spec.jail);
  return message;
}

}  // namespace

KeeperClient::KeeperClient(Loop& loop, Pool& pool, std::string root, std::string program)
    : loop_(loop), pool_(pool), root_(std::move(root)), program_(std::move(program)), launched_(loop) {}

KeeperClient::~KeeperClient() {
  if (silence_timer_) loop_.cancel_timer(silence_timer_);
  watch_.reset();
}

/// From now on it has so long to say anything at all.
void KeeperClient::expect_word() {
  if (silence_timer_ || is_silent_ || is_suspected_) return;
  silence_timer_ = loop_.set_timer(silence_limit, [this] {
    silence_timer_ = 0;
    loop_.spawn(fall_silent());
  });
}

Task<std::optional<PidFileHolder>> KeeperClient::find_server() {
  return pool_.run([root = root_] { return server_of(root, "keeper"); });
}

Task<void> KeeperClient::fall_silent() {
  is_suspected_ = true;
  auto holder = co_await find_server();
  if (!std::exchange(is_suspected_, false)) co_return;  // it has said something meanwhile
  is_silent_ = true;
  auto who = holder && holder->pid > 0 ? fmt::format("the keeper (pid {})", holder->pid) : "the keeper";
  tell_trouble(keeper_trouble, who + " does not answer: how its runs are is unknown until it does");
  log_warn("the keeper does not answer", {{"pid", holder ? holder->pid : 0}});
  if (silence_changed_) loop_.post([changed = silence_changed_] { changed(); });
}

/// It has said something, or is gone.
void KeeperClient::heard() {
  is_suspected_ = false;
  if (silence_timer_) loop_.cancel_timer(std::exchange(silence_timer_, 0));
  if (!std::exchange(is_silent_, false)) return;
  end_trouble(keeper_trouble);
  log_info("the keeper answers again");
  if (silence_changed_) loop_.post([changed = silence_changed_] { changed(); });
}

Task<bool> KeeperClient::connect() {
  auto socket = co_await pool_.run([path = root_ + "/.coven/keeper.sock"] { return connect_unix(path); });
  if (socket_) co_return true;  // somebody else was quicker
  if (!socket) co_return false;
  watch_.reset();  // before the descriptor that it watches
  socket_ = *std::move(socket);
  incoming_.clear();
  outgoing_.clear();
  writing_ = false;
  watch_ = loop_.watch(socket_.get());
  await_readable();
  co_return true;
}

void KeeperClient::disconnect(const std::string& why) {
  if (!socket_) return;
  heard();
  watch_.reset();
  socket_.reset();
  incoming_.clear();
  outgoing_.clear();
  writing_ = false;
  pid_ = 0;
  for (auto& [id, handle] : std::exchange(waiting_, {}))
    loop_.post([handle, why]() mutable {
      handle.complete(fail(Code::keeper_unavailable, "lost the connection to the keeper: " + why));
    });
  // While we are still joining, whoever joins hears of it by the reply.
  // Posted as replies are: whoever hears of the loss has had every reply that came before it.
  if (!std::exchange(has_joined_, false)) return;
  loop_.post([this] {
    if (notices_.lost) notices_.lost();
  });
}

Task<Result<std::optional<std::vector<KeptRun>>>> KeeperClient::join() {
  using Joined = std::optional<std::vector<KeptRun>>;
  while (launching_) co_await launched_.wait();
  for (int attempt = 0;; ++attempt) {
    if (socket_ || co_await connect()) {
      auto answer = co_await hello();
      if (answer) {
        auto runs = to_kept_runs(*answer);
        // An idle keeper of another version makes way for ours; one that is busy, or remembers, stays.
        if (!runs.empty() || int_or(*answer, "remembers") > 0 || text_or(*answer, "version") == CRU_VERSION)
          co_return Joined(std::move(runs));
        has_joined_ = false;
        (void)co_await request({{"op", "stop"}}, 5s);
        disconnect("it was asked to stop");
      } else if (answer.error().code == Code::forbidden) {
        // We descend from it: somebody inside a run started us, and no such daemon may serve.
        co_return fail(Code::forbidden, "the keeper refused this daemon because it was started inside a run",
                       "", "start the daemon outside a run, or let cru commands start it");
      }
    }
    // A keeper that holds its lock is alive; it may just be slow to answer. One that does not is not there.
    if (!co_await find_server()) {
      heard();
      co_return Joined();
    }
    expect_word();
    co_await loop_.sleep(std::min<Duration>(2s, 100ms * (1 + attempt / 20)));
  }
}

Task<KeeperClient::Reply> KeeperClient::hello() {
  auto answer = co_await request({{"op", "hello"}, {"role", "daemon"}, {"version", CRU_VERSION}});
  if (answer) {
    pid_ = int_or(*answer, "pid");
    has_joined_ = true;
    const auto* features = array_at(*answer, "features");
    auto has = [&](std::string_view feature) {
      return features && std::ranges::any_of(*features, [&](const json::value& each) {
               return each.is_string() && each.get_string() == feature;
             });
    };
    builds_jails_ = has("jail-2");
    remembers_ = has("memory");
    for (const auto& [key, text] : memory_) loop_.spawn(send_memory(key, text));
  }
  co_return answer;
}

Task<Result<>> KeeperClient::ensure() {
  while (launching_) co_await launched_.wait();
  if (socket_) co_return Result<>();
  launching_ = true;
  auto launched = co_await launch_keeper();
  launching_ = false;
  launched_.notify();
  co_return launched;
}

Task<Result<>> KeeperClient::launch_keeper() {
  auto complaints = std::make_shared<const Complaints>();
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (co_await connect()) {
      auto answer = co_await hello();
      if (answer) co_return Result<>();
    }
    if (attempt % 20 == 0) {
      auto started = co_await pool_.run(
          [argv = std::vector{program_, std::string("keeper"), root_}, root = root_, complaints] {
            return start_detached(argv, clean_environment(), root, complaints.get());
          });
      if (!started)
        co_return fail(Code::keeper_unavailable, "cannot start the keeper: " + started.error().message);
    }
    co_await loop_.sleep(Duration(std::min(attempt + 1, 50)));
  }
  // One that could not begin has said why (no space, another's file, a link in its way).
  auto said = complaints->text();
  if (!said.empty())
    co_return fail(Code::keeper_unavailable,
                   "the keeper did not start: " + said.substr(said.rfind('\n') + 1));
  co_return fail(Code::keeper_unavailable, "the keeper does not respond", "", "see .coven/log");
}

void KeeperClient::await_readable() {
  watch_->when_readable([this] { read_some(); });
}

void KeeperClient::read_some() {
  char buffer[65536];
  for (;;) {
    auto received = receive_now(socket_, buffer);
    if (received.outcome == Transfer::later) break;
    if (received.outcome == Transfer::ended) return disconnect("it closed the connection");
    if (received.outcome == Transfer::broken) return disconnect("the connection was lost");
    heard();
    incoming_.append(buffer, received.bytes);
    if (incoming_.size() > max_line_bytes && incoming_.find('\n') == std::string::npos)
      return disconnect("it sent a line that is too long");
    if (received.bytes < sizeof buffer) break;
  }
  size_t from = 0;
  for (size_t end; socket_ && (end = incoming_.find('\n', from)) != std::string::npos; from = end + 1)
    handle_line(std::string_view(incoming_).substr(from, end - from));
  if (!socket_) return;
  incoming_.erase(0, from);
  await_readable();
}

void KeeperClient::handle_line(std::string_view line) {
  auto parsed = parse_json(line);
  if (!parsed || !parsed->is_object()) return log_warn("the keeper sent an invalid message");
  auto& object = parsed->get_object();
  if (object.contains("notice")) return handle_notice(object);
  auto found = waiting_.find(int_or(object, "re"));
  if (found == waiting_.end()) return;
  auto handle = found->second;
  waiting_.erase(found);
  // From the loop, not from here: whoever waits may close this very connection.
  auto reply = std::make_shared<Reply>(object.contains("error") ? Reply(fail(to_keeper_error(object)))
                                                                : Reply(std::move(object)));
  loop_.post([handle, reply]() mutable { handle.complete(std::move(*reply)); });
}

void KeeperClient::handle_notice(const json::object& notice) {
  auto kind = text_or(notice, "notice");
  std::string uid(text_or(notice, "uid"));
  // Posted as replies are, so that a notice never overtakes the reply before it.
  if (kind == "grew" && notices_.grew) {
    Growth growth{uid, int_or(notice, "last_seq"), int_or(notice, "marked")};
    loop_.post([this, growth] {
      if (notices_.grew) notices_.grew(growth);
    });
  } else if (kind == "exited" && object_at(notice, "exit")) {
    auto exit = to_exit(*object_at(notice, "exit"));
    loop_.post([this, uid, exit] {
      if (notices_.exited) notices_.exited(uid, exit);
    });
  } else if (kind == "paused" || kind == "resumed") {
    std::string reason(kind == "paused" ? text_or(notice, "reason", "paused") : "");
    loop_.post([this, uid, reason] {
      if (notices_.paused) notices_.paused(uid, reason);
    });
  }
}

void KeeperClient::flush() {
  while (socket_ && !outgoing_.empty()) {
    auto sent = send_now(socket_, outgoing_);
    if (sent.outcome == Transfer::later) {
      writing_ = true;
      watch_->when_writable([this] {
        writing_ = false;
        flush();
      });
      return;
    }
    if (sent.outcome != Transfer::some) return disconnect("the connection was lost");
    outgoing_.erase(0, sent.bytes);
  }
}

Task<KeeperClient::Reply> KeeperClient::request(json::object message, Duration limit) {
  if (!socket_) co_return fail(Code::keeper_unavailable, "the keeper is not connected");
  auto id = ++last_id_;
  message["id"] = id;
  auto line = to_text(message) + "\n";
  if (line.size() > max_line_bytes)
    co_return fail(Code::too_large, "the request is too large for the keeper", "env");
  Completion<Reply> done;
  waiting_[id] = done.handle();
  auto timer = loop_.set_timer(limit, [this, id] {
    if (auto found = waiting_.extract(id))
      found.mapped().complete(fail(Code::timed_out, "the keeper has not responded yet"));
  });
  // What a run does not read lies in its pipe until it does: that is not the keeper's silence.
  if (text_or(message, "op") != "write") expect_word();
  outgoing_ += line;
  if (!writing_) flush();
  auto reply = co_await done;
  loop_.cancel_timer(timer);
  co_return reply;
}

Task<Result<>> KeeperClient::simple_request(json::object message, Duration limit) {
  auto reply = co_await request(std::move(message), limit);
  if (!reply) co_return fail(std::move(reply.error()));
  co_return Result<>();
}

Task<Result<ProcessIdentity>> KeeperClient::start(StartSpec spec) {
  auto ready = co_await ensure();
  if (!ready) co_return fail(std::move(ready.error()));
  if (spec.jail && !builds_jails_)
    co_return fail(
        Code::cannot_execute, "the keeper is of an older version, which cannot confine an agent", {},
        "wait until its runs have ended, or end them (cru ps, cru kill); then: cru daemon restart");
  auto reply = co_await request(to_message(spec));
  if (!reply && reply.error().code == Code::cannot_execute) {
    auto& error = reply.error();
    bool is_jail = error.message.starts_with("namespaces:") || error.message.starts_with("jail:");
    error.message = is_jail ? fmt::format("cannot confine {}: {}", spec.argv.front(), error.message)
                            : fmt::format("cannot execute {}: {}", spec.argv.front(), error.message);
    if (is_jail) error.hint = "see: cru doctor";
  }
  if (!reply) co_return fail(std::move(reply.error()));
  co_return to_process(*reply);
}

Task<Result<>> KeeperClient::kill(std::string uid, Duration grace) {
  return simple_request({{"op", "kill"}, {"uid", uid}, {"signal", 15}, {"grace_ms", grace.count()}});
}

Task<Result<>> KeeperClient::write(std::string uid, std::string delivery, std::string bytes, bool eof) {
  // An answer may lie in the pipe until the agent reads: that is no failure. Somebody who types waits less.
  bool is_answer = delivery.starts_with("q-");
  json::object message{
      {"op", "write"}, {"uid", uid}, {"delivery", delivery}, {"data", to_base64(bytes)}, {"eof", eof}};
  return simple_request(std::move(message), is_answer ? Duration(24h) : Duration(30s));
}

Task<Result<bool>> KeeperClient::has_taken(std::string uid, std::string delivery) {
  auto reply = co_await request({{"op", "has_taken"}, {"uid", uid}, {"delivery", delivery}});
  if (!reply) co_return fail(std::move(reply.error()));
  co_return bool_or(*reply, "taken");
}

Task<Result<>> KeeperClient::resize(std::string uid, int64_t rows, int64_t cols) {
  return simple_request({{"op", "resize"}, {"uid", uid}, {"rows", rows}, {"cols", cols}});
}

Task<Result<>> KeeperClient::forget(std::string uid) {
  if (socket_) co_return co_await simple_request({{"op", "forget"}, {"uid", uid}});
  // No keeper: its record is a file, and nobody else's any more.
  auto file = fmt::format("{}/.coven/exits/{}.json", root_, uid);
  co_return co_await pool_.run([file] { return remove_file(file); });
}

Task<void> KeeperClient::send_memory(std::string key, std::string text) {
  if (!socket_ || !remembers_) co_return;
  auto kept = co_await simple_request({{"op", "remember"}, {"key", key}, {"text", std::move(text)}});
  if (!kept)
    log_warn("the keeper does not remember an account", {{"chat", key}, {"why", kept.error().message}});
}

Task<void> KeeperClient::remember(std::string key, std::string text) {
  if (text.empty())
    memory_.erase(key);
  else
    memory_[key] = text;
  co_await send_memory(std::move(key), std::move(text));
}

Task<std::map<std::string, std::string>> KeeperClient::recall() {
  std::map<std::string, std::string> all;
  if (!socket_ || !remembers_) co_return all;
  auto listed = co_await request({{"op", "recall"}});
  const auto* keys = listed ? array_at(*listed, "keys") : nullptr;
  if (!keys) co_return all;
  for (const auto& key : *keys) {
    auto reply = co_await request({{"op", "recall"}, {"key", key}});
    if (reply && key.is_string()) all[std::string(key.get_string())] = text_or(*reply, "text");
  }
  co_return all;
}

Task<std::vector<KeptRun>> KeeperClient::read_exit_records() {
  auto folder = root_ + "/.coven/exits";
  co_return co_await pool_.run([folder] {
    std::vector<KeptRun> runs;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() != ".json") continue;
      auto content = read_file(at->path().string(), 65536);
      if (!content) continue;
      auto parsed = parse_json(*content);
      if (!parsed || !parsed->is_object()) continue;
      auto run = to_kept_run(parsed->get_object());
      run.exit = to_exit(parsed->get_object());
      runs.push_back(std::move(run));
    }
    return runs;
  });
}

/// A supervisor that has ended its run after the keeper's death leaves `{uid}.gone`.
Task<std::set<std::string>> KeeperClient::wait_for_supervisors(std::vector<std::string> uids) {
  auto until = loop_.clock().boot() + supervisors_limit;
  auto lock = root_ + "/.coven/runs.lock";
  auto look = [lock] { return is_family_left(lock); };
  for (Duration pause = 2ms; co_await pool_.run(look) && loop_.clock().boot() < until;
       pause = std::min<Duration>(pause * 2, 100ms))
    co_await loop_.sleep(pause);
  co_return co_await pool_.run([uids, folder = root_ + "/.coven/exits/"] {
    std::set<std::string> not_told;
    std::error_code error;
    for (const auto& uid : uids)
      if (!std::filesystem::remove(folder + uid + ".gone", error)) not_told.insert(uid);
    return not_told;
  });
}

Task<std::set<std::string>> KeeperClient::sweep(std::vector<std::string> uids) {
  std::set<std::string> left;
  while (launching_) co_await launched_.wait();
  if (!socket_) {
    launching_ = true;  // the supervisors of another keeper would be taken for those that are waited for
    left = co_await wait_for_supervisors(uids);
    launching_ = false;
    launched_.notify();
    uids.assign(left.begin(), left.end());
  }
  auto killed = co_await pool_.run(
      [uids, root = root_] { return kill_marked("CRU_RUN", {uids.begin(), uids.end()}, root); });
  if (killed > 0) log_warn("killed leftover processes of a lost keeper", {{"killed", killed}});
  co_return left;
}

}  // namespace cru::runs
