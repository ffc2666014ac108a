// version, open, completion, doctor, demo: what is about cru itself.
#include <fmt/format.h>

#include <charconv>
#include <iostream>

#include "base/text.h"
#include "edges/cli/core/completion.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/page_url.h"
#include "edges/cli/demo/demo.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/doctor.h"
#include "edges/identity.h"
#include "edges/mcp/stdio.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/process/detach.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

Result<int> version_verb(Context& context, const Args&) {
  if (context.json)
    context.print_json(to_text(json::object{{"version", CRU_VERSION}}));
  else
    context.print(fmt::format("cru {}\n", CRU_VERSION));
  return 0;
}

/// A page that leads to `url`. The address lets in whoever has it, and arguments of programs can be read by
/// every user of the machine: so a browser is given a file.
Result<std::string> leading_page(const Context& context, const std::string& url) {
  auto file = context.project.state() + "/open.html";
  auto text = fmt::format(
      "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={0}\">"
      "<title>cru</title><a href=\"{0}\">Open cru</a>\n",
      url);
  if (auto written = write_file(file, text, 0600); !written) return fail(written.error());
  return file;
}

/// Opens a browser where there is a desktop; whether it worked is the desktop's to show.
void try_browser(const Context& context, const std::string& url) {
  bool desktop = api::own_environment("DISPLAY") || api::own_environment("WAYLAND_DISPLAY");
  if (!context.out.tty || !desktop) return;
  auto environment = clean_environment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "BROWSER"})
    if (auto value = api::own_environment(name)) environment.push_back(fmt::format("{}={}", name, *value));
  auto page = leading_page(context, url);
  if (!page) return;
  for (const char* program : {"/usr/bin/xdg-open", "/usr/local/bin/xdg-open"})
    if (may_execute(program)) {
      (void)start_detached({program, *page}, environment, context.project.root);
      return;
    }
}

Result<int> open_verb(Context& context, const Args&) {
  auto url = page_url(context);
  if (!url) return fail(url.error());
  if (context.json)
    context.print_json(to_text(json::object{{"url", *url}}));
  else
    context.print(*url + "\n");
  try_browser(context, *url);
  return 0;
}

/// Where a process cannot show that a person is there: a container, another machine through a tunnel.
Result<int> pair_verb(Context& context, const Args& args) {
  auto made = context.client().post("/pairings", {{"label", args.get("label", "another place")}});
  if (!made) return fail(made.error());
  if (context.json) {
    context.print_json(to_text(*made));
    return 0;
  }
  context.print(
      fmt::format("Run this in the other place, in the same project, within a day (once):\n\n"
                  "  cru pair redeem\n\nand enter this code:\n\n  {}\n\nOr open this page there:\n\n  {}\n",
                  text_or(*made, "code"), text_or(*made, "url")));
  return 0;
}

/// The code is read, not passed as an argument, which every user of the machine could see.
Result<int> redeem_verb(Context& context, const Args&) {
  auto file = edges::key_file(context.project, api::own_environment);
  if (file.empty())
    return fail(Code::invalid_argument, "there is no home folder to store the key in", "HOME");
  if (is_terminal(standard_input)) write_out(standard_error, "Code: ");
  std::string code;
  std::getline(std::cin, code);
  code = trim(code);
  if (code.empty())
    return fail(Code::invalid_argument, "a code is required on standard input", "code",
                "create one where you are recognised: cru pair");
  // The key that this place has so far is worth nothing afterwards.
  json::object request{{"code", code}};
  auto kept = read_file(file, 256).value_or("");
  if (auto previous = trim(kept); !previous.empty()) request["previous"] = previous;
  auto redeemed = context.client().post("/pairings/redeem", request);
  if (!redeemed) return fail(redeemed.error());
  if (auto folder = make_folder(file.substr(0, file.rfind('/')), 0700); !folder) return fail(folder.error());
  if (auto written = write_file(file, std::string(text_or(*redeemed, "key")) + "\n", 0600); !written)
    return fail(written.error());
  redeemed->erase("key");
  if (context.json)
    context.print_json(to_text(*redeemed));
  else
    context.print(
        fmt::format("Paired as {}. Commands here have your rights in this project until you run, "
                    "anywhere: cru pair revoke {}\n",
                    text_or(*redeemed, "id"), text_or(*redeemed, "id")));
  return 0;
}

Result<int> demo_verb(Context& context, const Args& args) {
  double speed = 1;
  auto text = args.get("speed", "1");
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
  if (error != std::errc() || end != text.data() + text.size() || !(speed >= 0.1 && speed <= 20))
    return fail(Code::invalid_argument, fmt::format("demo: --speed is 0.1 to 20, not \"{}\"", text));
  return run_demo(context, args.has("once"), speed);
}

}  // namespace

void add_other_commands(std::vector<Command>& table) {
  table.push_back({.path = "open",
                   .group = "cru",
                   .summary = "Prints the address of the web page, and opens it if there is a desktop",
                   .run = open_verb,
                   .details = "Anyone who opens the address within a day has your rights in this project: "
                              "treat it as a\npassword. `cru pair list` shows what has been opened."});
  table.push_back({.path = "pair",
                   .group = "cru",
                   .summary = "Creates a pairing code that gives another place your rights in this project",
                   .flags = {{.name = "label",
                              .kind = Kind::text,
                              .value = "TEXT",
                              .summary = "the name of the place in `cru pair list`"}},
                   .examples = {"cru pair --label 'dev container'"},
                   .run = pair_verb,
                   .details = "For places in which cru cannot verify that a person is calling: a container, "
                              "or\nanother machine through a tunnel. A code works for one place, within a "
                              "day.\nSee also: pair redeem, pair list, pair revoke."});
  table.push_back(
      {.path = "pair redeem",
       .group = "cru",
       .summary = "Exchanges a code for a key, which commands here then use",
       .examples = {"cru pair redeem"},
       .run = redeem_verb,
       .details = "Reads the code that `cru pair` printed from standard input. The key that this place had\n"
                  "before, if any, is revoked."});
  table.push_back(
      {.path = "demo",
       .group = "cru",
       .summary = "Plays a demo in a temporary project",
       .flags = {{.name = "once", .summary = "exit after the demo instead of serving the web page"},
                 {.name = "speed",
                  .kind = Kind::text,
                  .value = "FACTOR",
                  .summary = "speed factor, 0.1 to 20; default: 1"}},
       .run = demo_verb,
       .needs_project = false});
  table.push_back(
      {.path = "mcp",
       .group = "cru",
       .summary = "Runs an MCP server on standard input and output",
       .examples = {"claude mcp add cru -- cru mcp", "codex mcp add cru -- cru mcp"},
       .run = [](Context& context, const Args&) -> Result<int> { return mcp::run_stdio(context.project); },
       .details = "Started by the agent's host. The agent's identity comes from the environment:\n"
                  "AGENT_ID, AGENT_TYPE, SESSION_ID, AGENT_CAPABILITIES, LOCK_TTL_MINUTES.\n"
                  "The same tools are available over HTTP at /mcp."});
  table.push_back({.path = "doctor",
                   .group = "cru",
                   .summary = "Checks the installation and the available minds",
                   .run = [](Context& context, const Args&) { return examine(context); },
                   .details = "Exits with 1 if a check fails."});
  table.push_back(
      {.path = "completion",
       .group = "cru",
       .summary = "Prints a completion script for a shell",
       .arguments = {{.name = "shell", .summary = "bash, zsh or fish"}},
       .examples = {"source <(cru completion bash)", "cru completion zsh > ~/.zfunc/_cru",
                    "cru completion fish > ~/.config/fish/completions/cru.fish"},
       .run = [](Context& context, const Args& args) { return print_completion(context, args.get("shell")); },
       .needs_project = false});
  table.push_back(
      {.path = "completion words",
       .group = "cru",
       .summary = "Prints completions for the given words",
       .arguments = {{.name = "words", .summary = "", .required = false, .rest = true}},
       .run = [](Context& context, const Args& args) { return print_candidates(context, args.all("words")); },
       .hidden = true});
  table.push_back({.path = "version",
                   .group = "cru",
                   .summary = "Prints the version",
                   .run = version_verb,
                   .needs_project = false});
}

}  // namespace cru::cli
