// `cru run`: starts a command or an agent CLI, and stays with it unless told otherwise.
#include <fmt/format.h>

#include <algorithm>
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
#include "edges/cli/verbs/run_task.h"
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

/// What is to be run.
struct Meant {
  enum class Kind { agent, backend, command };
  Kind kind = Kind::command;
  std::string name = {};                ///< of the agent or the backend
  std::vector<std::string> words = {};  ///< its task, if there is one; or the command
};

Result<json::object> request_body(const Args& args, const Meant& meant,
                                  const std::optional<std::string>& task) {
  json::object body;
  bool is_backend = meant.kind == Meant::Kind::backend;
  if (is_backend) {
    body["backend"] = meant.name;
    if (task) body["task"] = *task;
  } else {
    body["argv"] = json::value_from(meant.words);
  }
  auto variables = environment_for(is_backend ? meant.name : "", args);
  if (!variables) return fail(variables.error());
  body["env"] = *std::move(variables);
  std::error_code error;
  auto folder = std::filesystem::canonical(args.get("cwd", "."), error);
  if (error) return fail(Code::invalid_argument, "no such folder: " + args.get("cwd", "."), "cwd");
  if (!is_utf8(folder.native()))
    return fail(
        Code::invalid_argument,
        fmt::format("the name of the folder is not valid UTF-8: {}", safe_for_terminal(folder.native())),
        "cwd", "rename it, or work in another folder");
  body["cwd"] = folder.string();
  for (const char* name : {"worktree", "pty", "confine"})
    if (args.has(name)) body[name] = true;
  if (args.has("no-network")) body["network"] = false;
  if (auto permits = permits_in(args); !permits.empty()) body["permit"] = json::value_from(permits);
  if (args.has("no-stdin")) body["stdin"] = false;
  if (args.has("budget")) body["budget"] = args.get("budget");
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
      "to give an agent CLI this task: cru run {} {}\n"
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

bool is_agent_cli(std::string_view name) { return is_one_of(name, {"claude", "codex", "gemini"}); }

/// The backends of the configuration.
std::vector<std::string> configured_backends(Context& context) {
  constexpr std::string_view before = "backends.", behind = ".argv";
  auto config = context.client().get("/config");
  const auto* settings = config ? array_at(*config, "settings") : nullptr;
  std::vector<std::string> names;
  for (const auto& setting : settings ? *settings : json::array()) {
    auto key = setting.is_object() ? text_or(setting.get_object(), "key") : std::string_view();
    if (key.starts_with(before) && key.ends_with(behind))
      names.emplace_back(key.substr(before.size(), key.size() - before.size() - behind.size()));
  }
  return names;
}

/// What was meant, if the name of a backend is mistyped. Of agents the daemon knows it.
std::string mistyped_backend(const std::string& word, std::vector<std::string> backends,
                             const std::vector<std::string>& rest) {
  backends.insert(backends.end(), {"claude", "codex", "gemini"});
  auto near = closest(word, backends);
  if (near.empty()) return {};
  std::string typed = "cru run " + near;
  for (const auto& each : rest) typed += " " + as_shell_word(each);
  return fmt::format("did you mean: {}\n", typed);
}

/// The option that says that no agent of a definition is meant; empty if there is none.
std::string option_of_commands(const Args& args) {
  for (const char* flag : {"id", "worktree", "pty", "env", "cwd", "raw", "confine", "no-network"})
    if (args.has(flag)) return flag;
  return "";
}

std::unexpected<Error> not_for_agents(const std::string& flag) {
  return fail(Code::invalid_argument,
              fmt::format("run: --{} applies to commands and backends, not to agents", flag), flag);
}

/// More than a task behind a name: the words as one, and as the program's.
std::unexpected<Error> takes_one_task(const std::string& name, std::string_view what,
                                      const std::vector<std::string>& rest) {
  std::string task, words;
  for (const auto& word : rest) {
    task += (task.empty() ? "" : " ") + word;
    words += " " + as_shell_word(word);
  }
  auto hint = fmt::format("cru run {} {}", name, rest.empty() ? "\"TASK\"" : as_shell_word(task));
  if (is_program(name)) hint += fmt::format("\nto run the program itself: cru run -- {}{}", name, words);
  return fail(Code::invalid_argument, fmt::format("run: {} is {} and takes one task", name, what), "task",
              std::move(hint));
}

/// What a name in first place means: a definition before a backend, a backend before a program.
Result<Meant> meaning_of_name(Context& context, const Args& args, bool wants_agent) {
  auto words = args.all("words");
  auto first = words.front();
  std::vector<std::string> rest(words.begin() + 1, words.end());
  bool fits = std::ranges::count_if(rest, [](const auto& word) { return word != "-"; }) <= 1;
  bool runs = is_program(first), is_cli = is_agent_cli(first);
  Meant command{.words = words};
  // A path is a program, and so is what has a terminal of its own.
  if (!wants_agent && (first.contains('/') || args.has("pty") || (runs && !is_cli && !fits))) return command;
  auto found = context.client().get("/definitions/" + percent_encode(first));
  auto flag = option_of_commands(args);
  if (found && !flag.empty() && (!runs || is_cli)) return not_for_agents(flag);
  if (found && flag.empty()) {
    if (!fits) return takes_one_task(first, "an agent", rest);
    return Meant{Meant::Kind::agent, first, std::move(rest)};
  }
  bool unknown =
      !found && (found.error().code == Code::not_found || found.error().code == Code::invalid_argument);
  if (!found && (!unknown || wants_agent)) return fail(found.error());
  auto backends = is_cli ? std::vector<std::string>() : configured_backends(context);
  if (is_cli || std::ranges::find(backends, first) != backends.end()) {
    if (!fits) return takes_one_task(first, "a backend", rest);
    context.note(fmt::format("running the backend {}{}", first,
                             runs ? fmt::format(" (for the plain program: cru run -- {})", first) : ""));
    return Meant{Meant::Kind::backend, first, std::move(rest)};
  }
  if (runs || found) return command;
  return fail(Code::not_found, fmt::format("\"{}\" is neither an agent nor a program", first), "agent",
              fmt::format("{}agents: {}\n{}programs: not found on PATH",
                          mistyped_backend(first, std::move(backends), rest), found.error().message,
                          found.error().hint.empty() ? "" : found.error().hint + "\n"));
}

Result<Meant> meaning_of(Context& context, const Args& args) {
  auto words = args.all("words");
  const auto& command = args.all("command");
  bool wants_agent = args.has("model") || permits_in(args).size() < args.all("permit").size();
  auto flag = args.has("backend") ? "backend" : option_of_commands(args);
  if (wants_agent && !flag.empty()) return not_for_agents(flag);
  if (wants_agent && (words.empty() || !command.empty()))
    return fail(Code::invalid_argument, "run: --model and --permit apply only to agents", "model",
                "cru run AGENT \"TASK\"");
  if (!words.empty() && command.empty() && !args.has("backend"))
    return meaning_of_name(context, args, wants_agent);
  words.insert(words.end(), command.begin(), command.end());
  if (args.has("backend")) {
    if (std::ranges::count_if(words, [](const auto& word) { return word != "-"; }) > 1)
      return fail(Code::invalid_argument, "a backend takes one task", "task",
                  fmt::format("cru run --backend {} \"TASK\"", args.get("backend")));
    return Meant{Meant::Kind::backend, args.get("backend"), std::move(words)};
  }
  if (words.empty())
    return fail(Code::invalid_argument, "nothing to run", "command",
                "cru run AGENT \"TASK\"\ncru run claude \"TASK\"\ncru run -- COMMAND…");
  return Meant{Meant::Kind::command, "", std::move(words)};
}

/// What was typed, and what comes on standard input.
Result<std::optional<std::string>> task_for(const Context& context, const Args& args, const Meant& meant) {
  bool takes_input = !args.has("no-stdin") && !args.has("pty");
  bool is_cli = is_agent_cli(meant.name);
  if (!takes_input || meant.kind == Meant::Kind::command)
    return meant.words.empty() ? std::nullopt : std::optional(meant.words[0]);
  TaskRules rules;
  // A backend of the configuration may be a whole command: it gets what is typed, and `-` if that is typed.
  if (meant.kind == Meant::Kind::backend && !is_cli &&
      std::ranges::find(meant.words, "-") == meant.words.end())
    return meant.words.empty() ? std::nullopt : std::optional(meant.words[0]);
  if (meant.name == "claude" && meant.kind == Meant::Kind::backend) rules.limit = 512 * 1024;
  return task_of(context, meant.words, rules);
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
  auto meant = meaning_of(context, args);
  if (!meant) return fail(meant.error());
  auto task = task_for(context, args, *meant);
  if (!task) return fail(task.error());
  if (meant->kind == Meant::Kind::agent && !*task) return takes_one_task(meant->name, "an agent", {});
  if (meant->kind == Meant::Kind::agent) return run_agent(context, args, meant->name, **task);
  auto body = request_body(args, *meant, *task);
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
    text.error().hint =
        fmt::format("cru run {0} \"TASK\"\nto run the program itself, at this terminal: cru run --pty -- {0}",
                    meant->name);
  for (const auto& trouble : client.troubles())
    if (!text || trouble.starts_with("changed in the configuration")) context.note(trouble);
  if (!text) return fail(text.error());
  auto run = parse_json(*text);
  if (!run || !run->is_object()) return fail(Code::internal, "unexpected reply from the daemon: not a run");
  id = text_or(run->get_object(), "task_id", id);
  if (meant->kind == Meant::Kind::command) note_unread_input(context, id);
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
                     .summary = "an agent or a backend and its task, or a command; - reads the task from "
                                "standard input",
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
      .examples = {"cru run tester \"cover the login fix\"", "cru run claude \"fix the login bug\"",
                   "git diff | cru run code-reviewer \"review this\"", "cru run claude - < task.md",
                   "cru run -- make test", "cru run --id nightly --detach -- ./nightly.sh --all",
                   "cru run --backend codex --worktree \"fix the login bug\"", "cru run --backend tests"},
      .run = run_verb,
      .details =
          "The first argument is the name of an agent, otherwise of a backend, otherwise of a program; "
          "everything after -- is the command.\n\nStandard input: agents, claude, codex and gemini read "
          "their task from a file or a pipe if no task is given; otherwise its content is added below the "
          "task as context. cru does not wait for a pipe to which nothing is written (2 s with a task, 10 s "
          "without); - waits for its end. In a loop that reads its lines from standard input, add < "
          "/dev/null. A command does not get standard input; see cru send.\n\nWithout --detach, prints the "
          "output and exits with 0, or with 6 if the run failed. The first Ctrl-C stops the run; the second "
          "returns without waiting. The run depends neither on this command nor on the daemon; see cru ps, "
          "cru logs and cru show. The report of an agent is stored in .crucible/sessions; see cru sessions "
          "show."};
  for (auto& flag : mind_flags("for agents: grant this permission in addition to those of the definition; "
                               "for confined runs: allow ssh-agent, gpg or docker"))
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
