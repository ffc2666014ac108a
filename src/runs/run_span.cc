#include "runs/run_span.h"

#include "budgets/budget.h"

namespace cru::runs {

TraceContext own_context(const std::string& caller, uint64_t chance, uint64_t more, uint64_t span) {
  auto above = parse_traceparent(caller);
  return {above ? above->trace_id : trace_id_from(chance, more), span_id_from(span)};
}

bool is_out_of_budget(const Run& run) {
  return run.status == Status::killed && run.error == budgets::exhausted_type;
}

telemetry::Span span_of(const Run& run, const std::string& caller, bool is_agent) {
  auto program = run.argv.empty() ? run.backend : run.argv.front().substr(run.argv.front().rfind('/') + 1);
  bool has_backend = run.backend != "command" && !is_confined(run);
  is_agent = is_agent && has_backend;
  telemetry::Span span{
      .context = parse_traceparent(run.traceparent).value_or(TraceContext{run.trace_id, span_id_of(run.uid)}),
      .name = (is_agent ? "invoke_agent " : "run ") + (has_backend ? run.backend : program),
      .began = run.started_at.value_or(run.created_at),
      .ended = run.ended_at.value_or(run.created_at)};
  span.follow(caller);
  if (is_agent) {
    span.add("gen_ai.operation.name", "invoke_agent");
    span.add("gen_ai.agent.name", run.backend);
    span.add("gen_ai.agent.id", run.task_id);
  }
  span.add("cru.run.id", run.task_id);
  span.add("cru.run.status", std::string(name(run.status)));
  span.add("process.executable.name", program);
  if (run.process) span.add("process.pid", run.process->pid);
  if (run.exit_code) span.add("process.exit.code", *run.exit_code);
  if (run.report.tokens) span.add("cru.tokens", *run.report.tokens);
  if (run.status == Status::killed) span.error_type = is_out_of_budget(run) ? run.error : "killed";
  if (run.status == Status::failed) span.error_type = run.exit_code ? "exit_code" : "run_failed";
  return span;
}

}  // namespace cru::runs
