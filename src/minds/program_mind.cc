#include "minds/program_mind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <filesystem>

#include "base/account.h"
#include "minds/program_call.h"
#include "minds/program_lines.h"
#include "minds/program_rights.h"
#include "minds/usage_limit.h"
#include "platform/files/files.h"
#include "platform/files/line_log.h"
#include "platform/process/local_time.h"

namespace cru::minds {
namespace {

constexpr Duration max_program_read = 1h;
constexpr size_t kept_errors = 20;
constexpr size_t max_program_line = 16u << 20;
constexpr auto gemini_settings_variable = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

Task<void> kill_run(runs::Runs& runs, std::string id) { (void)co_await runs.kill(std::move(id), {}); }

/// What a run has printed so far, told as it comes.
class Following {
 public:
  Following(ProviderKind kind, Clock& clock, Listener& listener)
      : reader_(program_reader(kind)), clock_(clock), listener_(listener) {}

  void take(std::string_view record) {
    auto line = decode_line(record);
    if (!line) return;
    if (line->stream != "stdout") return keep_error(line->bytes);
    if (partial_.size() + line->bytes.size() <= max_program_line) partial_ += line->bytes;
    if (line->eol) end_line();
  }

  void end_line() {
    auto line = std::exchange(partial_, {});
    if (line.ends_with('\r')) line.pop_back();
    for (const auto& event : reader_->read(line)) tell(event);
    if (reader_->usage() == told_ && reader_->cost_usd() == told_cost_ && reader_->replies() == replies_)
      return;
    told_ = reader_->usage();
    told_cost_ = reader_->cost_usd();
    replies_ = reader_->replies();
    listener_.used(told_, told_cost_, replies_);
  }

  bool has_ended() const { return reader_->has_ended(); }

  Result<Reply> finish(const std::string& how_it_ended) {
    if (!partial_.empty()) end_line();
    return reader_->finish(how_it_ended, errors());
  }
  std::string errors() const { return fmt::format("{}", fmt::join(errors_, "\n")); }
  Usage usage() const { return reader_->usage(); }
  const std::string& resume() const { return reader_->resume(); }
  std::optional<Time> limit_until() const { return reader_->limit_until(); }
  std::optional<Duration> limit_wait() const { return reader_->limit_wait(); }
  std::optional<double> cost_usd() const { return reader_->cost_usd(); }

 private:
  void tell(const ProgramEvent& event) {
    if (event.kind == ProgramEvent::Kind::text) listener_.text(event.text);
    if (event.kind == ProgramEvent::Kind::tool) listener_.tool_used(event.text, event.input);
    // A question is the inbox's, which finds it by itself.
    if (event.kind != ProgramEvent::Kind::waiting) return;
    auto wait = event.until ? std::max(Duration(0), *event.until - clock_.wall()) : event.wait;
    listener_.waiting(event.text, wait);
  }

  void keep_error(std::string_view line) {
    errors_.emplace_back(line.substr(0, 1000));
    if (errors_.size() > kept_errors) errors_.pop_front();
  }

  std::unique_ptr<ProgramReader> reader_;
  Clock& clock_;
  Listener& listener_;
  std::string partial_;
  std::deque<std::string> errors_;
  Usage told_ = {};
  std::optional<double> told_cost_ = {};
  int64_t replies_ = 0;
};

std::string describe_end(const runs::Run& run, const std::string& program) {
  if (!run.error.empty()) return fmt::format("{}: {}", program, run.error);
  if (run.signal) return fmt::format("{} was killed by signal {}", program, *run.signal);
  if (run.exit_code.value_or(0) != 0) return fmt::format("{} exited with code {}", program, *run.exit_code);
  return fmt::format("{} ended without an answer", program);
}

class ProgramMind final : public Mind {
 public:
  ProgramMind(Loop& loop, Pool& pool, runs::Runs& runs, Provider provider, ProgramOptions options)
      : loop_(loop), pool_(pool), runs_(runs), provider_(std::move(provider)), options_(std::move(options)) {}

  bool is_program() const override { return true; }

  Task<Result<Reply>> think(Request request, Listener& listener, Stop& stop) override {
    // One that runs already is followed, and ended: nobody else would.
    bool is_stopped = stop.requested();
    if (is_stopped && !(request.follows && co_await is_known(request.run_id))) co_return fail(cancelled());
    request.abilities.is_confined = runs_.confines();
    if (auto url = co_await runs_.url_for_confined(); !url.empty())
      request.abilities.tools_url = url + "/mcp";
    auto call = to_call(provider_, request, options_.cru);
    if (!call) co_return fail(std::move(call.error()));
    auto id = co_await find_or_start(request, *call);
    if (!id) co_return fail(std::move(id.error()));
    // Written again after a restart: the run takes it once, for its input is then closed.
    if (!call->input.empty() && !is_stopped) (void)co_await runs_.send(*id, call->input, true);
    Stop::Listener hears(stop, [this, run = *id] { loop_.spawn(kill_run(runs_, run)); });
    Following following(provider_.kind, loop_.clock(), listener);
    auto reply = co_await follow(*id, following);
    auto cost_usd = following.cost_usd();
    if (!cost_usd && request.model.prices) cost_usd = cost_of(*request.model.prices, following.usage());
    if ((!reply || stop.requested()) && following.usage().total() > 0)
      listener.wasted(following.usage(), cost_usd);
    if (!following.resume().empty()) listener.resumable(following.resume());
    if (stop.requested()) co_return fail(cancelled());
    if (!reply) co_return reply;
    reply->cost_usd = cost_usd;
    if (reply->model_version.empty()) reply->model_version = request.model.id;
    co_return reply;
  }

 private:
  static Error cancelled() { return mind_failure("cancelled", "the reply was cancelled"); }

  Task<bool> is_known(std::string id) {
    if (id.empty()) co_return false;
    auto known = co_await runs_.find(std::move(id));
    co_return known.has_value();
  }

  /// The run's id, whether it runs, has ended or was just started.
  Task<Result<std::string>> find_or_start(Request request, ProgramCall call) {
    if (!request.run_id.empty()) {
      auto known = co_await runs_.find(request.run_id);
      if (known && request.follows) co_return known->task_id;
      if (known)
        co_return fail(mind_failure(Code::conflict, "run_failed",
                                    fmt::format("a run named {} already exists", request.run_id)));
      if (known.error().code != Code::not_found) co_return fail(std::move(known.error()));
    }
    auto environment = co_await environment_for_run(request.abilities, request.account);
    runs::StartRequest start{.id = request.run_id,
                             .argv = std::move(call.argv),
                             .backend = call.backend,
                             .task = std::move(call.task),
                             .cwd = request.cwd,
                             .env = std::move(environment),
                             .has_stdin = {},
                             .traceparent = request.traceparent,
                             .member = request.member};
    // Its model is reached over the network, whatever its tools may: those are held by their flags.
    start.jail =
        runs::JailRights{.may_write = request.abilities.write, .may_use_network = true, .permits = {}};
    // A command that reads nothing is not left waiting for it.
    if (provider_.kind == ProviderKind::command && call.input.empty()) start.has_stdin = false;
    auto run = co_await runs_.start(std::move(start));
    if (run) co_return run->task_id;
    auto& error = run.error();
    auto why = fmt::format("{} was not started: {}", provider_.name, error.message);
    if (error.code == Code::conflict)
      co_return fail(mind_failure(Code::conflict, "run_failed", std::move(why), error.hint));
    co_return fail(mind_failure(error.code == Code::cannot_execute ? "not_configured" : "run_failed",
                                std::move(why), error.hint));
  }

  Task<std::map<std::string, std::string>> environment_for_run(Abilities abilities,
                                                               std::map<std::string, std::string> account) {
    auto environment = account_of(name(provider_.kind), account);
    environment.merge(account_of(name(provider_.kind), options_.environment));
    if (provider_.kind == ProviderKind::claude)
      environment["MCP_TOOL_TIMEOUT"] = std::to_string(tool_patience / 1ms);
    if (provider_.kind != ProviderKind::gemini || environment.contains(gemini_settings_variable))
      co_return environment;
    auto text = to_text(gemini_settings(abilities, options_.cru));
    // Runs that may do different things run at the same time.
    // At the agents' door: the rest of our state is not there for one that is confined.
    auto file = fmt::format("{}/.coven/door/gemini-settings-{:x}.json", options_.root, as_number(abilities));
    auto written = co_await pool_.run([file, text] { return write_gemini_settings(file, text); });
    if (written) environment[gemini_settings_variable] = file;
    co_return environment;
  }

  static unsigned as_number(const Abilities& can) {
    return unsigned(can.write) | unsigned(can.network) << 1 | unsigned(can.process) << 2 |
           unsigned(can.spawn) << 3 | unsigned(!can.tools_url.empty()) << 4;
  }

  /// Gemini takes its MCP servers from files only. A system's own settings are left in force: then it has no
  /// tools of ours, and of its own what its flags allow.
  static bool write_gemini_settings(const std::string& file, const std::string& text) {
    std::error_code error;
    if (std::filesystem::exists("/etc/gemini-cli/settings.json", error)) return false;
    auto known = read_file(file);
    if (known && *known == text) return true;
    return make_folder(file.substr(0, file.rfind('/')), 0700) && write_file(file, text, 0600);
  }

  /// A limit that the program told of is a reason to go on later. Of one that is over by now too: the run may
  /// have ended long ago.
  void note_limit(Error& error, const Following& following, const runs::Run& run) const {
    if (failure_type(error) != "rate_limited") return;
    auto ended = run.ended_at.value_or(loop_.clock().wall());
    auto until = following.limit_until();
    if (auto wait = following.limit_wait(); !until && wait) until = ended + *wait;
    if (!until) until = time_in_words(error.message, ended, utc_offset_at(ended));
    // One that ended while the program did is over: it goes on at once.
    if (until && *until <= ended) until = ended + 1s;
    error = with_limit(std::move(error), until, ended);
  }

  Task<Result<Reply>> follow(std::string id, Following& following) {
    bool says_its_end = provider_.kind != ProviderKind::command;
    std::optional<BootTime> goodbye;
    int64_t since = 0;
    for (;;) {
      auto wait = max_program_read;
      if (goodbye) wait = std::max(Duration(0), *goodbye - loop_.clock().boot());
      runs::OutputQuery query{.since = since, .limit = 500, .stream = {}, .tail = {}, .wait = wait};
      auto page = co_await runs_.read_output(id, query);
      if (!page) co_return fail(mind_failure("run_failed", page.error().message));
      for (const auto& record : page->lines) following.take(record);
      since = page->last_seq;
      bool is_over = !runs::is_active(page->status) && page->lines.empty() && !page->more;
      if (is_over) break;
      if (goodbye && wait == Duration(0)) {
        // All was said; what it still does nobody waits for, and nobody else would end it.
        loop_.spawn(kill_run(runs_, id));
        break;
      }
      if (says_its_end && following.has_ended() && !goodbye)
        goodbye = loop_.clock().boot() + options_.goodbye;
    }
    auto run = co_await runs_.find(id);
    if (!run) co_return fail(mind_failure("run_failed", run.error().message));
    auto how = describe_end(*run, provider_.name);
    auto reply = following.finish(how);
    if (!reply) note_limit(reply.error(), following, *run);
    if (!says_its_end && run->status != runs::Status::completed)
      co_return fail(mind_failure("run_failed", how, {}, following.errors()));
    co_return reply;
  }

  Loop& loop_;
  Pool& pool_;
  runs::Runs& runs_;
  const Provider provider_;
  const ProgramOptions options_;
};

}  // namespace

std::unique_ptr<Mind> program_mind(Loop& loop, Pool& pool, runs::Runs& runs, Provider provider,
                                   ProgramOptions options) {
  return std::make_unique<ProgramMind>(loop, pool, runs, std::move(provider), std::move(options));
}

}  // namespace cru::minds
