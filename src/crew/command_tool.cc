#include "crew/command_tool.h"

#include <fmt/format.h>

#include "crew/bounded_text.h"
#include "crew/off_limits.h"
#include "platform/files/beneath.h"
#include "platform/files/transfer.h"
#include "platform/process/leashed_process.h"
#include "platform/sandbox/confine.h"

namespace cru::crew {
namespace {

/// How long a command that was let go may take to vanish before its group is killed outright.
constexpr Duration last_patience = 5s;

/// One stream of the command: what it said, until its end.
struct Stream {
  KeptOutput kept;
  std::unique_ptr<Watch> watch = {};
  bool ended = false;
};

struct Running {
  Running(Loop& loop, const CommandOptions& options)
      : loop(loop),
        options(options),
        changed(loop),
        out{KeptOutput(options.result_limit * 3 / 4)},
        err{KeptOutput(options.result_limit / 4)} {}
  /// The leash goes, and with it the command.
  ~Running() = default;

  bool has_ended() const { return exited && out.ended && err.ended; }
  void let_go(std::string reason) {
    if (why_ended.empty() && !exited) why_ended = std::move(reason);
    if (process) process->let_go();
    changed.notify();
  }
  void follow(Stream& stream) {
    stream.watch->when_readable([this, &stream] { take(stream); });
  }
  void take(Stream& stream) {
    char buffer[16384];
    for (int turns = 0; turns < 16; ++turns) {
      auto read = read_now(&stream == &out ? process->out() : process->err(), buffer);
      if (read.outcome == Transfer::some) {
        stream.kept.add({buffer, read.bytes});
        continue;
      }
      if (read.outcome == Transfer::later) break;
      stream.ended = true;
      changed.notify();
      return;
    }
    if (out.kept.total() + err.kept.total() > options.output_limit && why_ended.empty())
      let_go(fmt::format("printed more than {} bytes and was killed", options.output_limit));
    follow(stream);
  }

  Loop& loop;
  const CommandOptions& options;
  Signal changed;
  std::optional<LeashedProcess> process;
  Stream out, err;
  std::unique_ptr<Watch> process_watch = {};
  bool exited = false;
  std::string why_ended;  ///< if not by itself
};

std::vector<std::string> words_of(const Command& command, const CommandOptions& options) {
  std::vector<std::string> words = {options.program, "confine", "--leash", "--root", options.root};
  if (!command.may_write) words.emplace_back("--read-only");
  if (!command.may_use_network) words.emplace_back("--no-network");
  words.emplace_back("--");
  words.insert(words.end(), command.argv.begin(), command.argv.end());
  return words;
}

Result<> start(Running& running, const Command& command, const Fd& folder) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : command.environment) environment.push_back(name + "=" + value);
  auto started =
      LeashedProcess::start(words_of(command, running.options), environment, folder, command.input);
  if (!started) return fail(started.error());
  running.process = *std::move(started);
  running.out.watch = running.loop.watch(running.process->out().get());
  running.err.watch = running.loop.watch(running.process->err().get());
  running.follow(running.out);
  running.follow(running.err);
  running.process_watch = running.loop.watch(running.process->exited().get());
  running.process_watch->when_readable([&running] {
    running.exited = true;
    running.changed.notify();
  });
  return {};
}

Duration now(Loop& loop) { return loop.clock().boot(); }

Task<void> wait_for_end(Running& running, Duration limit) {
  auto until = now(running.loop) + limit;
  for (bool is_ending = false; !running.has_ended();) {
    if (!is_ending && (running.exited || !running.why_ended.empty())) {
      is_ending = true;
      until = now(running.loop) + last_patience;
    }
    if (auto left = until - now(running.loop); left > 0ms) {
      co_await running.changed.wait(left);
    } else if (!is_ending) {
      running.let_go(fmt::format("timed out after {} and was killed", format_duration(limit)));
    } else if (!running.exited) {
      running.process->kill_group();
      until = now(running.loop) + last_patience;
    } else {
      co_return;  // somebody else holds its streams: they are not waited for
    }
  }
}

std::string how_it_ended(const Running& running, const ConfineReport& report) {
  if (!running.why_ended.empty()) return running.why_ended;
  if (report.signal)
    return fmt::format("killed by signal {} ({})", report.signal, signal_name(report.signal));
  return fmt::format("exit code {}", report.exit_code);
}

void add_stream(std::string& result, std::string_view name, const KeptOutput& kept) {
  if (kept.total() == 0) return;
  result += fmt::format("--- {} ---\n{}", name, kept.text());
  if (!result.ends_with('\n')) result += '\n';
}

/// Blocking. The folder itself, so that nobody can swap it before the command stands in it.
Result<Fd> open_cwd(const std::string& root, const std::string& cwd) {
  auto project = Beneath::open(root);
  if (!project) return fail(project.error());
  auto real = project->resolve(cwd);
  auto allowed = real ? check_readable(*real) : Result<>(fail(real.error()));
  auto folder = allowed ? project->open_folder(*real) : Result<Fd>(fail(allowed.error()));
  if (!folder && folder.error().field == "path") folder.error().field = "cwd";
  return folder;
}

}  // namespace

struct Commands::State {
  State(Loop& loop, Pool& pool, CommandOptions options)
      : loop(loop), pool(pool), options(std::move(options)), place_free(loop) {}
  Loop& loop;
  Pool& pool;
  const CommandOptions options;
  size_t running = 0;
  std::map<uint64_t, bool> line = {};  ///< those who wait, in their order
  uint64_t last_in_line = 0;
  Signal place_free;

  /// One of the places, while it lives.
  struct Place {
    State* state = nullptr;
    explicit Place(State& of) : state(&of) { ++of.running; }
    Place(Place&& other) noexcept : state(std::exchange(other.state, nullptr)) {}
    ~Place() {
      if (!state) return;
      --state->running;
      state->place_free.notify();
    }
  };
  /// A place in the line, left in whichever way.
  struct InLine {
    State& state;
    uint64_t number;
    explicit InLine(State& of) : state(of), number(++of.last_in_line) { state.line[number] = true; }
    InLine(const InLine&) = delete;
    ~InLine() {
      state.line.erase(number);
      state.place_free.notify();
    }
    bool is_next() const { return state.line.begin()->first == number; }
  };
  Task<std::optional<Place>> take_place(Stop& stop) {
    InLine in_line(*this);
    Stop::Listener listener(stop, [this] { place_free.notify(); });
    while (!stop.requested() && (running >= options.max_at_once || !in_line.is_next()))
      co_await place_free.wait();
    if (stop.requested()) co_return std::nullopt;
    co_return std::optional<Place>(Place(*this));
  }
};

Commands::Commands(Loop& loop, Pool& pool, CommandOptions options)
    : state_(std::make_unique<State>(loop, pool, std::move(options))) {}
Commands::~Commands() = default;

Task<Result<std::string>> Commands::run(Command command, Stop& stop) {
  auto& state = *state_;
  auto place = co_await state.take_place(stop);
  if (!place) co_return fail(Code::conflict, "cancelled before it started");
  auto folder =
      co_await state.pool.run([root = state.options.root, cwd = command.cwd] { return open_cwd(root, cwd); });
  if (!folder) co_return fail(folder.error());
  if (stop.requested()) co_return fail(Code::conflict, "cancelled before it started");
  Running running(state.loop, state.options);
  auto began = now(state.loop);
  if (auto started = start(running, command, *folder); !started) co_return fail(started.error());
  folder->reset();
  Stop::Listener listener(stop, [&running] { running.let_go("stopped"); });
  co_await wait_for_end(running, command.limit);
  running.process->reap(running.exited);
  auto report = parse_confine_report(running.process->read_leash());
  if (!report.failure.empty()) co_return fail(Code::cannot_execute, report.failure, "argv");
  auto result =
      fmt::format("{} ({})\n", how_it_ended(running, report), format_duration(now(state.loop) - began));
  add_stream(result, "stdout", running.out.kept);
  add_stream(result, "stderr", running.err.kept);
  co_return result;
}

}  // namespace cru::crew
