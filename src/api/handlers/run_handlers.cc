#include <fmt/format.h>

#include "api/handlers/handlers.h"

namespace cru::api {
namespace {

std::string text(const json::object& input, std::string_view key) { return std::string(text_or(input, key)); }
Duration seconds(const json::object& input, std::string_view key) {
  return std::chrono::seconds(int_or(input, key));
}

std::vector<std::string> text_list(const json::object& input, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* list = array_at(input, key))
    for (const auto& item : *list) out.emplace_back(item.as_string());
  return out;
}

Result<Reply> reply_with(Result<runs::Run> run) {
  if (!run) return fail(std::move(run.error()));
  return Reply(run_to_json(*run));
}

Task<Result<Reply>> list_runs(runs::Runs& runs, runs::ListQuery query) {
  auto limit = query.limit;
  ++query.limit;  // one more tells whether there are more
  auto found = co_await runs.list(std::move(query));
  if (!found) co_return fail(std::move(found.error()));
  json::array agents;
  for (const auto& run : *found)
    if (static_cast<int64_t>(agents.size()) < limit) agents.push_back(run_to_json(run));
  co_return Reply(
      json::object{{"agents", std::move(agents)}, {"more", static_cast<int64_t>(found->size()) > limit}});
}

Task<Result<Reply>> get_run(runs::Runs& runs, std::string id, Duration wait) {
  co_return reply_with(co_await runs.wait_for_end(std::move(id), wait));
}

Task<Result<Reply>> start_run(runs::Runs& runs, runs::StartRequest request) {
  co_return reply_with(co_await runs.start(std::move(request)));
}

runs::StartRequest to_start_request(const Call& call, const json::object& input) {
  runs::StartRequest request;
  request.id = text(input, "id");
  request.argv = text_list(input, "argv");
  request.backend = text(input, "backend");
  request.task = text(input, "task");
  request.cwd = text(input, "cwd");
  if (const auto* env = object_at(input, "env"))
    for (const auto& entry : *env)
      request.env[std::string(entry.key())] = std::string(entry.value().as_string());
  request.worktree = bool_or(input, "worktree");
  request.pty = bool_or(input, "pty");
  if (input.contains("stdin")) request.has_stdin = bool_or(input, "stdin");
  request.rows = int_or(input, "rows", 24);
  request.cols = int_or(input, "cols", 80);
  request.traceparent = call.trace;
  return request;
}

Task<Result<Reply>> kill_run(runs::Runs& runs, std::string id, std::optional<Duration> grace) {
  co_return reply_with(co_await runs.kill(std::move(id), grace));
}

Task<Result<Reply>> read_output(runs::Runs& runs, std::string id, runs::OutputQuery query) {
  auto page = co_await runs.read_output(id, std::move(query));
  if (!page) co_return fail(std::move(page.error()));
  std::string lines;
  for (const auto& line : page->lines) {
    if (!lines.empty()) lines += ',';
    lines += line;
  }
  co_return Reply::raw(
      fmt::format(R"({{"task_id":"{}","lines":[{}],"last_seq":{},"more":{},"status":"{}","damaged":{}}})", id,
                  lines, page->last_seq, page->more, name(page->status), page->damaged));
}

runs::OutputQuery to_output_query(const json::object& input) {
  runs::OutputQuery query{.since = int_or(input, "since"),
                          .limit = int_or(input, "limit", 1000),
                          .stream = text(input, "stream"),
                          .tail = {},
                          .wait = seconds(input, "wait_seconds")};
  if (input.contains("tail")) query.tail = int_or(input, "tail");
  return query;
}

Task<Result<Reply>> send_input(runs::Runs& runs, json::object input) {
  std::string bytes(text_or(input, "text"));
  if (input.contains("text") && input.contains("data"))
    co_return fail(Code::invalid_argument, "give text or data, not both", "data");
  if (input.contains("data")) {
    auto decoded = from_base64(text_or(input, "data"));
    if (!decoded) co_return fail(Code::invalid_argument, decoded.error().message, "data");
    bytes = *std::move(decoded);
  } else if (input.contains("text") && !bool_or(input, "raw")) {
    bytes += "\n";
  }
  if (bytes.empty() && !bool_or(input, "eof"))
    co_return fail(Code::invalid_argument, "there is nothing to send", "text", "give a text, or eof");
  auto id = text(input, "id");
  auto sent = co_await runs.send(id, bytes, bool_or(input, "eof"));
  if (!sent) co_return fail(std::move(sent.error()));
  co_return Reply(json::object{{"task_id", id}, {"delivered", true}, {"bytes", bytes.size()}});
}

Task<Result<Reply>> resize_run(runs::Runs& runs, std::string id, int64_t rows, int64_t cols) {
  auto done = co_await runs.resize(id, rows, cols);
  if (!done) co_return fail(std::move(done.error()));
  co_return Reply(json::object{{"task_id", id}, {"rows", rows}, {"cols", cols}});
}

}  // namespace

json::object run_to_json(const runs::Run& run) {
  auto record = runs::to_json(run);
  std::string command;
  for (const auto& word : run.argv) command += (command.empty() ? "" : " ") + word;
  record["command"] = run.task.empty() ? command : run.backend + ": " + run.task;
  return record;
}

void bind_runs(Api& api, runs::Runs& runs) {
  api.bind("list_runs", [&runs](const Call&, const json::object& in) {
    return list_runs(
        runs,
        {.status = text(in, "status"), .before = text(in, "before"), .limit = int_or(in, "limit", 100)});
  });
  api.bind("get_run", [&runs](const Call&, const json::object& in) {
    return get_run(runs, text(in, "id"), seconds(in, "wait_seconds"));
  });
  api.bind("start_run", [&runs](const Call& call, const json::object& in) {
    return start_run(runs, to_start_request(call, in));
  });
  api.bind("kill_run", [&runs](const Call&, const json::object& in) {
    std::optional<Duration> grace;
    if (in.contains("grace_seconds")) grace = seconds(in, "grace_seconds");
    return kill_run(runs, text(in, "id"), grace);
  });
  api.bind("read_output", [&runs](const Call&, const json::object& in) {
    return read_output(runs, text(in, "id"), to_output_query(in));
  });
  api.bind("send_input", [&runs](const Call&, const json::object& in) { return send_input(runs, in); });
  api.bind("resize_run", [&runs](const Call&, const json::object& in) {
    return resize_run(runs, text(in, "id"), int_or(in, "rows"), int_or(in, "cols"));
  });
}

}  // namespace cru::api
