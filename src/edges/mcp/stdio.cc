#include "edges/mcp/stdio.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <span>

#include "base/id.h"
#include "edges/client/client.h"
#include "edges/identity.h"
#include "edges/mcp/kept_lines.h"
#include "edges/mcp/lending.h"
#include "edges/mcp/local_server.h"
#include "edges/mcp/peek.h"
#include "edges/mcp/stream.h"
#include "platform/files/files.h"
#include "platform/files/folder_notice.h"
#include "platform/files/readiness.h"
#include "platform/files/standard_streams.h"
#include "platform/files/transfer.h"
#include "platform/net/unix_socket.h"
#include "platform/process/self.h"
#include "platform/process/signals.h"

namespace cru::mcp {
namespace {

constexpr size_t max_unsent = 1u << 20;
constexpr int attempts_limit = 20;  ///< daemons that died over one request
constexpr Duration closing_time = 1s, retry_pause = 1s;
constexpr Duration welcome_time = 3s;  ///< a daemon that does not greet us by then hangs

class Proxy {
 public:
  explicit Proxy(const api::Project& project)
      : project_(project), signals_{SIGINT, SIGTERM}, in_(standard_input), out_(standard_output) {
    ignore_broken_pipes();
    instance_ = uuid_from(system_random().bytes16());
    identity_ = edges::find_identity(edges::Speaker::mcp, api::own_environment, current_folder());
    identity_.token = edges::find_credential(project_, api::own_environment);
    if (!identity_.refused_name.empty())
      fmt::print(stderr, "cru mcp: {}; it was left out\n", edges::why_refused(identity_.refused_name));
  }

  int run() {
    connect(false);
    while (state_ != State::over) step();
    return 0;
  }

 private:
  enum class State { serving, draining, closing, over };

  static BootTime now() { return system_clock().boot(); }

  // ---- the loop

  void step() {
    bool take = state_ == State::serving && !lending_.is_lent() && !is_full() && !is_stopping_;
    std::array<Awaited, 5> awaited = {
        {{.fd = take ? in_.fd() : -1},
         {.fd = signals_.fd()},
         {.fd = socket_.get(), .to_read = out_.unsent() < max_unsent, .to_write = !to_daemon_.empty()},
         {.fd = host_gone_ ? -1 : out_.fd(), .to_read = false, .to_write = out_.has_unsent()},
         {.fd = changes_ ? changes_->fd() : -1}}};
    const auto& [input, signals, daemon, output, changes] = awaited;
    wait_ready(awaited, time_left());
    if (signals.is_ready && signals_.take() != 0) begin_closing();
    if (output.is_broken) lose_host();
    if (input.is_ready && state_ == State::serving) read_host();
    if (daemon.is_ready && socket_) read_daemon();
    if (changes.is_ready || probes_left_ > 0) probe();
    if (socket_) send_some(socket_.get(), to_daemon_);
    if (!host_gone_ && !out_.flush()) lose_host();
    if (socket_ && !out_.has_unsent()) attend_lending();
    advance();
  }

  bool is_full() const {
    return kept_.is_full() || to_daemon_.size() >= max_unsent || out_.unsent() >= max_unsent;
  }
  std::optional<Duration> time_left() const {
    auto at = BootTime::max();
    if (state_ != State::serving) at = deadline_;
    if (daemon_by_) at = std::min(at, *daemon_by_);
    if (probes_left_ > 0) at = std::min(at, now() + 50ms);
    if (at == BootTime::max()) return {};
    return std::max(at - now(), Duration(0));
  }

  /// From end of file to the end: first the answers, then the daemon's good-bye, each for a second at most.
  void advance() {
    if (daemon_by_ && now() >= *daemon_by_) give_up_daemon();
    bool late = state_ != State::serving && now() >= deadline_;
    if (state_ == State::draining && (kept_.unanswered().empty() || late))
      begin_closing();
    else if (state_ == State::closing && ((!socket_ && (host_gone_ || !out_.has_unsent())) || late))
      state_ = State::over;
  }

  void lose_host() {  // nobody reads any more
    host_gone_ = true;
    begin_closing();
  }
  void begin_closing() {
    if (state_ == State::closing || state_ == State::over) return;
    state_ = State::closing;
    deadline_ = now() + closing_time;
    say_bye();
  }

  /// To the daemon that is there now, whichever knew us last: a session is not left open where it can be
  /// ended.
  void say_bye() {
    if (!socket_ && (!kept_.used_tools() || byes_left_ == 0 || !connect(false))) return;
    if (byes_left_-- == 0) return;
    bool used = kept_.used_tools() || lending_.used_tools();
    to_daemon_ += fmt::format("{{\"cru_mcp\":\"bye\",\"used\":{}}}\n", used);
    send_some(socket_.get(), to_daemon_);
  }

  // ---- the host's side

  void read_host() {
    auto got = in_.read(
        [this](std::string_view line) { take_host_line(line); },
        [this] {
          out_.add(error_text("null", {invalid_request, fmt::format("the message is longer than {} bytes",
                                                                    max_message_bytes)}));
        });
    if (got) return;
    state_ = State::draining;
    deadline_ = now() + closing_time;
  }

  void take_host_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) return;
    auto about = peek(line);
    auto number = ++last_number_;
    bool listens = keep(number, about, line);
    if (!connect(true))
      answer_locally(number, about, line);
    else
      send_line(number, line);
    kept_.mark_sent(number);
    if (listens) kept_.keep_listen(number, about, line);
    lending_.set_wanted(!KeptLines::is_of_note(about));
  }

  /// Until it is answered. True if it listens, which begins when it is sent.
  bool keep(uint64_t number, const Peeked& about, std::string_view line) {
    kept_.note(about, line);
    bool asks = about.is_batch || (!about.id.empty() && !about.method.empty());
    bool listens = about.method == "subscriptions/listen" && asks;
    if (asks && !listens) kept_.keep(number, about, line);
    return listens;
  }

  // ---- the host, lent to the daemon

  /// Everything is written to the host that was to be.
  void attend_lending() {
    to_daemon_ += lending_.written();
    send_some(socket_.get(), to_daemon_);
    if (lending_.is_due() && state_ == State::serving && !is_stopping_ && in_.is_between_lines() &&
        to_daemon_.empty()) {
      lending_.lend(socket_, last_number_ + 1);
      // There is nothing left to do but to wait.
      if (lending_.is_lent() && !std::exchange(was_lent_, true)) release_startup_memory(Libraries::released);
    }
  }

  /// The daemon has given it back, or is gone. What it has read and not answered is as if we had sent it.
  void take_host_back() {
    if (!lending_.is_lent()) return;
    auto [found, unwritten] = lending_.take_back();
    out_.add_whole(unwritten);
    if (lending_.used_tools()) kept_.note_used_tools();
    for (auto& [number, text, is_answered] : found.lines) {
      std::string_view line = text;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || is_answered) continue;
      auto about = peek(line);
      bool listens = keep(number, about, line);
      kept_.mark_sent(number);
      if (listens) kept_.keep_listen(number, about, line);
    }
    last_number_ = found.next - 1;
    in_.put_back(std::move(found.rest));
  }

  // ---- without a daemon

  void answer_locally(uint64_t number, const Peeked& about, std::string_view line) {
    if (!local_) {
      bool is_run = api::own_environment("CRU_RUN").has_value();
      local_ =
          std::make_unique<LocalServer>(why_, is_run, [this](std::string message) { out_.add(message); });
      bool begins = about.method == "initialize";
      if (!kept_.initialize().empty() && !begins) local_->remember(kept_.initialize());
    }
    local_->receive(line);
    kept_.forget(number);
  }

  void answer_all_locally() {
    auto left = kept_.unanswered();
    for (const auto& [number, entry] : left) answer_locally(number, peek(entry.line), entry.line);
  }

  // ---- the daemon's side

  /// True if there is a connection. A daemon that could not be had is not tried again for a moment.
  bool connect(bool may_start) {
    if (socket_) return true;
    if (may_start && failed_at_ && now() < *failed_at_ + retry_pause) return false;
    auto fd = connect_unix(project_.mcp_socket());
    for (int attempt = 0; !fd && may_start && attempt < 3; ++attempt) {
      if (auto started = client::start_daemon(project_); !started) {
        why_ = started.error().message;
        break;
      }
      fd = connect_unix(project_.mcp_socket());
      if (!fd) why_ = "the daemon does not accept MCP clients; restart it with: cru daemon restart";
    }
    if (!fd) {
      if (may_start) {
        failed_at_ = now();
        local_.reset();
      }
      return false;
    }
    socket_ = std::move(*fd);
    failed_at_.reset();
    local_.reset();
    changes_.reset();
    probes_left_ = 0;
    daemon_by_ = now() + welcome_time;
    introduce();
    return true;
  }

  /// The hello, and with it, to save the time of waiting, everything that the last daemon knew and this one
  /// does not.
  void introduce() {
    from_daemon_.clear();
    lending_.reset();
    to_daemon_ = to_text(json::object{{"cru_mcp", 1},
                                      {"version", CRU_VERSION},
                                      {"instance", instance_},
                                      {"token", identity_.token},
                                      {"agent_id", identity_.agent_id},
                                      {"agent_type", identity_.agent_type},
                                      {"session_id", identity_.session_id},
                                      {"inherited_session", identity_.inherited_session},
                                      {"capabilities", identity_.capabilities},
                                      {"lock_ttl_minutes", identity_.lock_ttl_minutes},
                                      {"cwd", identity_.cwd},
                                      {"traceparent", identity_.traceparent},
                                      {"resumed", was_connected_}});
    to_daemon_ += '\n';
    replayed_.clear();
    if (state_ != State::closing) replay();
  }

  void replay() {
    again(kept_.initialize());
    if (!kept_.initialized().empty()) send_line(++last_number_, kept_.initialized());
    again(kept_.set_level());
    for (const auto& [uri, line] : kept_.subscriptions()) again(line);
    for (const auto& [number, entry] : kept_.listens()) {
      acknowledged_.insert(entry.id);
      send_line(number, entry.line);
    }
    auto& unanswered = kept_.unanswered();
    for (auto found = unanswered.begin(); found != unanswered.end();) {
      auto entry = found++;
      if (!entry->second.is_sent) continue;  // it is about to be
      if (++entry->second.attempts > attempts_limit) {
        auto [number, kept] = *entry;
        answer_locally(number, peek(kept.line), kept.line);
      } else {
        send_line(entry->first, entry->second.line);
      }
    }
  }

  /// A line whose answer the host has, or will have: under an id of our own, to know it by.
  void again(const std::string& line) {
    if (line.empty()) return;
    auto about = peek(line);
    if (about.id.empty() || kept_.is_waiting(about.id)) return;
    replayed_.insert(++last_number_);
    send_line(last_number_, with_id(line, about.id, fmt::format("\"cru-replay-{}\"", last_number_)));
  }

  void send_line(uint64_t number, std::string_view line) {
    fmt::format_to(std::back_inserter(to_daemon_), "{} {}\n", number, line);
  }

  void read_daemon() {
    auto had = from_daemon_.size();
    Transfer received;
    from_daemon_.resize_and_overwrite(had + bytes_a_read, [&](char* bytes, size_t) {
      received = receive_now(socket_, std::span(bytes + had, bytes_a_read));
      return had + received.bytes;
    });
    if (received.outcome == Transfer::later) return;
    if (received.outcome != Transfer::some) return lose_daemon();
    size_t begin = 0;
    for (size_t end; (end = from_daemon_.find('\n', begin)) != std::string::npos; begin = end + 1)
      take_daemon_line(std::string_view(from_daemon_).substr(begin, end - begin));
    from_daemon_.erase(0, begin);
  }

  void take_daemon_line(std::string_view line) {
    if (line.starts_with(R"({"cru_mcp")")) return take_control(line);
    uint64_t number = 0;
    auto [end, bad] = std::from_chars(line.data(), line.data() + line.size(), number);
    bool is_answer = bad == std::errc();
    lending_.count_line(is_answer ? std::optional(number) : std::nullopt);
    if (is_answer) {  // the answer to the line with this number, or that there is none
      line.remove_prefix(static_cast<size_t>(end - line.data()));
      kept_.forget(number);
      if (replayed_.erase(number) > 0 || line.empty()) return;
      line.remove_prefix(1);
    } else if (!acknowledged_.empty()) {
      auto about = peek(line);
      auto id = member_text(member_text(about.params, "_meta"), subscription_key);
      if (about.method == "notifications/subscriptions/acknowledged" &&
          acknowledged_.erase(std::string(id)) > 0)
        return;  // the host has it from the last daemon
    }
    out_.add(line);
  }

  void take_control(std::string_view line) {
    auto word = unquoted(member_text(line, "cru_mcp"));
    if (word == "welcome") {
      daemon_by_.reset();
      if (member_text(line, "takes_host") == "true") lending_.allow();
      // From here on lines are copied, for hours: what finding the daemon has needed is not needed again.
      if (!std::exchange(was_connected_, true)) release_startup_memory(Libraries::released);
    } else if (word == "host_back") {
      take_host_back();
    } else if (word == "refused") {
      take_host_back();
      lending_.forbid();
    } else if (word == "stopping") {  // on purpose: what it still answers is taken, its end follows
      is_stopping_ = true;
      daemon_by_ = now() + welcome_time;
    } else if (word == "closed") {
      byes_left_ = 0;
    }
  }

  void drop_connection() {
    take_host_back();
    socket_.reset();
    to_daemon_.clear();
    daemon_by_.reset();
  }

  void lose_daemon() {
    drop_connection();
    bool on_purpose = std::exchange(is_stopping_, false);
    if (state_ == State::closing) return say_bye();
    if (on_purpose) {
      why_ = "the daemon was stopped; requests in progress may have been executed";
      local_.reset();
    }
    // A daemon that was stopped is not started again before the host asks for something. At the end there is
    // no time to start one.
    if (!kept_.unanswered().empty() && (on_purpose || !connect(state_ == State::serving)))
      answer_all_locally();
    if (!socket_ && kept_.has_subscriptions()) watch_for_daemon();
  }

  /// It is there and says nothing. The next message tries again.
  void give_up_daemon() {
    if (state_ == State::closing) return daemon_by_.reset();
    if (is_stopping_) return lose_daemon();
    drop_connection();
    failed_at_ = now();
    why_ = fmt::format("the daemon does not respond (waited {} s)", welcome_time / 1s);
    local_.reset();
    answer_all_locally();
  }

  /// Nobody is waiting for an answer, so no daemon is started; but a client that listens is there when one
  /// is.
  void watch_for_daemon() { changes_.emplace(project_.state()); }
  /// A socket is there before it is listened at, and that tells nobody: hence a few short tries.
  void probe() {
    if (changes_ && changes_->take()) probes_left_ = 20;
    if (probes_left_ > 0 && !connect(false)) --probes_left_;
  }

  const api::Project& project_;
  Signals signals_;
  edges::Identity identity_;
  std::string instance_;
  HostInput in_;
  HostOutput out_;
  State state_ = State::serving;
  bool host_gone_ = false;
  BootTime deadline_{0};

  Fd socket_;
  std::string to_daemon_, from_daemon_;
  std::optional<BootTime> daemon_by_;  ///< when it must have greeted us, or, if it is stopping, be gone
  bool was_connected_ = false, is_stopping_ = false;
  int byes_left_ = 2;
  std::optional<BootTime> failed_at_;
  std::string why_ = "the daemon cannot be reached";
  std::unique_ptr<LocalServer> local_;
  std::optional<FolderNotice> changes_;
  int probes_left_ = 0;

  uint64_t last_number_ = 0;
  KeptLines kept_;
  Lending lending_;
  bool was_lent_ = false;
  std::set<uint64_t> replayed_;         ///< lines whose answers the host has already
  std::set<std::string> acknowledged_;  ///< listening streams whose second acknowledgement is ours
};

}  // namespace

int run_stdio(const api::Project& project) { return Proxy(project).run(); }

int run_stdio(int argc, char** argv) {
  std::string folder;
  if (argc == 2 && std::string_view(argv[0]) == "--project")
    folder = argv[1];
  else if (argc != 0)
    return -1;
  auto project = folder.empty() ? api::find_project(current_folder()) : api::project_at(folder);
  if (!project) {
    std::fprintf(stderr, "cru mcp: %s\n", project.error().message.c_str());
    return 2;
  }
  return run_stdio(*project);
}

}  // namespace cru::mcp
