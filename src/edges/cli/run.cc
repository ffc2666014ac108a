// `cru run`: starts a command or an agent CLI, and stays with it unless told otherwise.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "edges/cli/attach.h"
#include "edges/cli/command.h"
#include "edges/cli/context.h"
#include "edges/cli/follow.h"
#include "edges/cli/ids.h"
#include "platform/terminal.h"

extern char** environ;

namespace cru::cli {
namespace {

/// A pattern ends in `*` for a family of names.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

/// Our variables that a run may see: what a program needs to find its way, and its backend's own.
json::object allowed_environment(std::string_view backend) {
  constexpr std::array<std::string_view, 15> always = {
      "PATH", "HOME",   "USER",  "LOGNAME",       "SHELL",     "LANG",   "LC_*", "TERM",
      "TZ",   "TMPDIR", "XDG_*", "SSH_AUTH_SOCK", "COLORTERM", "EDITOR", "PAGER"};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> by_backend = {
      {{"claude", "ANTHROPIC_*"},
       {"claude", "CLAUDE_*"},
       {"codex", "OPENAI_*"},
       {"codex", "CODEX_*"},
       {"gemini", "GEMINI_*"},
       {"gemini", "GOOGLE_*"}}};
  json::object out;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    auto name = text.substr(0, equals);
    bool allowed = std::ranges::any_of(always, [&](auto pattern) { return matches(name, pattern); }) ||
                   std::ranges::any_of(by_backend, [&](const auto& row) {
                     return row.first == backend && matches(name, row.second);
                   });
    if (allowed) out[name] = text.substr(equals + 1);
  }
  return out;
}

Result<json::object> request_body(const Args& args) {
  auto backend = args.get("backend");
  auto words = args.all("command");
  json::object body;
  if (!backend.empty()) {
    if (words.size() != 1)
      return fail(Code::invalid_argument, "a backend takes one task", "task",
                  fmt::format("cru run --backend {} \"what to do\"", backend));
    body["backend"] = backend;
    body["task"] = words[0];
  } else if (words.empty()) {
    return fail(Code::invalid_argument, "nothing to run", "command",
                "cru run -- COMMAND…\ncru run --backend claude \"what to do\"");
  } else {
    body["argv"] = json::value_from(words);
  }
  auto variables = allowed_environment(backend);
  for (const auto& entry : args.all("env")) {
    auto equals = entry.find('=');
    auto name = entry.substr(0, equals);
    if (name.empty()) return fail(Code::invalid_argument, "--env takes NAME or NAME=VALUE", "env");
    if (equals != std::string::npos)
      variables[name] = entry.substr(equals + 1);
    else if (auto value = api::own_environment(name))
      variables[name] = *value;
    else
      return fail(Code::invalid_argument, fmt::format("--env {}: no such variable here", name), "env");
  }
  body["env"] = std::move(variables);
  std::error_code error;
  auto folder = std::filesystem::canonical(args.get("cwd", "."), error);
  if (error) return fail(Code::invalid_argument, "no such folder: " + args.get("cwd", "."), "cwd");
  body["cwd"] = folder.string();
  for (const char* name : {"worktree", "pty"})
    if (args.has(name)) body[name] = true;
  if (args.has("no-stdin")) body["stdin"] = false;
  return body;
}

bool on_a_terminal() { return is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO); }

Result<int> run_verb(Context& context, const Args& args) {
  auto body = request_body(args);
  if (!body) return fail(body.error());
  if (auto size = terminal_size(STDOUT_FILENO); size && args.has("pty")) {
    (*body)["rows"] = size->rows;
    (*body)["cols"] = size->cols;
  }
  auto& client = context.client();
  auto id = args.get("id");
  FollowOptions options{.kill_on_interrupt = true};
  // A finished id that is started again goes on numbering: only what comes now is ours to show.
  if (!id.empty())
    if (auto before = client.get(run_path(id))) options.since = int_or(*before, "last_seq");
  auto target = id.empty() ? "/tasks" : fmt::format("/tasks/{}/start", percent_encode(id));
  auto text = client.call_text("POST", target, to_text(*body), 60s);
  if (!text) return fail(text.error());
  auto run = parse_json(*text);
  if (!run || !run->is_object()) return fail(Code::internal, "the daemon's reply is no run");
  id = text_or(run->get_object(), "task_id", id);
  if (args.has("detach")) {
    if (context.json)
      context.print_json(*text);
    else
      context.print(id + "\n");
    return 0;
  }
  if (args.has("pty") && on_a_terminal() && !context.json) return attach(context, id);
  options.quiet = context.json;
  options.print.raw = args.has("raw");
  options.show_questions = context.err.tty && !context.json;
  auto ended = follow(context, id, options);
  if (!ended) return fail(ended.error());
  if (!ended->run) return exit_interrupted;
  if (context.json) context.print_json(to_text(*ended->run));
  int code = report_end(context, *ended->run);
  return ended->interrupted ? exit_interrupted : code;
}

}  // namespace

void add_run_commands(std::vector<Command>& table) {
  Command run{
      .path = "run",
      .group = "Runs",
      .summary = "Runs a command or an agent CLI under supervision",
      .arguments = {{.name = "command",
                     .summary = "the command, or the backend's task",
                     .required = false,
                     .rest = true}},
      .flags =
          {{.name = "id", .kind = Kind::text, .value = "ID", .summary = "name the run; made up if left out"},
           {.name = "detach", .letter = 'd', .summary = "print the id and leave the run to itself"},
           {.name = "backend",
            .letter = 'b',
            .kind = Kind::text,
            .value = "NAME",
            .summary = "claude, codex, gemini, or a name from the configuration"},
           {.name = "worktree", .letter = 'w', .summary = "give the run its own git worktree and branch"},
           {.name = "pty", .letter = 't', .summary = "run it on a terminal of its own"},
           {.name = "no-stdin", .summary = "give it no standard input"},
           {.name = "env",
            .letter = 'e',
            .kind = Kind::text,
            .value = "NAME[=VALUE]",
            .summary = "a variable for the run, ours or a new one",
            .repeats = true},
           {.name = "cwd",
            .kind = Kind::text,
            .value = "DIR",
            .summary = "working folder; this one if left out"},
           {.name = "raw", .summary = "show its output as it is, escape sequences and all"}},
      .examples = {"cru run -- make test", "cru run --id nightly --detach -- ./nightly.sh --all",
                   "cru run --backend claude --worktree \"fix the login bug\""},
      .run = run_verb,
      .details =
          "Without --detach it shows the output and ends as the run does: 0, or 6 if it failed.\n"
          "The first Ctrl-C ends the run, the second leaves it. The run itself does not depend on\n"
          "this command, nor on the daemon: find it again with cru ps, cru logs and cru show."};
  table.push_back(run);
  run.path = "spawn";
  run.hidden = true;
  table.push_back(std::move(run));
}

}  // namespace cru::cli
