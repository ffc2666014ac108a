// `cru run`: starts a command or an agent CLI, and stays with it unless told otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/plain_words.h"
#include "base/text.h"
#include "edges/cli/chat/chat.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/core/trusting.h"
#include "edges/cli/terminal/attach.h"
#include "edges/cli/terminal/follow.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/live.h"
#include "edges/cli/verbs/run_environment.h"
#include "platform/files/file_status.h"
#include "platform/process/self.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

/// Those of --permit that let a confined program use something of the user's.
std::vector<std::string> permits_in(const Args& args) {
  std::vector<std::string> out;
  for (const auto& each : args.all("permit"))
    if (each == "ssh-agent" || each == "gpg" || each == "docker") out.push_back(each);
  return out;
}

std::vector<std::string> command_words(const Args& args) {
  auto words = args.all("words");
  for (const auto& word : args.all("command")) words.push_back(word);
  return words;
}

Result<json::object> request_body(const Args& args) {
  auto backend = args.get("backend");
  auto words = command_words(args);
  json::object body;
  if (!backend.empty()) {
    if (words.size() > 1)
      return fail(Code::invalid_argument, "a backend takes one task", "task",
                  fmt::format("cru run --backend {} \"TASK\"", backend));
    body["backend"] = backend;
    if (!words.empty()) body["task"] = words[0];
  } else if (words.empty()) {
    return fail(Code::invalid_argument, "nothing to run", "command",
                "cru run AGENT \"TASK\"\ncru run -- COMMAND…\ncru run --backend claude \"TASK\"");
  } else {
    body["argv"] = json::value_from(words);
  }
  auto variables = environment_for(backend, args);
  if (!variables) return fail(variables.error());
  body["env"] = *std::move(variables);
  std::error_code error;
  auto folder = std::filesystem::canonical(args.get("cwd", "."), error);
  if (error) return fail(Code::invalid_argument, "no such folder: " + args.get("cwd", "."), "cwd");
  body["cwd"] = folder.string();
  for (const char* name : {"worktree", "pty", "confine"})
    if (args.has(name)) body[name] = true;
  if (args.has("no-network")) body["network"] = false;
  if (auto permits = permits_in(args); !permits.empty()) body["permit"] = json::value_from(permits);
  if (args.has("no-stdin")) body["stdin"] = false;
  return body;
}

bool on_a_terminal() { return is_terminal(standard_input) && is_terminal(standard_output); }

bool is_program(const std::string& word) {
  if (word.contains('/')) return true;
  auto path = api::own_environment("PATH").value_or("");
  for (std::string_view rest = path; !rest.empty();) {
    auto folder = rest.substr(0, rest.find(':'));
    if (!folder.empty() && may_execute(fmt::format("{}/{}", folder, word))) return true;
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  return false;
}

/// "fix the bug": one text in place of a command. No program has such a name.
bool is_lone_task(const Args& args) {
  const auto& words = args.all("words");
  return words.size() == 1 && !args.has("backend") && !args.has("command") && !args.has("model") &&
         !args.has("permit") && trim(words[0]).contains(' ') && !is_program(words[0]);
}

/// The agent CLI that is installed here; claude if none is.
std::string usual_backend() {
  for (const char* name : {"claude", "codex", "gemini"})
    if (is_program(name)) return name;
  return "claude";
}

/// What can have been meant by a text alone, each as it is to be typed.
Error what_was_meant(const std::string& text) {
  auto quoted = as_shell_word(text);
  std::string first(trim(text).substr(0, trim(text).find(' ')));
  auto hint = fmt::format(
      "to give an agent CLI this task: cru run --backend {} {}\n"
      "to discuss it with an agent: cru chat -m {}",
      usual_backend(), quoted, quoted);
  if (is_program(first)) hint = fmt::format("to run this command: cru run -- {}\n{}", trim(text), hint);
  return {Code::not_found, fmt::format("\"{}\" is neither an agent nor a program", text), "agent",
          std::move(hint)};
}

/// The backend that a person chooses for a text alone. Errors: what can have been meant, where nobody can be
/// asked or the answer is no.
Result<std::string> offer_backend(const Context& context, const std::string& text) {
  auto backend = usual_backend();
  bool asks = context.can_ask() && !context.json && is_program(backend);
  if (asks && context.ask_yes(fmt::format("Give {} the task \"{}\"?", backend, safe_for_terminal(text))))
    return backend;
  return fail(what_was_meant(text));
}

/// The agent that the words name, if they do; empty where they are a command.
Result<std::string> agent_of(Context& context, const Args& args) {
  const auto& words = args.all("words");
  bool wants_agent = args.has("model") || permits_in(args).size() < args.all("permit").size();
  constexpr std::array commands_only = {"id",  "backend", "worktree", "pty",     "no-stdin",
                                        "env", "cwd",     "raw",      "confine", "no-network"};
  for (const char* flag : commands_only)
    if (args.has(flag) && wants_agent)
      return fail(Code::invalid_argument, fmt::format("run: --{} applies to commands, not to agents", flag),
                  flag);
    else if (args.has(flag))
      return "";
  if (words.empty() || args.has("command")) {
    if (!wants_agent) return "";
    return fail(Code::invalid_argument, "run: --model and --permit apply only to agents", "model",
                "cru run AGENT \"TASK\"");
  }
  bool fits = words.size() == 2, runs = is_program(words[0]);
  if (!wants_agent && runs && !fits) return "";
  auto found = context.client().get("/definitions/" + percent_encode(words[0]));
  if (found && !fits)
    return fail(Code::invalid_argument, fmt::format("run: {} is an agent and takes one task", words[0]),
                "task", fmt::format("cru run {} \"TASK\"", words[0]));
  if (found) return words[0];
  bool unknown = found.error().code == Code::not_found || found.error().code == Code::invalid_argument;
  if (!unknown || wants_agent) return fail(found.error());
  if (runs) return "";
  return fail(Code::not_found, fmt::format("\"{}\" is neither an agent nor a program", words[0]), "agent",
              fmt::format("agents: {}\n{}programs: not found on PATH", found.error().message,
                          found.error().hint.empty() ? "" : found.error().hint + "\n"));
}

Result<int> run_verb(Context& context, const Args& args) {
  if (auto trusted = trust_once_if_asked(context, args); !trusted) return fail(trusted.error());
  if (is_lone_task(args)) {
    auto backend = offer_backend(context, args.all("words")[0]);
    if (!backend) return fail(backend.error());
    auto chosen = args;
    chosen.add("backend", *std::move(backend));
    return run_verb(context, chosen);
  }
  auto agent = agent_of(context, args);
  if (!agent) return fail(agent.error());
  if (!agent->empty()) return run_agent(context, args, *agent, args.all("words")[1]);
  auto body = request_body(args);
  if (!body) return fail(body.error());
  if (auto size = terminal_size(standard_output); size && args.has("pty")) {
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
  if (!text && text.error().field == "task" && text.error().hint.empty())
    text.error().hint = fmt::format("cru run --backend {} \"TASK\"", args.get("backend"));
  if (!text) return fail(text.error());
  auto run = parse_json(*text);
  if (!run || !run->is_object()) return fail(Code::internal, "unexpected reply from the daemon: not a run");
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
  options.show_questions = !context.json;
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
      .summary = "Runs an agent, a command or an agent CLI under supervision",
      .arguments = {{.name = "words",
                     .summary =
                         "an agent and its task, a command, or a task for the backend, if that needs one",
                     .required = false,
                     .rest = true},
                    {.name = "command", .summary = "the command", .required = false, .behind_dashes = true}},
      .flags = {{.name = "id",
                 .kind = Kind::text,
                 .value = "ID",
                 .summary = "the task id of the run; generated if omitted"},
                {.name = "detach", .letter = 'd', .summary = "print the id and return immediately"},
                {.name = "backend",
                 .letter = 'b',
                 .kind = Kind::text,
                 .value = "NAME",
                 .summary = "claude, codex, gemini, or a name from the configuration"},
                {.name = "worktree",
                 .letter = 'w',
                 .summary = "give the run its own git worktree and branch"},
                {.name = "pty", .letter = 't', .summary = "run in a pseudo-terminal"},
                {.name = "confine", .summary = "confine the command as agents are confined"},
                {.name = "no-network", .summary = "no network access for a confined run"},
                {.name = "no-stdin", .summary = "close standard input"},
                env_flag(),
                {.name = "cwd",
                 .kind = Kind::text,
                 .value = "DIR",
                 .summary = "working directory; default: the current one"},
                {.name = "raw", .summary = "print the exact bytes, including all escape sequences"}},
      .examples = {"cru run tester \"cover the login fix\"", "cru run -- make test",
                   "cru run --id nightly --detach -- ./nightly.sh --all",
                   "cru run --backend claude --worktree \"fix the login bug\"", "cru run --backend tests"},
      .run = run_verb,
      .details =
          "Without --detach, prints the output and exits with 0, or with 6 if the run failed. The "
          "first\nCtrl-C stops the run; the second returns without waiting. The run depends neither on "
          "this\ncommand nor on the daemon; see cru ps, cru logs and cru show. The report of an agent is "
          "stored in\n.crucible/sessions; see cru sessions show."};
  for (auto& flag :
       mind_flags("for agents: grant this permission, beyond its definition's; for confined runs: allow "
                  "ssh-agent, gpg or docker"))
    run.flags.push_back(std::move(flag));
  run.flags.push_back(trust_once_flag());
  table.push_back(run);
  run.path = "spawn";
  run.group = "Live agents";
  run.summary = "Spawns a live agent (--live), or runs an agent like cru run";
  run.examples = {"cru spawn --live code-reviewer", "cru spawn --live --name Ada --role helper --at 10,5"};
  for (auto& flag : live_flags()) run.flags.push_back(std::move(flag));
  run.run = [](Context& context, const Args& args) {
    if (!args.has("live")) return run_verb(context, args);
    if (auto trusted = trust_once_if_asked(context, args); !trusted)
      return Result<int>(fail(trusted.error()));
    return spawn_live(context, args);
  };
  table.push_back(std::move(run));
}

}  // namespace cru::cli
