// `cru daemon …`: the daemon's own life. `daemon run` is the program's, not ours.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/verbs/all_commands.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/folder_notice.h"
#include "platform/files/own_folder.h"
#include "platform/files/readiness.h"
#include "platform/process/self.h"
#include "platform/process/signals.h"

namespace cru::cli {
namespace {

std::string first_line_of(const std::string& path) {
  auto text = read_file(path, 65536);
  return text ? text->substr(0, text->find('\n')) : "";
}

/// What can be said about the daemon now; `running` is false when nobody listens.
Result<json::object> describe_daemon(const Context& context) {
  json::object out{{"running", false}, {"project", context.project.root}};
  auto client = context.quiet_client();
  auto version = client.get("/version", 5s);
  if (!version && version.error().code != Code::daemon_unreachable) return fail(version.error());
  if (!version) return out;
  out["running"] = true;
  out["pid"] = client.daemon_pid();
  for (const auto& [key, value] : *version)
    if (!out.contains(key)) out[key] = value;
  out["socket"] = context.project.socket();
  if (auto url = first_line_of(context.project.url_file()); !url.empty()) out["url"] = url;
  auto active = client.get("/agents?status=active&limit=1000", 5s);
  if (const auto* runs = active ? array_at(*active, "agents") : nullptr) out["active_runs"] = runs->size();
  return out;
}

Result<int> show_daemon(Context& context) {
  auto state = describe_daemon(context);
  if (!state) return fail(state.error());
  bool running = bool_or(*state, "running");
  if (context.json)
    context.print_json(to_text(*state));
  else if (running)
    context.print(record(*state, context.out));
  else
    context.print(fmt::format("not running in {}\n", safe_for_terminal(context.project.root)));
  return running ? 0 : exit_code(Code::daemon_unreachable);
}

std::vector<std::string> run_options(const Args& args) {
  std::vector<std::string> out;
  if (args.has("port")) out = {"--port", args.get("port")};
  return out;
}

Result<int> say_started(Context& context, std::string_view what) {
  if (context.json) return show_daemon(context);
  auto state = describe_daemon(context);
  if (!state) return fail(state.error());
  auto url = text_or(*state, "url");
  context.note(
      fmt::format("{} (pid {}){}", what, int_or(*state, "pid"), url.empty() ? "" : fmt::format(", {}", url)));
  return 0;
}

Result<int> start_verb(Context& context, const Args& args) {
  if (args.has("here")) set_environment("CRU_START_HERE", "1");
  auto client = context.quiet_client();
  if (client.connect()) return say_started(context, "the daemon is already running");
  if (auto started = client::start_daemon(context.project, {}, run_options(args)); !started)
    return fail(started.error());
  return say_started(context, "started the daemon");
}

Result<int> stop_verb(Context& context, const Args&) {
  auto client = context.quiet_client();
  bool was_running = static_cast<bool>(client.connect());
  if (was_running)
    if (auto stopped = client.stop(); !stopped) return fail(stopped.error());
  if (context.json)
    context.print_json(to_text(json::object{{"running", false}, {"was_running", was_running}}));
  else
    context.note(was_running ? "stopped the daemon; runs continue" : "the daemon was not running");
  return 0;
}

Result<int> restart_verb(Context& context, const Args& args) {
  if (args.has("here")) set_environment("CRU_START_HERE", "1");
  // Before it is stopped: one that may not start again had better go on.
  if (auto ours = check_state_folder(context.project.root, ".coven"); !ours) return fail(ours.error());
  auto client = context.quiet_client();
  if (client.connect())
    if (auto stopped = client.stop(); !stopped) return fail(stopped.error());
  if (auto started = client::start_daemon(context.project, {}, run_options(args)); !started)
    return fail(started.error());
  return say_started(context, "restarted the daemon");
}

/// What is in the folder counts from then on: its work, its pairings, its rules. So a person says it.
Result<int> adopt_verb(Context& context, const Args& args) {
  const auto& root = context.project.root;
  if (api::own_environment("CRU_RUN"))
    return fail(Code::not_a_person, "only a person can adopt a state folder, and this is a run");
  if (file_exists(context.project.mark_file()) && check_state_folder(root, ".coven")) {
    context.note("nothing to do: cru knows this .coven as its own");
    return 0;
  }
  // Before anybody is asked: nobody agrees to what cannot be.
  if (auto possible = check_adoption(root, ".coven"); !possible) return fail(possible.error());
  if (!args.has("yes")) {
    if (!context.can_ask())
      return fail(Code::invalid_argument, "daemon adopt needs a confirmation, and there is no terminal", "",
                  "cru daemon adopt --yes");
    auto question = fmt::format(
        "Adopt {}? Its content is then used: commands that verify work, rules, history. Paired places must "
        "be paired again. Adopt it only if you know where it comes from.",
        safe_for_terminal(context.project.state()));
    if (!context.ask_yes(question)) {
      context.note("not adopted: nothing has changed");
      return 1;
    }
  }
  if (auto adopted = adopt_state_folder(root, ".coven"); !adopted) return fail(adopted.error());
  if (context.json)
    context.print_json(to_text(json::object{{"adopted", context.project.state()}}));
  else
    context.note("adopted " + safe_for_terminal(context.project.state()));
  return 0;
}

/// `daemon run` after global options: the program takes it only as its first words, so begin anew with those.
Result<int> run_verb(Context& context, const Args& args) {
  std::vector<std::string> words{"cru", "daemon", "run", "--project", context.project.root};
  for (auto& word : run_options(args)) words.push_back(std::move(word));
  return fail(begin_anew(std::move(words), "run the daemon"));
}

/// The log as it grows, through rotations: a new file with the old name is read from its start.
Result<int> follow_log(Context& context, Fd file, int64_t offset, const std::string& path) {
  Signals signals({SIGINT, SIGTERM, SIGHUP});
  FolderNotice changes(context.project.log_folder(), FolderNotice::changed_contents);
  for (;;) {
    for (SystemResult<std::string> text; (text = read_part(file, offset, 65536)) && !text->empty();) {
      offset += static_cast<int64_t>(text->size());
      context.print(context.out.tty ? safe_for_terminal(*text, Newlines::keep) : *text);
    }
    if (auto named = file_status(path); named && named->inode != file_status(file).inode)
      if (auto fresh = open_to_read(path)) {
        file = std::move(fresh->fd);
        offset = 0;
        continue;
      }
    std::array<Awaited, 2> awaited = {{{.fd = signals.fd()}, {.fd = changes.fd()}}};
    wait_ready(awaited);
    if (awaited[0].is_readable) return exit_interrupted;
    changes.take();
  }
}

Result<int> daemon_logs_verb(Context& context, const Args& args) {
  auto path = context.project.log_file();
  auto file = open_to_read(path);
  if (!file)
    return fail(Code::not_found, fmt::format("no log yet: {}", path), {},
                "start the daemon with: cru daemon start");
  // Start `tail` lines before the end, reading at most the last megabyte.
  auto lines = static_cast<size_t>(args.number("tail").value_or(50));
  auto from = std::max<int64_t>(0, file->status.size - (1 << 20));
  auto text = read_part(file->fd, from, static_cast<size_t>(file->status.size - from)).value_or("");
  size_t at = text.size();
  for (size_t seen = 0; at > 0; --at)
    if (text[at - 1] == '\n' && at < text.size() && ++seen == lines) break;
  auto shown = std::string_view(text).substr(lines == 0 ? text.size() : at);
  context.print(context.out.tty ? safe_for_terminal(shown, Newlines::keep) : std::string(shown));
  if (!args.has("follow")) return 0;
  return follow_log(context, std::move(file->fd), from + static_cast<int64_t>(text.size()), path);
}

}  // namespace

void add_daemon_commands(std::vector<Command>& table) {
  const std::string group = "cru";
  Flag port{.name = "port",
            .kind = Kind::number,
            .value = "N",
            .summary = "TCP port of the web page; default: the last one, 8765 or the next free one"};
  Flag here{
      .name = "here",
      .summary = "also inside a sandbox or container; CRU_START_HERE=1 in the environment does the same"};
  table.push_back({.path = "daemon start",
                   .group = group,
                   .summary = "Starts the daemon; other commands start it automatically",
                   .flags = {port, here},
                   .run = start_verb});
  table.push_back({.path = "daemon stop",
                   .group = group,
                   .summary = "Stops the daemon; runs continue",
                   .run = stop_verb});
  table.push_back({.path = "daemon restart",
                   .group = group,
                   .summary = "Restarts the daemon; runs continue",
                   .flags = {port, here},
                   .run = restart_verb});
  table.push_back(
      {.path = "daemon adopt",
       .group = group,
       .summary = "Accepts a .coven that cru does not know as its own: a copy, or one of an older version",
       .flags = {{.name = "yes", .letter = 'y', .summary = "without asking"}},
       .run = adopt_verb,
       .details =
           "cru uses only a .coven that it made for you, and notes which in ~/.local/state/cru. One that "
           "came\nwith a repository or an archive could run commands: adopt only what you know. A project "
           "that "
           "you\nmove keeps its .coven; a copy, while the original is there, has to be adopted. Pairings are "
           "not "
           "adopted."});
  table.push_back({.path = "daemon status",
                   .group = group,
                   .summary = "Shows whether the daemon is running, and its address",
                   .run = [](Context& context, const Args&) { return show_daemon(context); },
                   .details = "Exits with 0 if it is running, otherwise 5."});
  table.push_back({.path = "daemon logs",
                   .group = group,
                   .summary = "Shows the daemon's log",
                   .flags = {{.name = "follow", .letter = 'f', .summary = "follow the log"},
                             {.name = "tail",
                              .letter = 'n',
                              .kind = Kind::number,
                              .value = "N",
                              .summary = "only the last N lines; default: 50"}},
                   .run = daemon_logs_verb});
  table.push_back({.path = "daemon run",
                   .group = group,
                   .summary = "Runs the daemon in the foreground",
                   .flags = {port},
                   .run = run_verb});
}

}  // namespace cru::cli
