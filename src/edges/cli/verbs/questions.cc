// Questions: the person's side (list, show, answer), and `cru ask`, the run's side.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>

#include "base/text.h"
#include "edges/cli/core/asking.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/inbox_commands.h"
#include "platform/loop/clock.h"
#include "platform/process/signals.h"

namespace cru::cli {
namespace {

/// What the answer to our question has become.
Result<int> wait_for_answer(Context& context, const std::string& id, std::optional<int64_t> seconds) {
  Signals signals({SIGINT, SIGTERM, SIGHUP});
  auto& client = context.client();
  client.interrupt_on({signals.fd()});
  auto start = system_clock().boot();
  for (;;) {
    std::chrono::seconds wait = 30s;
    if (seconds) {
      auto left = std::max(start + std::chrono::seconds(*seconds) - system_clock().boot(), Duration(0));
      wait = std::min(wait, std::chrono::ceil<std::chrono::seconds>(left));
    }
    auto text = client.call_text("GET", fmt::format("{}?wait_seconds={}", question_path(id), wait.count()),
                                 {}, 30s + wait);
    if (!text && client.interrupted()) return exit_interrupted;
    auto found = object_in(text, "a question");
    if (!found) return fail(found.error());
    const auto& question = *found;
    auto status = text_or(question, "status");
    if (status == "answered") {
      if (context.json)
        context.print_json(*text);
      else
        context.print(fmt::format("{}\n", text_or(question, "response")));
      return 0;
    }
    if (status != "pending")
      return fail(Code::conflict, fmt::format("question {} has {}", id, status), {},
                  fmt::format("see: cru questions show {}", id));
    if (seconds && wait.count() == 0)
      return fail(Code::timed_out, fmt::format("question {} was not answered within {} s", id, *seconds), {},
                  fmt::format("it is still pending; read the answer later: cru questions show {}", id));
  }
}

Result<int> ask_verb(Context& context, const Args& args) {
  json::object body{{"prompt", args.get("prompt")}};
  if (args.has("option")) body["options"] = json::value_from(args.all("option"));
  if (args.has("run")) body["task_id"] = args.get("run");
  auto asked = context.client().post("/questions", body);
  if (!asked) {
    auto error = asked.error();
    if (error.hint.empty() && error.code == Code::invalid_argument && !api::own_environment("CRU_RUN"))
      error.hint = "cru ask works inside a run; elsewhere, specify the run with --run ID";
    return fail(std::move(error));
  }
  return wait_for_answer(context, std::string(text_or(*asked, "id")), args.number("timeout"));
}

/// `--answer 2=443`, in the order of the questions; those that are left out are empty, and the daemon says
/// so.
Result<json::array> numbered_answers(const std::vector<std::string>& given) {
  constexpr size_t most = 64;
  json::array answers;
  for (const auto& each : given) {
    auto equals = each.find('=');
    size_t number = 0;
    auto [end, error] = std::from_chars(each.data(), each.data() + std::min(equals, each.size()), number);
    if (equals == std::string::npos || error != std::errc() || end != each.data() + equals || number < 1 ||
        number > most)
      return fail(Code::invalid_argument,
                  fmt::format("questions answer: --answer takes N=TEXT, the number of the question and its "
                              "answer, not \"{}\"",
                              each),
                  "answer", "for example: --answer 1=SQLite --answer 2=443");
    while (answers.size() < number) answers.emplace_back("");
    answers[number - 1] = each.substr(equals + 1);
  }
  return answers;
}

/// Asks at the terminal, one after another. Empty when the input ends first.
json::object answers_from_terminal(const Context& context, const json::object& question) {
  auto asks = safe_for_terminal(text_or(question, "task_id")) + " asks: ";
  auto parts = parts_in(question).size();
  auto print = [&](const std::string& text) { context.print(hanging(text, context.out)); };
  print(asks + (parts == 1 ? asked_text(question) : fmt::format("{} questions\n", parts)));
  AnswerSheet sheet(question);
  while (!sheet.is_complete()) {
    print(sheet.prompt());
    std::string line;
    if (!std::getline(std::cin, line)) return {};
    print(sheet.take(line));
  }
  return sheet.body();
}

/// What is asked, for somebody who gave no answer and cannot be asked.
Error no_answer_given(const json::object& question) {
  auto parts = parts_in(question).size();
  std::string text(asked_text(question));
  while (text.ends_with('\n')) text.pop_back();
  auto id = text_or(question, "id");
  return {Code::invalid_argument,
          fmt::format("questions answer: no answer given. {} asks: {}", text_or(question, "task_id"), text),
          "answer",
          parts == 1
              ? fmt::format("cru questions answer {} ANSWER", id)
              : fmt::format("one answer for each, in order: cru questions answer {} ANSWER ANSWER …", id)};
}

Result<int> answer_verb(Context& context, const Args& args) {
  auto input = row_input("answer_question", args);
  input.erase("answer");  // of the row it is the one text; here it is typed with a number
  input["only_options"] = !args.has("free-text");
  if (args.has("answer") && args.has("answers"))
    return fail(
        Code::invalid_argument, "questions answer: give the answers in order, or with --answer, not both",
        "answer",
        fmt::format("for example: cru questions answer {} --answer 1=SQLite --answer 2=443", args.get("id")));
  if (args.has("answer")) {
    auto answers = numbered_answers(args.all("answer"));
    if (!answers) return fail(answers.error());
    input["answers"] = *std::move(answers);
  }
  if (!input.contains("answers")) {
    auto text = call_row(context, "get_question", {{"id", args.get("id")}});
    auto found = object_in(text, "a question");
    if (!found) return fail(found.error());
    const auto& asked = *found;
    if (text_or(asked, "status") == "pending") {
      if (!context.can_ask() || context.json) return fail(no_answer_given(asked));
      auto body = answers_from_terminal(context, asked);
      if (body.empty())
        return fail(Code::invalid_argument, "questions answer: no answer given", "answer",
                    fmt::format("it is still pending: cru questions answer {} ANSWER", args.get("id")));
      input["answers"] = body["answers"];
      input["only_options"] = body["only_options"];
    } else {
      input["answers"] = json::array{""};  // the daemon says what has become of it
    }
    input["id"] = text_or(asked, "id");
  }
  return run_row(context, "answer_question", std::move(input));
}

}  // namespace

void add_question_commands(std::vector<Command>& table) {
  add_inbox_list(table,
                 {.operation = "list_questions",
                  .noun = "questions",
                  .summary = "Lists pending questions",
                  .examples = {"cru questions list --pending", "cru questions list --task-id nightly --json"},
                  .bare_examples = {"cru questions", "cru questions answer q1 yes"}});
  table.push_back(command_for_people("get_question", {"wait-seconds"}));
  auto answer = command_for_people("answer_question", {"only-options", "answer"});
  answer.arguments.front().summary = "the question's id, or the run that asks";
  answer.arguments.back() = {
      .name = "answers",
      .summary = "the answer, or one for each of several questions; you are asked if it is omitted",
      .required = false,
      .rest = true};
  answer.flags.push_back({.name = "answer",
                          .letter = 'a',
                          .kind = Kind::text,
                          .value = "N=TEXT",
                          .summary = "the answer to the question with this number",
                          .repeats = true});
  answer.flags.push_back({.name = "free-text", .summary = "send the answer even if it is not an option"});
  answer.examples = {"cru questions answer nightly yes", "cru questions answer q1 2",
                     "cru questions answer q1 Postgres 443",
                     "cru questions answer q1 --answer 2=443 --answer 1=2",
                     "cru questions answer q1 --free-text \"neither: use the old one\""};
  answer.details =
      "Specify an option by its text or by its number, starting at 1. Instead of its id, a question can be "
      "named by its run if it is the only pending question of that run. If several questions are asked at "
      "once, give one answer for each, in order, or name the question with --answer; one argument with the "
      "answers separated by semicolons also works. For a question that accepts several options, separate "
      "them with commas. Without an answer, you are asked at the terminal, one question after another.";
  answer.run = answer_verb;
  table.push_back(std::move(answer));
  table.push_back({.path = "ask",
                   .group = "Questions",
                   .summary = "Asks the user from inside a run, waits, and prints the answer",
                   .arguments = {{.name = "prompt", .summary = "the question"}},
                   .flags = {{.name = "option",
                              .letter = 'o',
                              .kind = Kind::text,
                              .value = "TEXT",
                              .summary = "a possible answer",
                              .repeats = true},
                             {.name = "timeout",
                              .kind = Kind::seconds,
                              .value = "DURATION",
                              .summary = "stop waiting after this time: 30s, 10m; 30 means seconds"},
                             {.name = "run",
                              .kind = Kind::text,
                              .value = "ID",
                              .summary = "the run that asks; default: the current run"}},
                   .examples = {"cru ask \"Deploy now?\" --option yes --option no",
                                "answer=$(cru ask \"Which branch?\")"},
                   .run = ask_verb});
}

}  // namespace cru::cli
