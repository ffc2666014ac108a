#include "edges/cli/terminal/attach.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/id.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/terminal/follow.h"
#include "edges/cli/terminal/output.h"
#include "platform/files/doorbell.h"
#include "platform/files/readiness.h"
#include "platform/process/signals.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

constexpr char detach_key = 0x1d;         // Ctrl-]
constexpr int64_t replayed_chunks = 200;  // more than a screenful, less than a wait

/// Shows the run's screen from a thread of its own, so that keys never wait for output.
class Screen {
 public:
  Screen(Client client, std::string id)
      : client_(std::move(client)), id_(std::move(id)), thread_([this] { show(); }) {}
  ~Screen() {
    stopping_ = true;
    stop_.ring();
    thread_.join();
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  /// Readable when the run has ended, or its output cannot be had.
  int fd() const { return ended_.fd(); }

 private:
  void show() {
    client_.interrupt_on({stop_.fd()});
    PageRequest request{.id = id_, .tail = replayed_chunks, .wait = 30s};
    while (!stopping_) {
      auto page = read_page(client_, request);
      if (!page) break;
      const auto* lines = array_at(*page, "lines");
      std::string bytes;
      if (lines)
        for (const auto& line : *lines)
          if (line.is_object())
            bytes += bytes_of(line.get_object()) + (bool_or(line.get_object(), "eol", true) ? "\r\n" : "");
      write_out(standard_output, bytes);
      request.since = std::max(request.since, int_or(*page, "last_seq", request.since));
      request.tail = 0;
      bool drained = !bool_or(*page, "more") && (!lines || lines->empty());
      if (drained && has_ended(text_or(*page, "status"))) break;
    }
    ended_.ring();
  }
  Client client_;
  std::string id_;
  Doorbell ended_, stop_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// Finds the detach key in what was typed. Ctrl-] twice is one Ctrl-] for the run.
class Keys {
 public:
  /// What to pass on; sets `detach` when the user asked to leave.
  std::string take(std::string_view typed, bool& detach) {
    std::string out;
    for (char key : typed) {
      if (!std::exchange(armed_, false)) {
        armed_ = key == detach_key;
        if (!armed_) out += key;
      } else if (key == 'd' || key == 'D') {
        detach = true;
        return out;
      } else {
        out += detach_key;
        if (key != detach_key) out += key;
      }
    }
    return out;
  }

 private:
  bool armed_ = false;
};

void send_size(Client& client, const std::string& id) {
  if (auto size = terminal_size(standard_output))
    (void)client.post(run_path(id) + "/resize", {{"rows", size->rows}, {"cols", size->cols}});
}

enum class Left { ended, detached };

Result<Left> exchange_keys(Context& context, const std::string& id) {
  auto& client = context.client();
  Signals signals({SIGWINCH, SIGTERM, SIGHUP});
  send_size(client, id);
  Screen screen(context.another_client(), id);
  RawMode raw(standard_input);
  Keys keys;
  for (;;) {
    std::array<Awaited, 3> awaited = {{{.fd = standard_input}, {.fd = signals.fd()}, {.fd = screen.fd()}}};
    if (wait_ready(awaited) != Waited::ready) continue;
    if (awaited[1].is_readable) {
      if (signals.take() != SIGWINCH) return Left::detached;
      send_size(client, id);
    }
    if (awaited[2].is_readable) return Left::ended;
    if (!awaited[0].is_ready) continue;
    auto typed = read_in(standard_input);
    if (typed.empty()) return Left::detached;
    bool detach = false;
    auto bytes = keys.take(typed, detach);
    if (!bytes.empty()) {
      auto sent = client.post(run_path(id) + "/input", {{"data", to_base64(bytes)}, {"raw", true}});
      if (!sent && sent.error().code == Code::not_running) return Left::ended;
      if (!sent) return fail(sent.error());
    }
    if (detach) return Left::detached;
  }
}

}  // namespace

Result<int> attach(Context& context, const std::string& id) {
  auto run = context.client().get(run_path(id));
  if (!run) return fail(run.error());
  if (!bool_or(*run, "pty"))
    return fail(
        Code::invalid_argument, fmt::format("run {} has no terminal to attach to", id), "id",
        fmt::format("follow its output with: cru logs -f {}\nwrite to it with: cru send {} TEXT", id, id));
  if (has_ended(text_or(*run, "status")))
    return fail(Code::not_running, fmt::format("run {} has ended: {}", id, text_or(*run, "status")), "id",
                fmt::format("show its output with: cru logs --raw {}", id));
  if (!is_terminal(standard_input) || !is_terminal(standard_output))
    return fail(Code::invalid_argument, "attach requires a terminal for input and output", {},
                fmt::format("follow its output with: cru logs -f {}", id));
  context.note(fmt::format("attached to {}; press Ctrl-] d to detach, the run continues", id));
  auto left = exchange_keys(context, id);
  // The run's programs may have hidden the cursor or taken mouse and paste; the shell wants them back.
  write_out(standard_output, "\x1b[?25h\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[0m\r\n");
  if (!left) return fail(left.error());
  run = context.client().get(run_path(id));
  if (!run) return fail(run.error());
  if (has_ended(text_or(*run, "status"))) return report_end(context, *run);
  context.note(fmt::format("detached; {} continues. Reattach with: cru attach {}", id, id));
  return 0;
}

}  // namespace cru::cli
