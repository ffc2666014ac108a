#include "edges/cli/chat/chat_minds.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "platform/files/readiness.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

/// Each provider's variable, as the configuration says. The daemon takes providers from the person's own file
/// only, so that no project names a variable of ours.
std::map<std::string, std::string> key_variables(Context& context) {
  std::map<std::string, std::string> found;
  auto config = context.client().get("/config");
  const auto* settings = config ? array_at(*config, "settings") : nullptr;
  for (const auto& each : settings ? *settings : json::array()) {
    const auto* row = each.if_object();
    if (!row) continue;
    auto key = text_or(*row, "key");
    constexpr std::string_view begin = "providers.", end = ".key_env";
    if (key.starts_with(begin) && key.ends_with(end))
      found[std::string(key.substr(begin.size(), key.size() - begin.size() - end.size()))] =
          text_or(*row, "value");
  }
  return found;
}

}  // namespace

void offer_keys(Context& context) {
  if (api::own_environment("CRU_RUN")) return;  // an agent has no keys to lend
  for (const auto& [provider, variable] : key_variables(context)) {
    auto key = variable.empty() ? std::nullopt : api::own_environment(variable);
    if (key && !key->empty())
      (void)context.client().post(fmt::format("/minds/{}/key", percent_encode(provider)), {{"key", *key}});
  }
}

bool is_about_minds(const Error& error) {
  auto details = error.details.empty() ? Result<json::value>(json::object()) : parse_json(error.details);
  return details && details->is_object() && text_or(details->get_object(), "type") == "not_configured";
}

bool can_think(const json::object& minds, std::string_view model) {
  std::string provider;
  const auto* models = array_at(minds, "models");
  for (const auto& each : models ? *models : json::array())
    if (each.is_object() && text_or(each.get_object(), "name") == model)
      provider = text_or(each.get_object(), "provider");
  if (provider.empty()) return true;  // the daemon says so itself, and better
  const auto* all = array_at(minds, "minds");
  for (const auto& each : all ? *all : json::array()) {
    const auto* mind = each.if_object();
    if (!mind || !bool_or(*mind, "works")) continue;
    if (text_or(*mind, "provider") == provider) return true;
    const auto* names = array_at(*mind, "models");
    for (const auto& name : names ? *names : json::array())
      if (name.is_string() && name.get_string() == model) return true;
  }
  return false;
}

std::string missing_minds(const json::object& minds) {
  std::string out;
  const auto* all = array_at(minds, "minds");
  for (const auto& each : all ? *all : json::array()) {
    const auto* mind = each.if_object();
    if (!mind || bool_or(*mind, "works")) continue;
    out += fmt::format("{:<10} {}\n", text_or(*mind, "provider"), text_or(*mind, "why"));
    if (auto fix = text_or(*mind, "fix"); !fix.empty()) out += fmt::format("{:<10} → {}\n", "", fix);
  }
  return out;
}

bool ask_yes_no(const Context& context, const std::string& question, Signals& signals) {
  if (context.json || !is_terminal(standard_input) || !is_terminal(standard_error)) return false;
  write_out(standard_error, question + " [y/N] ");
  std::array<Awaited, 2> awaited = {{{.fd = standard_input}, {.fd = signals.fd()}}};
  while (wait_ready(awaited) == Waited::ready && !awaited[0].is_ready) {
    if (int signal = signals.take(); signal == SIGWINCH || signal == SIGCONT) continue;
    write_out(standard_error, "\n");
    return false;
  }
  auto answer = read_in(standard_input, 256);
  return answer.starts_with('y') || answer.starts_with('Y');
}

}  // namespace cru::cli
