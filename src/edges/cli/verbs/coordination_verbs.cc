// work, locks, memory, teams, peers, guardrails: the rows of coordination where a person deserves
// better.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/core/trusting.h"
#include "edges/cli/verbs/all_commands.h"

namespace cru::cli {
namespace {

Command verb_of(const std::string& operation, std::string path = {}) {
  auto command = generic_command(operation);
  if (!path.empty()) command.path = std::move(path);
  command.group = "Coordination";
  return command;
}

void drop_flags(Command& command, std::initializer_list<std::string_view> names) {
  std::erase_if(command.flags,
                [&](const Flag& flag) { return std::ranges::find(names, flag.name) != names.end(); });
}

/// `--wait SECONDS` in place of `--wait-seconds`.
void let_wait(Command& command, std::string operation) {
  for (auto& flag : command.flags)
    if (flag.name == "wait-seconds") flag.name = "wait", flag.value = "SECONDS";
  command.run = [operation = std::move(operation)](Context& context, const Args& args) {
    auto input = row_input(operation, args);
    if (auto seconds = args.number("wait")) input["wait_seconds"] = *seconds;
    return run_row(context, operation, std::move(input));
  };
}

Result<json::object> reply_object(Result<std::string> text) {
  if (!text) return fail(text.error());
  auto value = parse_json(*text);
  if (!value || !value->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not an object");
  return std::move(value->get_object());
}

Result<int> submit_verb(Context& context, const Args& args) {
  if (args.has("command") && !args.has("verify"))
    return fail(Code::invalid_argument,
                fmt::format("work submit: unexpected \"{}\"", args.all("command").front()), {},
                "put the verify command after --verify --");
  if (args.has("verify") && !args.has("command"))
    return fail(Code::invalid_argument, "work submit: --verify has no command", {},
                "for example: cru work submit test \"fix the parser\" --verify -- make test");
  auto input = row_input("submit_work", args);
  input.erase("verify");
  if (args.has("command")) input["verify"] = json::value_from(args.all("command"));
  return run_row(context, "submit_work", std::move(input));
}

Result<int> complete_verb(Context& context, const Args& args) {
  auto input = row_input("complete_work", args);
  input["success"] = !args.has("failed");
  if (args.has("failed")) input["error_message"] = args.get("failed");
  if (args.has("final")) input["retry"] = false;
  // The reply comes when its verify command has ended: a person who looks on is told why it takes long.
  if (context.err.tty && !context.json && !args.has("failed")) {
    auto work = reply_object(call_row(context, "get_work_item", row_input("get_work_item", args)));
    const auto* verify = work ? array_at(*work, "verify") : nullptr;
    if (verify && !verify->empty())
      context.note(fmt::format("verifying: {}", safe_for_terminal(to_text(*verify))));
  }
  return run_row(context, "complete_work", std::move(input));
}

Result<int> why_verb(Context& context, const Args& args) {
  auto text = call_row(context, "why_work", row_input("why_work", args));
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  auto reply = reply_object(std::move(text));
  if (!reply) return fail(reply.error());
  context.print(safe_for_terminal(text_or(*reply, "why")) + "\n");
  return 0;
}

/// FILE as a plain word in place of `--file FILE`, which stays.
void let_name_file(Command& command) {
  for (auto& flag : command.flags)
    if (flag.name == "file") flag.value = "FILE";
  command.arguments.push_back({.name = "team-file",
                               .summary = "the team file; default: .crucible/teams.yaml or teams.yaml",
                               .required = false});
}

Result<json::object> team_input(std::string_view operation, const Args& args) {
  auto input = row_input(operation, args);
  if (args.has("team-file") && args.has("file"))
    return fail(Code::invalid_argument, "the team file is given twice");
  if (args.has("team-file")) input["file"] = args.get("team-file");
  return input;
}

/// `file:line: field: reason`, as a compiler says it.
Result<int> validate_team_verb(Context& context, const Args& args) {
  auto input = team_input("validate_team", args);
  if (!input) return fail(input.error());
  auto text = call_row(context, "validate_team", std::move(*input));
  auto reply = reply_object(text);
  if (!reply) return fail(reply.error());
  bool valid = bool_or(*reply, "valid");
  if (context.json) {
    context.print_json(*text);
    return valid ? 0 : 1;
  }
  const auto* errors = array_at(*reply, "errors");
  for (const auto& error : errors ? *errors : json::array()) {
    if (!error.is_object()) continue;
    const auto& problem = error.get_object();
    auto line = fmt::format("{}:{}: {}: {}", text_or(problem, "file", text_or(*reply, "file")),
                            int_or(problem, "line"), text_or(problem, "field"), text_or(problem, "reason"));
    context.print(safe_for_terminal(line) + "\n");
  }
  if (valid) context.note(fmt::format("{} is valid", text_or(*reply, "file", "the team file")));
  return valid ? 0 : 1;
}

Result<int> guardrails_verb(Context& context, const Args& args) {
  auto text = call_row(context, "check_guardrails", row_input("check_guardrails", args));
  auto reply = reply_object(text);
  if (!reply) return fail(reply.error());
  bool safe = bool_or(*reply, "safe");
  const auto* violations = array_at(*reply, "violations");
  constexpr std::array<std::string_view, 5> columns = {"pattern_name", "severity", "category", "blocked",
                                                       "matched_text"};
  if (context.json)
    context.print_json(*text);
  else if (violations && !violations->empty())
    context.print(table(columns, *violations, context.out));
  else
    context.note("no rule matches");
  return safe ? 0 : 1;
}

Command team_row(const std::string& operation, std::string path) {
  auto command = verb_of(operation, std::move(path));
  let_name_file(command);
  command.run = [operation](Context& context, const Args& args) -> Result<int> {
    auto input = team_input(operation, args);
    if (!input) return fail(input.error());
    return run_row(context, operation, std::move(*input));
  };
  return command;
}

Result<int> up_verb(Context& context, const Args& args) {
  auto input = team_input("team_up", args);
  if (!input) return fail(input.error());
  if (args.has("command") && args.has("argv"))
    return fail(Code::invalid_argument, "the command is given twice: with --argv and after --");
  if (args.has("command")) (*input)["argv"] = json::value_from(args.all("command"));
  if (auto trusted = trust_once_if_asked(context, args); !trusted) return fail(trusted.error());
  return run_row(context, "team_up", std::move(*input));
}

void add_teams(std::vector<Command>& table) {
  auto list = team_row("list_teams", "teams list");
  list.examples = {"cru teams", "cru teams list crew.yaml"};
  list.details =
      "A team is described in .crucible/teams.yaml or teams.yaml (docs/formats/teams.md):\n\n"
      "  team: compiler\n"
      "  agents:\n"
      "    - name: lead\n"
      "      role: coordinator\n"
      "      capabilities: [planning]\n"
      "      description: splits the work\n"
      "    - name: coder\n"
      "      role: worker\n"
      "      capabilities: [c++]\n"
      "      description: writes the code";
  table.push_back(std::move(list));
  auto validate = team_row("validate_team", "teams validate");
  validate.examples = {"cru teams validate", "cru teams validate crew.yaml"};
  validate.details =
      "Prints one line per error: file:line: field: reason. Exits with 0 if there is none, otherwise 1.";
  validate.run = validate_team_verb;
  table.push_back(std::move(validate));
  auto up = team_row("team_up", "teams up");
  up.arguments.push_back({.name = "command",
                          .summary = "the command for every member, instead of a backend",
                          .required = false,
                          .behind_dashes = true});
  up.examples = {"cru teams up --backend claude", "cru teams up --members reviewer",
                 "cru teams up crew.yaml -- ./agent.sh"};
  up.flags.push_back(trust_once_flag());
  up.run = up_verb;
  table.push_back(std::move(up));
  auto down = team_row("team_down", "teams down");
  down.examples = {"cru teams down"};
  table.push_back(std::move(down));
}

void add_work(std::vector<Command>& table) {
  auto list = verb_of("list_work");
  list.examples = {"cru work list --status open", "cru work list --task-type review --json"};
  auto bare = list;
  bare.path = "work";
  bare.summary = "Lists unfinished work items";
  bare.flags.clear();
  bare.examples = {"cru work", "cru work submit review \"look at the parser\""};
  bare.run = [](Context& context, const Args&) {
    return run_row(context, "list_work", {{"status", "open"}});
  };
  table.push_back(std::move(bare));
  table.push_back(std::move(list));
  auto submit = verb_of("submit_work");
  drop_flags(submit, {"verify"});
  submit.flags.push_back(
      {.name = "verify", .summary = "the command after -- must exit with 0 for the work to be completed"});
  submit.arguments.push_back(
      {.name = "command", .summary = "with --verify: the command", .required = false, .behind_dashes = true});
  submit.examples = {"cru work submit review \"look at the parser\" --priority 2",
                     "cru work submit fix \"fix the parser\" --verify -- make test"};
  submit.run = submit_verb;
  table.push_back(std::move(submit));
  auto claim = verb_of("get_work");
  let_wait(claim, "get_work");
  claim.examples = {"cru work claim --task-types review", "cru work claim --wait 60",
                    "cru work claim --max-items 4"};
  table.push_back(std::move(claim));
  auto complete = verb_of("complete_work");
  drop_flags(complete, {"success", "error-message", "retry", "items"});
  complete.arguments.front().required = true;
  complete.flags.push_back({.name = "failed",
                            .kind = Kind::text,
                            .value = "MESSAGE",
                            .summary = "report a failure with this message"});
  complete.flags.push_back({.name = "final", .summary = "with --failed: do not retry"});
  complete.examples = {"cru work complete 3f2a", "cru work complete 3f2a --result '{\"files\": 3}'",
                       "cru work complete 3f2a --failed \"the tests hang\""};
  complete.run = complete_verb;
  table.push_back(std::move(complete));
  auto why = verb_of("why_work");
  why.run = why_verb;
  why.examples = {"cru work why 3f2a"};
  table.push_back(std::move(why));
}

void add_locks(std::vector<Command>& table) {
  auto list = verb_of("check_locks");
  list.flags.clear();
  list.arguments = {{.name = "file-paths",
                     .summary = "only locks that overlap these paths",
                     .required = false,
                     .rest = true}};
  list.examples = {"cru locks list", "cru locks list src/parser.cc 'src/**/*.h'"};
  table.push_back(std::move(list));
  auto acquire = verb_of("acquire_lock");
  let_wait(acquire, "acquire_lock");
  acquire.examples = {"cru locks acquire src/parser.cc --reason \"by hand\" --ttl-minutes 30",
                      "cru locks acquire 'src/**' --wait 60", "cru locks acquire db:schema"};
  table.push_back(std::move(acquire));
  auto release = verb_of("release_lock");
  release.examples = {"cru locks release src/parser.cc"};
  table.push_back(std::move(release));
}

}  // namespace

void add_coordination_commands(std::vector<Command>& table) {
  auto crew = verb_of("list_crew");
  crew.examples = {"cru crew", "cru crew --all"};
  crew.details =
      "BADGE is the state of a member, the same in every list: needs you, failed, disconnected (gone, and "
      "left something behind), speaking, listening, thinking, using a tool, queued, idle, or done. With "
      "--json each also has the reason.";
  table.push_back(std::move(crew));
  auto peers = verb_of("discover_agents");
  peers.examples = {"cru peers", "cru peers --capability review", "cru peers --status disconnected"};
  table.push_back(std::move(peers));
  auto changes = verb_of("list_changesets");
  changes.details =
      "The session ids of agents are in: cru peers --json. A handoff shows the changes of its session.";
  table.push_back(std::move(changes));
  table.push_back(verb_of("cleanup_dead_agents"));
  add_work(table);
  add_locks(table);
  add_handoff_commands(table);
  auto remember = verb_of("remember");
  remember.examples = {"cru memory remember decision \"we pin the compiler\" --tags build"};
  table.push_back(std::move(remember));
  auto recall = verb_of("recall");
  recall.examples = {"cru memory recall \"pin compiler\"", "cru memory recall --tags build --limit 3"};
  table.push_back(std::move(recall));
  auto guardrails = verb_of("check_guardrails");
  guardrails.examples = {"cru guardrails \"git push --force\""};
  guardrails.details =
      "Exits with 0 if no rule blocks it, otherwise 1. Add your own rules in .crucible/guardrails.yaml.";
  guardrails.run = guardrails_verb;
  table.push_back(std::move(guardrails));
  add_teams(table);
}

}  // namespace cru::cli
