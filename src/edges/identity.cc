#include "edges/identity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/account.h"
#include "base/agent_id.h"
#include "base/id.h"
#include "base/json.h"
#include "base/plain_words.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/trace_context.h"
#include "platform/files/files.h"
#include "platform/process/self.h"

namespace cru::edges {
namespace {

constexpr size_t max_id_bytes = 128, max_list_bytes = 4096;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// What may stand in a header: a line break in a value would begin a header of its own.
std::string one_line(std::string text, size_t longest) {
  std::ranges::replace_if(text, is_control, ' ');
  if (text.size() > longest) text.resize(longest);
  auto end = text.find_last_not_of(' ');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text.substr(std::min(text.size(), text.find_first_not_of(' ')));
}

/// A name that somebody else chose, as an agent id.
std::string as_agent_id(std::string name, std::string_view fallback) {
  if (name.size() > max_id_bytes) name.resize(max_id_bytes);
  for (char& c : name) {
    bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   std::string_view("._:@-").find(c) != std::string_view::npos;
    if (!allowed) c = '-';
  }
  return is_agent_id(name) ? name : std::string(fallback);
}

std::string_view largest_of(const json::object& texts) {
  return std::ranges::max_element(texts, {},
                                  [](const auto& entry) { return entry.value().as_string().size(); })
      ->key();
}

std::string user_name(const api::Environment& environment) {
  for (const char* name : {"USER", "LOGNAME"})
    if (auto value = environment(name); value && !value->empty()) return *value;
  return own_user_name();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Identity::headers() const {
  std::vector<std::pair<std::string, std::string>> list;
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) list.emplace_back(name, value);
  };
  if (!token.empty()) list.emplace_back("Authorization", "Bearer " + token);
  if (is_agent) list.emplace_back("Cru-Caller", "agent");
  add("Cru-Agent-Id", agent_id);
  add("Cru-Agent-Type", agent_type);
  add("Cru-Session-Id", session_id);
  add("Cru-Agent-Capabilities", capabilities);
  add("Cru-Lock-Ttl-Minutes", lock_ttl_minutes);
  add("traceparent", traceparent);
  // A folder whose name cannot be said is left out rather than said wrongly.
  if (std::ranges::none_of(cwd, is_control) && cwd.size() <= 4096) add("Cru-Cwd", cwd);
  return list;
}

Result<std::string> account_header(const std::map<std::string, std::string>& environment) {
  constexpr size_t max_bytes = 24u << 10;
  json::object account;
  for (const auto& [name, value] : environment)
    if (is_account_variable(name)) account[name] = value;
  if (account.empty()) return std::string();
  auto text = to_text(account);
  if (text.size() > max_bytes)
    return fail(
        Code::invalid_argument,
        fmt::format("agents do not get the variables of your accounts, because they are too large: {} "
                    "KiB, at most {} KiB; the largest is {}",
                    (text.size() + 1023) / 1024, max_bytes >> 10, largest_of(account)),
        "Cru-Account");
  return to_base64(text);
}

std::string why_refused(const std::string& name) {
  constexpr size_t shown_bytes = 40;
  return fmt::format("AGENT_ID={} cannot be an agent's name: a name has {}",
                     as_shell_word(safe_for_terminal(cut_with_ellipsis(name, shown_bytes))), agent_id_rule);
}

Identity find_identity(Speaker speaker, const api::Environment& environment, std::string cwd,
                       std::string hook_session) {
  auto value = [&](const char* name, size_t longest = max_id_bytes) {
    return one_line(environment(name).value_or(""), longest);
  };
  // What a hook was told is nearer than what its surroundings say: a session may run inside another.
  bool is_told = hook_session.empty() && speaker != Speaker::mcp;
  std::string claude = is_told ? value("CLAUDE_CODE_SESSION_ID") : one_line(hook_session, max_id_bytes);
  std::string codex = is_told ? value("CODEX_SESSION_ID") : std::string();
  if (is_told && codex.empty()) codex = value("CODEX_THREAD_ID");
  std::string task = value("CRU_TASK_ID"), run = value("CRU_RUN");
  bool is_claude =
      !claude.empty() || !value("CLAUDECODE").empty() || !value("CLAUDE_CODE_SESSION_ID").empty();

  // A name that is too long or odd is not mended.
  Identity who{.agent_id = value("AGENT_ID", max_list_bytes),
               .agent_type = value("AGENT_TYPE", 64),
               .session_id = value("SESSION_ID"),
               .capabilities = value("AGENT_CAPABILITIES", max_list_bytes),
               .lock_ttl_minutes = value("LOCK_TTL_MINUTES", 20),
               .cwd = std::move(cwd)};
  if (auto trace = value("TRACEPARENT"); parse_traceparent(trace)) who.traceparent = std::move(trace);
  who.is_agent = speaker == Speaker::hook;
  if (!who.agent_id.empty() && !is_agent_id(who.agent_id)) {
    who.refused_name = who.agent_id;
    if (speaker != Speaker::verb) who.agent_id.clear();
  }
  bool is_person =
      speaker == Speaker::verb && who.agent_id.empty() && task.empty() && claude.empty() && codex.empty();

  if (who.agent_id.empty()) who.agent_id = task;
  if (who.agent_id.empty() && is_person) who.agent_id = as_agent_id(user_name(environment), "person");

  if (who.agent_type.empty()) {
    if (is_person)
      who.agent_type = "person";
    else if (is_claude)
      who.agent_type = "claude_code";
    else if (!codex.empty())
      who.agent_type = "codex";
    else if (!task.empty())
      who.agent_type = "run";
  }
  if (speaker == Speaker::mcp) who.inherited_session = value("CLAUDE_CODE_SESSION_ID");
  if (who.session_id.empty()) who.session_id = claude;
  if (who.session_id.empty()) who.session_id = codex;
  if (who.session_id.empty()) who.session_id = run;
  // A person's verbs are one session however many shells they are typed in.
  if (who.session_id.empty() && speaker == Speaker::verb) who.session_id = "verbs";
  return who;
}

std::string key_file(const api::Project& project, const api::Environment& environment) {
  auto state = environment("XDG_STATE_HOME").value_or("");
  auto home = environment("HOME").value_or("");
  if (!state.starts_with('/')) state = home.starts_with('/') ? home + "/.local/state" : std::string();
  return state.empty() ? state : state + "/cru/keys/" + sha256(project.root).substr(0, 32);
}

std::string find_credential(const api::Project& project, const api::Environment& environment) {
  constexpr size_t token_bytes = 64;
  auto usable = [](const std::string& text) {
    return text.size() == token_bytes && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  // Another project's daemon does not know this run, and has no business with its token.
  if (auto token = environment("CRU_TOKEN"); token && usable(*token))
    if (environment("CRU_PROJECT").value_or("") == project.root) return *token;
  auto file = key_file(project, environment);
  auto key = file.empty() ? std::string() : read_file(file, 256).value_or("");
  key.resize(std::min(key.size(), token_bytes));
  return usable(key) ? key : std::string();
}

}  // namespace cru::edges
