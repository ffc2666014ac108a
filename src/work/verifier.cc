#include "work/verifier.h"

#include <fmt/format.h>

#include "base/text.h"
namespace cru::coordination {
namespace {

class RunVerifier final : public Verifier {
 public:
  RunVerifier(Loop& loop, runs::Runs& runs) : loop_(loop), runs_(runs) {}

  Task<Verdict> verify(Verification job, bool resumed) override {
    bool is_known = false;
    if (resumed) is_known = (co_await runs_.find(job.run)).has_value();
    if (!is_known) {
      if (job.jail && !runs_.confines())
        co_return Verdict{.error =
                              "the submitter of the verify command is confined, and nothing can be confined "
                              "while `confine: off` is set"};
      runs::StartRequest request;
      request.id = job.run;
      request.argv = job.argv;
      request.cwd = job.cwd;
      request.has_stdin = false;
      request.traceparent = job.traceparent;
      request.confinement = job.confinement;
      request.jail = job.jail;
      request.is_by_confined = job.jail.has_value();
      auto started = co_await runs_.start(std::move(request));
      if (!started)
        co_return Verdict{
            .error = fmt::format("the verify command cannot be started: {}", started.error().message)};
    }
    if (job.is_wanted) {
      bool is_wanted = co_await job.is_wanted();
      if (!is_wanted) co_await cancel(job.run);
    }
    co_return co_await follow(std::move(job));
  }

  Task<void> cancel(std::string run) override { co_await runs_.kill(std::move(run), {}); }

 private:
  Task<Verdict> follow(Verification job) {
    auto run = co_await runs_.find(job.run);
    auto elapsed = run && run->started_at ? loop_.clock().wall() - *run->started_at : Duration(0);
    auto left = job.limit - std::clamp(elapsed, Duration(0), job.limit);
    run = co_await runs_.wait_for_end(job.run, std::max<Duration>(left, 1s));
    Verdict verdict;
    if (run && runs::is_active(run->status)) {
      verdict.error = fmt::format("the verify command timed out after {}", format_duration(job.limit));
      co_await runs_.kill(job.run, 5s);
      run = co_await runs_.wait_for_end(job.run, 30s);
    }
    if (!run) {
      verdict.error = fmt::format("the verify run was lost: {}", run.error().message);
      co_return verdict;
    }
    verdict.exit_code = run->exit_code;
    verdict.passed = verdict.error.empty() && run->status == runs::Status::completed;
    if (run->started_at && run->ended_at) verdict.took = *run->ended_at - *run->started_at;
    if (!verdict.passed && verdict.error.empty())
      verdict.error = fmt::format("the verify command {}",
                                  run->exit_code ? fmt::format("exited with code {}", *run->exit_code)
                                                 : fmt::format("was {}: {}", name(run->status), run->error));
    runs::OutputQuery query;
    query.tail = 100;
    if (auto page = co_await runs_.read_output(job.run, query)) verdict.output_tail = to_tail(page->lines);
    co_return verdict;
  }

  static std::string to_tail(const std::vector<std::string>& records) {
    std::string text;
    for (const auto& record : records)
      if (auto line = parse_json(record); line && line->is_object())
        text += std::string(text_or(line->get_object(), "data")) + '\n';
    return last_lines(std::move(text));
  }

  Loop& loop_;
  runs::Runs& runs_;
};

}  // namespace

json::object to_evidence(const std::string& run, const Verdict& verdict) {
  json::object evidence{{"run", run},
                        {"exit_code", json_or_null(verdict.exit_code)},
                        {"duration_ms", verdict.took.count()},
                        {"output_tail", verdict.output_tail}};
  if (!verdict.error.empty()) evidence["error"] = verdict.error;
  return evidence;
}

std::string last_lines(std::string text) {
  constexpr size_t most = 4096;
  if (text.size() <= most) return text;
  text = text.substr(text.size() - most);
  if (auto end = text.find('\n'); end != std::string::npos && end + 1 < text.size())
    text = text.substr(end + 1);
  // One line longer than all of it: at least no half character.
  return std::string(skip_partial_character(text));
}

std::unique_ptr<Verifier> run_verifier(Loop& loop, runs::Runs& runs) {
  return std::make_unique<RunVerifier>(loop, runs);
}

}  // namespace cru::coordination
