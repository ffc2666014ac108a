#include "edges/cli/verbs/doctor.h"

#include <fmt/format.h>

#include "base/agent_id.h"
#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/terminal/word_wrap.h"
#include "edges/cli/verbs/account_check.h"
#include "edges/hooks/hook_guard.h"
#include "edges/hooks/installer.h"
#include "edges/identity.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/own_folder.h"
#include "platform/files/pid_file.h"
#include "platform/process/self.h"
#include "platform/process/subprocess.h"
#include "platform/sandbox/jail.h"
#include "platform/sandbox/landlock.h"

namespace cru::cli {
namespace {

struct Check {
  std::string name, status, message, fix = {};
};

Check check_state(const api::Project& project) {
  auto folder = project.state();
  if (auto ours = check_state_folder(project.root, ".coven"); !ours) {
    auto fix = ours.error().hint;
    if (fix.empty()) fix = "move it aside: mv .coven .coven.aside";
    // What is only unknown may well be the person's, and hold what is nowhere else.
    if (ours.error().hint.empty() && check_adoption(project.root, ".coven"))
      fix = "if it is yours: cru daemon adopt; if not, " + fix;
    return {"state folder", "fail", ours.error().message, fix};
  }
  if (!file_exists(folder)) {
    if (may_write(project.root)) return {"state folder", "ok", folder + " will be created on first use"};
    return {"state folder", "fail", project.root + " is not writable",
            "choose another project with --project"};
  }
  if (may_use_folder(folder)) return {"state folder", "ok", folder};
  return {"state folder", "fail", folder + " is not writable", "chmod u+rwx " + folder};
}

Check check_daemon(const Context& context) {
  auto client = context.quiet_client();
  auto version = client.get("/version", 5s);
  if (!version && version.error().code == Code::daemon_unreachable) {
    if (auto said = read_file(context.project.start_error_file()); said && !said->empty())
      return {"daemon", "fail", "its last start failed: " + *said, "cru daemon run"};
    if (auto holder = server_of(context.project.root, "covend"))
      return {"daemon", "warn", fmt::format("pid {} serves the project but does not answer yet", holder->pid),
              "cru daemon logs"};
    return {"daemon", "ok", "not running; started on demand"};
  }
  if (!version) return {"daemon", "fail", version.error().message, "cru daemon restart"};
  auto theirs = text_or(*version, "version");
  auto where = fmt::format("version {}, pid {}", theirs, client.daemon_pid());
  if (!theirs.empty() && theirs != CRU_VERSION)
    return {"daemon", "warn", fmt::format("{}; this is {}", where, CRU_VERSION), "cru daemon restart"};
  return {"daemon", "ok", where};
}

/// What in the files is not in force, and why. None if all of it is, or where the daemon does not answer.
std::vector<Check> check_config(const Context& context) {
  auto client = context.quiet_client();
  auto config = client.get("/config", 5s);
  if (!config && config.error().code == Code::invalid_argument)
    return {{"configuration", "fail", config.error().message, "correct the file: the next start would fail"}};
  const auto* told = config ? array_at(*config, "warnings") : nullptr;
  std::vector<Check> checks;
  for (const auto& warning : told ? *told : json::array())
    if (warning.is_string())
      checks.push_back(
          {"configuration", "warn", std::string(warning.get_string()), "see: cru trust, cru config"});
  return checks;
}

/// Where spans go. None where nothing is exported, or the daemon does not answer.
std::vector<Check> check_traces(const Context& context) {
  auto client = context.quiet_client();
  auto version = client.get("/version", 5s);
  const auto* traces = version ? object_at(*version, "traces") : nullptr;
  if (!traces) return {};
  auto dropped = int_or(*traces, "dropped");
  auto error = text_or(*traces, "last_error");
  auto message = fmt::format("exported to {}: {} spans, {} dropped", text_or(*traces, "endpoint"),
                             int_or(*traces, "exported"), dropped);
  if (!error.empty()) message += fmt::format("; the last batch failed: {}", error);
  return {{"traces", dropped > 0 ? "warn" : "ok", message,
           dropped > 0 ? "check the collector and OTEL_EXPORTER_OTLP_ENDPOINT" : ""}};
}

/// What the daemon itself says is not well.
std::vector<Check> check_troubles(const Context& context) {
  auto client = context.quiet_client();
  auto version = client.get("/version", 5s);
  const auto* told = version ? array_at(*version, "troubles") : nullptr;
  std::vector<Check> checks;
  for (const auto& trouble : told ? *told : json::array())
    if (trouble.is_string())
      checks.push_back({"trouble", "warn", std::string(trouble.get_string()), "cru daemon logs"});
  return checks;
}

Check check_keeper(const api::Project& project) {
  auto hello =
      client::ask_keeper(project, {{"op", "hello"}, {"id", 1}, {"role", "cli"}, {"version", CRU_VERSION}});
  if (hello) {
    const auto* runs = array_at(*hello, "runs");
    return {"keeper", "ok",
            fmt::format("version {}, pid {}, {} run{}", text_or(*hello, "version"), int_or(*hello, "pid"),
                        runs ? runs->size() : 0, runs && runs->size() == 1 ? "" : "s")};
  }
  if (hello.error().message == "the keeper is not running")
    return {"keeper", "ok", "not running; started by the first run"};
  auto holder = server_of(project.root, "keeper");
  return {"keeper", "warn",
          hello.error().message + (holder ? fmt::format(" (pid {})", holder->pid) : std::string()),
          "cru daemon logs"};
}

std::string found_on_path(const std::string& program) {
  auto path = api::own_environment("PATH").value_or("");
  std::string_view rest = path;
  while (!rest.empty()) {
    auto folder = rest.substr(0, rest.find(':'));
    auto file = fmt::format("{}/{}", folder, program);
    if (!folder.empty() && may_execute(file)) return file;
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  return {};
}

/// What the daemon says of each mind; none where it does not answer.
std::vector<Check> check_minds(const Context& context) {
  auto client = context.quiet_client();
  auto reply = client.get("/minds", 10s);
  const auto* minds = reply ? array_at(*reply, "minds") : nullptr;
  if (!minds) return {{"minds", "ok", "unknown, because the daemon is not running", "cru daemon start"}};
  std::vector<Check> checks;
  bool any = false;
  for (const auto& each : *minds) {
    if (!each.is_object()) continue;
    const auto& mind = each.get_object();
    bool works = bool_or(mind, "works");
    any = any || (works && text_or(mind, "kind") != "scripted");
    std::string models;
    if (const auto* names = array_at(mind, "models"))
      for (const auto& name : *names)
        if (name.is_string())
          models += (models.empty() ? "; models " : ", ") + std::string(name.get_string());
    checks.push_back({fmt::format("mind {}", text_or(mind, "provider")), works ? "ok" : "off",
                      std::string(text_or(mind, "why")) + (works ? models : ""),
                      works ? "" : std::string(text_or(mind, "fix"))});
  }
  if (!any)
    checks.push_back({"minds", "warn", "only the scripted mind is available",
                      "set up one of the above, or use --model scripted"});
  return checks;
}

Check check_program(const std::string& program, std::string what_for) {
  auto file = found_on_path(program);
  if (!file.empty()) return {program, "ok", file};
  return {program, "warn", "not on PATH", "install it " + std::move(what_for)};
}

/// An agent's program, and what can be seen of its account.
Check check_agent(const std::string& program) {
  auto found = check_program(program, "to use --backend " + program);
  if (found.status != "ok") return found;
  auto account = look_at_account(program, whole_environment(), file_exists);
  return {program, account.is_there ? "ok" : "warn", fmt::format("{}; {}", found.message, account.message),
          account.fix};
}

/// What agents reach their models through. None where nothing is set.
std::vector<Check> check_network() {
  auto names = network_names(whole_environment());
  if (names.empty()) return {};
  return {{"network", "ok", fmt::format("agents get {} of this shell", names)}};
}

/// `confine` as it is in force; empty where the daemon does not answer.
std::string confine_in_force(const Context& context) {
  auto config = context.quiet_client().get("/config", 5s);
  const auto* settings = config ? array_at(*config, "settings") : nullptr;
  for (const auto& each : settings ? *settings : json::array())
    if (each.is_object() && text_or(each.get_object(), "key") == "confine")
      return std::string(text_or(each.get_object(), "value"));
  return {};
}

/// What holds an agent that is a program, here.
Check check_jail(const Context& context) {
  auto setting = confine_in_force(context);
  if (setting == "off")
    return {"confinement", "warn",
            "`confine: off` is set in your configuration: agents have all of your rights",
            "remove it, unless this machine cannot confine agents"};
  auto in_force = setting == "require" ? " (`confine: require`)" : "";
  auto means = try_jail();
  constexpr auto hint =
      "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, or a container that permits them)";
  if (means.namespaces && means.landlock < landlock_with_scopes)
    return {"confinement", "warn",
            "namespaces; but this kernel's Landlock is too old to keep agents from abstract sockets, through "
            "which some programs (above all X servers) obey any client",
            "use Linux 6.12 or later"};
  if (means.namespaces)
    return {"confinement", "ok",
            fmt::format("namespaces{}{}{}", means.seccomp ? ", seccomp" : "",
                        means.landlock > 0 ? fmt::format(", Landlock {}", means.landlock) : "", in_force)};
  if (setting == "require")
    return {"confinement", "fail",
            fmt::format("no agent is started: `confine: require` is set in your configuration, and there are "
                        "no namespaces: {}",
                        means.why_not),
            hint};
  if (means.landlock > 0 && means.seccomp)
    return {"confinement", "warn",
            fmt::format("Landlock {} and seccomp only: {}. Agents can see other processes and all files that "
                        "you can read",
                        means.landlock, means.why_not),
            hint};
  return {
      "confinement", "warn",
      fmt::format("none: {}. Agents run only with `confine: off` in your own configuration", means.why_not),
      hint};
}

/// Hooks that Codex does not run look exactly like hooks that work. None where they are not installed.
std::vector<Check> check_codex_hooks(const Context& context) {
  auto list = hooks::targets(hooks::Host::codex, true, context.project, api::own_environment);
  if (!list) return {};
  const auto& target = list->front();
  auto found = hooks::look_at(target);
  if (!found) return {{"codex hooks", "warn", found.error().message, "correct the file"}};
  if (*found == hooks::Installed::no || *found == hooks::Installed::by_hand) return {};
  if (*found == hooks::Installed::disabled)
    return {{"codex hooks", "warn", hooks::remark_on(target),
             "remove that line, or: cru hooks uninstall --codex"}};
  if (*found == hooks::Installed::partly)
    return {{"codex hooks", "warn", "some are missing in " + target.path, "cru hooks install --codex"}};
  auto trust = hooks::look_at_trust(target);
  if (!trust) return {{"codex hooks", "warn", trust.error().message, "correct the file"}};
  if (trust->will_run())
    return {{"codex hooks", "ok", fmt::format("{} in {}, all trusted", trust->hooks, target.path)}};
  bool waits = trust->untrusted + trust->changed > 0;
  return {{"codex hooks", "warn", hooks::what_is_wrong(*trust),
           waits && !trust->all_off ? std::string(hooks::how_to_trust())
                                    : "turn them on in Codex, or remove them: "
                                      "cru hooks uninstall --codex"}};
}

/// A name that agents cannot have, in this terminal or where a host's hook has met it last. None if all is
/// well.
std::vector<Check> check_agent_name(const Context& context) {
  auto name = api::own_environment("AGENT_ID").value_or("");
  if (!name.empty() && !is_agent_id(name))
    return {{"AGENT_ID", "warn", edges::why_refused(name), "choose another name, or: unset AGENT_ID"}};
  auto last =
      parse_json(hooks::last_hook_error(hooks::hook_log_of(context.project.state(), api::own_environment)));
  auto error = last && last->is_object() ? text_or(last->get_object(), "error") : std::string_view();
  if (!error.starts_with("AGENT_ID=")) return {};
  return {{"AGENT_ID", "warn", std::string(error), "start the agent with another AGENT_ID"}};
}

}  // namespace

Result<int> examine(Context& context) {
  std::vector<Check> checks{{"cru", "ok", fmt::format("version {}", CRU_VERSION)},
                            {"project", "ok", context.project.root},
                            check_state(context.project),
                            check_daemon(context),
                            check_keeper(context.project),
                            check_jail(context),
                            check_program("git", "to use --worktree"),
                            check_agent("claude"),
                            check_agent("codex"),
                            check_agent("gemini")};
  for (auto& check : check_network()) checks.push_back(std::move(check));
  for (auto& check : check_agent_name(context)) checks.push_back(std::move(check));
  for (auto& check : check_config(context)) checks.push_back(std::move(check));
  for (auto& check : check_traces(context)) checks.push_back(std::move(check));
  for (auto& check : check_troubles(context)) checks.push_back(std::move(check));
  for (auto& check : check_codex_hooks(context)) checks.push_back(std::move(check));
  for (auto& check : check_minds(context)) checks.push_back(std::move(check));
  bool failed = false;
  size_t width = 0;
  for (const auto& check : checks) width = std::max(width, check.name.size());
  json::array rows;
  std::string text;
  for (const auto& check : checks) {
    failed = failed || check.status == "fail";
    rows.push_back({{"name", check.name},
                    {"status", check.status},
                    {"message", check.message},
                    {"fix", json_or_null(check.fix)}});
    WordWrap wrap(context.out.tty ? context.out.width : 0);
    wrap.hang(std::string(width + 7, ' '));
    wrap.take(text,
              fmt::format("{}  {:<{}} {}\n",
                          context.out.paint(fmt::format("{:<4}", check.status), status_colour(check.status)),
                          safe_for_terminal(check.name), width, safe_for_terminal(check.message)));
    if (check.fix.empty()) continue;
    wrap.hang(std::string(width + 9, ' '));
    wrap.take(text, fmt::format("{:<{}}→ {}\n", "", width + 7, safe_for_terminal(check.fix)));
  }
  if (context.json)
    context.print_json(to_text(json::object{{"ok", !failed}, {"checks", std::move(rows)}}));
  else
    context.print(text);
  return failed ? 1 : 0;
}

}  // namespace cru::cli
