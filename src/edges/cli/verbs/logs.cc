// What a person does with a run that is there: ps, logs, attach, send, show.
#include <fmt/format.h>

#include "base/id.h"
#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/terminal/attach.h"
#include "edges/cli/terminal/follow.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/run_ids.h"

namespace cru::cli {
namespace {

Result<int> show_pages(Context& context, PageRequest request, OutputPrinter::Options options) {
  OutputPrinter printer(context, options);
  for (;;) {
    auto page = read_page(context.client(), request);
    if (!page) return fail(page.error());
    const auto* lines = array_at(*page, "lines");
    if (lines) printer.print(*lines);
    if (auto damaged = int_or(*page, "damaged"); damaged > 0)
      context.note(fmt::format("{} damaged lines were skipped", damaged));
    if (auto missing = int_or(*page, "missing"); missing > 0)
      context.note(fmt::format("{} lines are missing: the output file is shorter than its record", missing));
    auto last = int_or(*page, "last_seq", request.since);
    if (!bool_or(*page, "more") || !lines || lines->empty() || last <= request.since) break;
    request.since = last;
    request.tail = 0;
  }
  printer.finish();
  return 0;
}

Result<int> log_of(Context& context, const Args& args, const std::string& id) {
  PageRequest request{.id = id,
                      .since = args.number("since").value_or(0),
                      .limit = args.number("tail") ? 10000 : 1000,
                      .tail = args.number("tail").value_or(0),
                      .stream = args.get("stream"),
                      .raw = args.has("raw") || context.json};
  bool follows = args.has("follow");
  OutputPrinter::Options print{.timestamps = args.has("timestamps"), .raw = args.has("raw")};
  if (context.json && !follows) request.limit = 10000;
  auto first = with_id(context.client(), Named::run, request.id, [&](const std::string& id) {
    request.id = id;
    return context.client().call_text("GET", page_target(request));
  });
  if (!first) return fail(first.error());
  if (context.json && !follows) {
    context.print_json(*first);
    return 0;
  }
  if (!follows) return show_pages(context, request, print);
  FollowOptions options{.since = request.since,
                        .stream = request.stream,
                        .print = print,
                        .show_questions = !context.json,
                        .answers_here = false,
                        .json_lines = context.json};
  if (request.tail > 0) {
    auto page = parse_json(*first);
    const auto* lines = page && page->is_object() ? array_at(page->get_object(), "lines") : nullptr;
    if (lines && !lines->empty() && lines->front().is_object())
      options.since = int_or(lines->front().get_object(), "seq", 1) - 1;
    else if (page && page->is_object())
      options.since = int_or(page->get_object(), "last_seq");
  }
  auto followed = follow(context, request.id, options);
  if (!followed) return fail(followed.error());
  if (!followed->run) return exit_interrupted;
  if (!context.json && context.err.tty)
    context.note(fmt::format("{} {}", request.id, text_or(*followed->run, "status")));
  return 0;
}

Result<int> logs_verb(Context& context, const Args& args) {
  const auto& ids = args.all("id");
  if (ids.size() > 1 && args.has("follow"))
    return fail(Code::invalid_argument, "logs: --follow takes one run", "id",
                "follow everything that happens with: cru events -f");
  return with_each(context, ids, [&](const std::string& id) {
    // As tail does it: whose lines these are.
    if (ids.size() > 1 && !context.json)
      context.print(fmt::format("{}==> {} <==\n", &id == &ids.front() ? "" : "\n", safe_for_terminal(id)));
    return log_of(context, args, id);
  });
}

Result<int> show_runs_verb(Context& context, const Args& args) {
  const auto& ids = args.all("id");
  return with_each(context, ids, [&](const std::string& id) {
    if (&id != &ids.front() && !context.json) context.print("\n");
    return run_row(context, "get_run", {{"id", id}});
  });
}

Result<int> attach_verb(Context& context, const Args& args) {
  auto id = args.get("id");
  return with_id(context.client(), Named::run, id,
                 [&](const std::string& whole) { return attach(context, whole); });
}

Result<std::string> read_stdin() {
  std::string text;
  for (std::string piece; !(piece = read_in(standard_input, 65536)).empty();) {
    text += piece;
    if (text.size() > (1u << 20)) return fail(Code::too_large, "standard input is longer than 1 MiB");
  }
  return text;
}

Result<int> send_verb(Context& context, const Args& args) {
  json::object body;
  if (args.has("raw")) body["raw"] = true;
  if (args.has("eof")) body["eof"] = true;
  if (args.get("text") == "-") {
    auto text = read_stdin();
    if (!text) return fail(text.error());
    body["data"] = to_base64(*text);
    body["raw"] = true;
  } else if (args.has("text")) {
    body["text"] = args.get("text");
  } else if (!args.has("eof")) {
    return fail(Code::invalid_argument, "nothing to send", "text", "cru send ID TEXT, or cru send ID --eof");
  }
  auto id = args.get("id");
  auto sent = with_id(context.client(), Named::run, id, [&](const std::string& whole) {
    return context.client().call_text("POST", run_path(whole) + "/input", to_text(body));
  });
  if (!sent) return fail(sent.error());
  if (context.json) context.print_json(*sent);
  return 0;
}

}  // namespace

void add_output_commands(std::vector<Command>& table) {
  auto list = generic_command("list_runs");
  list.flags.insert(list.flags.begin(), {.name = "all", .letter = 'a', .summary = "show up to 1000 runs"});
  list.run = [inner = list.run](Context& context, const Args& args) {
    auto changed = args;
    if (args.has("all") && !args.has("limit")) changed.add("limit", "1000");
    auto code = inner(context, changed);
    for (const auto& trouble : context.client().troubles()) context.note(trouble);
    return code;
  };
  list.examples = {"cru ps", "cru ps --status active", "cru ps --json"};
  table.push_back(std::move(list));

  table.push_back(
      {.path = "logs",
       .group = "Runs",
       .summary = "Shows the output of runs",
       .arguments = {several_ids()},
       .flags = {{.name = "follow", .letter = 'f', .summary = "follow until the run ends"},
                 {.name = "since",
                  .kind = Kind::number,
                  .value = "SEQ",
                  .summary = "only lines after this sequence number"},
                 {.name = "stream",
                  .kind = Kind::text,
                  .value = "NAME",
                  .summary = "only stdout or only stderr",
                  .one_of = "stdout|stderr"},
                 {.name = "tail",
                  .letter = 'n',
                  .kind = Kind::number,
                  .value = "N",
                  .summary = "only the last N lines"},
                 {.name = "timestamps", .summary = "print the time before each line"},
                 {.name = "raw",
                  .summary = "print exactly what the run wrote: escape sequences, an agent program's JSON"}},
       .examples = {"cru logs nightly", "cru logs -f nightly", "cru logs nightly --stream stderr --tail 20",
                    "cru logs nightly other"},
       .run = logs_verb,
       .reads = true,
       .details = "Colours are shown in a terminal only; all other escape sequences are made visible."});
  table.push_back({.path = "attach",
                   .group = "Runs",
                   .summary = "Attaches to the terminal of a run started with --pty",
                   .arguments = {one_id()},
                   .examples = {"cru run --pty --detach --id shell -- bash", "cru attach shell"},
                   .run = attach_verb,
                   .reads = true,
                   .details = "Press Ctrl-] d to detach; the run continues. Ctrl-] twice sends one Ctrl-]."});
  table.push_back(
      {.path = "send",
       .group = "Runs",
       .summary = "Writes a line to a run's standard input",
       .arguments = {one_id(),
                     {.name = "text", .summary = "the text; - reads standard input", .required = false}},
       .flags = {{.name = "raw", .summary = "do not add a newline"},
                 {.name = "eof", .summary = "close standard input afterwards"}},
       .examples = {"cru send nightly yes", "cru send nightly - < answers.txt", "cru send nightly --eof"},
       .run = send_verb,
       .reads = true});
  auto show = generic_command("get_run");
  std::erase_if(show.flags, [](const Flag& flag) { return flag.name == "wait-seconds"; });
  show.arguments = {several_ids()};
  show.examples = {"cru show nightly", "cru show nightly other --json"};
  show.details = "With --json, everything that is known; of several runs one line each.";
  show.run = show_runs_verb;
  table.push_back(std::move(show));
}

}  // namespace cru::cli
