#include "crew/chat_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "crew/conversation.h"
#include "crew/reflection.h"
#include "crew/spawning.h"
#include "crew/trace.h"

namespace cru::crew {
namespace {

constexpr size_t max_shown_result_bytes = 4000;

std::string yaml_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + yaml_text(text);
  return "[" + out + "]";
}

/// Lines of frontmatter, in order.
class Frontmatter {
 public:
  void add(std::string_view key, std::string_view plain) { lines_ += fmt::format("{}: {}\n", key, plain); }
  void add_text(std::string_view key, std::string_view text) { add(key, yaml_text(text)); }
  void add_number(std::string_view key, int64_t number) { add(key, std::to_string(number)); }
  void add_time(std::string_view key, const std::optional<Time>& time) {
    if (time)
      add_text(key, to_rfc3339(*time));
    else
      add(key, "null");
  }
  std::string text() const { return "---\n" + lines_ + "---\n"; }

 private:
  std::string lines_;
};

/// The length of the frontmatter with its fences; 0 if there is none.
size_t frontmatter_length(std::string_view text) {
  bool is_first = true;
  for (size_t at = 0; at < text.size();) {
    auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
    auto line = text.substr(at, end - at);
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);  // editors may write CRLF
    if (is_first && line != "---") return 0;
    if (!is_first && line == "---") return end;
    is_first = false;
    at = end;
  }
  return 0;
}

std::string session_frontmatter(const Chat& chat, const std::vector<Subagent>& subagents, int64_t entries) {
  Frontmatter front;
  front.add_text("session_id", chat.id);
  front.add_text("title", chat.title);
  front.add_time("started_at", chat.started_at);
  front.add_time("ended_at", chat.ended_at);
  front.add_text("primary_agent", chat.agent);
  front.add_text("model", chat.model);
  front.add_text("status", name(chat.status));
  front.add_number("depth", 0);
  front.add("permissions", yaml_list(chat.permissions.names()));
  front.add_text("trace_id", chat.trace_id);
  std::vector<std::string> links;
  for (const auto& subagent : subagents) links.push_back("[[" + subagent.name() + "]]");
  front.add("subagents", yaml_list(links));
  front.add_number("entries", entries);
  return front.text();
}

std::string clock_time(Time at) { return to_rfc3339(at).substr(11, 8); }

const Subagent* spawned_by(const std::vector<Subagent>& subagents, const std::string& thread,
                           const std::string& use) {
  auto found = std::ranges::find_if(subagents, [&](const Subagent& subagent) {
    return subagent.parent == thread && subagent.parent_use == use;
  });
  return found == subagents.end() ? nullptr : &*found;
}

/// A text inside a fence that nothing in it can close.
std::string fenced(std::string_view text) {
  size_t longest = 2, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  std::string fence(longest + 1, '`');
  return fmt::format("{}\n{}{}{}\n", fence, text, text.ends_with('\n') ? "" : "\n", fence);
}

std::string one_line(std::string_view text, size_t width) {
  std::string line;
  for (char c : text) line += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  return truncate(line, width);
}

std::string describe_use(const minds::ToolUse& use) {
  return fmt::format("- `{}` {}\n", use.name, one_line(to_text(use.input), 300));
}

std::string describe_result(const Entry& entry, const minds::ToolResult& result,
                            const std::vector<Subagent>& subagents) {
  if (const auto* child = spawned_by(subagents, entry.thread, result.id)) return end_line(*child) + "\n";
  return fmt::format("- {}\n\n{}\n", result.is_error ? "error" : "result",
                     fenced(bounded(result.text, max_shown_result_bytes, "the daemon's records")));
}

std::string render_entry(const Chat* chat, const Entry& entry, const std::vector<Subagent>& subagents) {
  std::string out;
  switch (entry.role) {
    case Role::user:
      out = fmt::format("## User ({})\n\n{}\n", clock_time(entry.at), entry.message.text);
      break;
    case Role::assistant:
      out = fmt::format("## {} ({})\n\n", chat ? chat->agent : "Agent", clock_time(entry.at));
      if (!entry.message.text.empty()) out += entry.message.text + "\n";
      if (!entry.message.uses.empty()) out += "\n";
      for (const auto& use : entry.message.uses) out += describe_use(use);
      break;
    case Role::tool:
      if (!entry.message.text.empty())
        out =
            fmt::format("## {} ({})\n\n{}", chat ? "Reports" : "Evaluation", clock_time(entry.at),
                        fenced(bounded(entry.message.text, max_shown_result_bytes, "the subagents' files")));
      for (const auto& result : entry.message.results) out += describe_result(entry, result, subagents);
      break;
    case Role::note:
      out = entry.message.text + "\n";
      break;
  }
  return "\n" + out;
}

void write_lines(std::string& out, const json::value& value, size_t indent) {
  const auto* object = value.if_object();
  const auto* array = value.if_array();
  if ((!object || object->empty()) && (!array || array->empty())) {
    out += value.is_double() ? fmt::format("{}", value.get_double()) : to_text(value);
    return;
  }
  std::string inner(indent + 2, ' ');
  out += object ? "{" : "[";
  bool first = true;
  auto next = [&] {
    out += std::exchange(first, false) ? "\n" : ",\n";
    out += inner;
  };
  if (object)
    for (const auto& [key, member] : *object) {
      next();
      out += to_text(json::value(key)) + ": ";
      write_lines(out, member, indent + 2);
    }
  else
    for (const auto& item : *array) {
      next();
      write_lines(out, item, indent + 2);
    }
  out += "\n" + std::string(indent, ' ') + (object ? "}" : "]");
}

}  // namespace

std::string end_line(const Subagent& subagent) {
  auto line =
      subagent.status == Status::completed ? subagent.summary : one_line(subagent.failure.message, 300);
  return fmt::format("- [[{}]] {}: {}", subagent.name(), name(subagent.status), line);
}

std::string to_lines(const json::value& value) {
  std::string out;
  write_lines(out, value, 0);
  return out + "\n";
}

std::string chat_folder(const std::string& chat_id) { return ".crucible/sessions/" + chat_id; }

std::string yaml_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    auto character = first_code_point(text);
    if (!character.valid)
      out += "\xef\xbf\xbd";
    else if (character.value == '"' || character.value == '\\')
      out += fmt::format("\\{}", static_cast<char>(character.value));
    else if (character.value == '\n')
      out += "\\n";
    else if (character.value == '\t')
      out += "\\t";
    else if (character.value < 0x20 || (character.value >= 0x7f && character.value < 0xa0) ||
             character.value == 0x2028 || character.value == 0x2029 || character.value == 0xfeff)
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(character.value));
    else
      out.append(text.substr(0, character.length));
    text.remove_prefix(character.length);
  }
  return out + '"';
}

int64_t entries_in(std::string_view session) {
  auto front = session.substr(0, frontmatter_length(session));
  auto at = front.find("\nentries: ");
  if (at == std::string_view::npos) return 0;
  int64_t count = 0;
  std::from_chars(front.data() + at + 10, front.data() + front.size(), count);
  return count;
}

std::string render_session(const Chat& chat, const std::vector<Entry>& entries,
                           const std::vector<Subagent>& subagents, std::string_view now) {
  auto have = entries_in(now);
  auto begin = frontmatter_length(now);
  std::string body = begin ? std::string(now.substr(begin)) : std::string(now);
  if (body.empty()) body = fmt::format("\n# {}\n", one_line(chat.title, 120));
  int64_t last = have;
  for (const auto& entry : entries) {
    last = std::max(last, entry.n);
    if (entry.n <= have) continue;
    if (!body.ends_with('\n')) body += '\n';
    body += render_entry(&chat, entry, subagents);
  }
  return session_frontmatter(chat, subagents, last) + body;
}

namespace {

std::string subagent_frontmatter(const Subagent& subagent) {
  Frontmatter front;
  front.add_text("subagent_of", fmt::format("[[{}/session]]", subagent.chat_id));
  front.add_text("parent_session", subagent.chat_id);
  front.add_text("agent_name", subagent.agent);
  front.add_text("task_id", subagent.task_id);
  front.add_time("spawned_at", subagent.spawned_at);
  front.add_time("completed_at", subagent.completed_at);
  auto duration = subagent.duration();
  front.add("duration_ms", duration ? std::to_string(duration->count()) : "null");
  front.add_text("model", subagent.model);
  front.add_text("model_source", subagent.model_source);
  if (!subagent.model_version.empty()) front.add_text("model_version", subagent.model_version);
  front.add_number("tokens", subagent.spent.usage.total());
  front.add("cost_usd",
            subagent.spent.cost_usd ? fmt::format("{:.6f}", *subagent.spent.cost_usd) : std::string("null"));
  front.add_text("status", name(subagent.status));
  front.add_number("depth", subagent.depth);
  front.add("permissions", yaml_list(subagent.permissions.names()));
  front.add("requested_permissions",
            subagent.inherited ? std::string("null") : yaml_list(subagent.requested));
  front.add("inherited", subagent.inherited ? "true" : "false");
  front.add_text("trace_id", subagent.trace_id);
  front.add("parent_chain", yaml_list(subagent.parent_chain));
  if (subagent.reflection.enabled) {
    front.add("reflection", subagent.status != Status::completed ? "null"
                            : subagent.is_partial()              ? "partial"
                                                                 : "passed");
    front.add_number("reflection_attempts", static_cast<int64_t>(subagent.iterations.size()));
  }
  if (!subagent.approvals.empty()) front.add("approvals", yaml_list(subagent.approvals));
  if (!subagent.failure.type.empty()) {
    front.add_text("error_type", subagent.failure.type);
    front.add_text("error_message", subagent.failure.message);
    front.add("stack_trace",
              subagent.failure.trace.empty() ? std::string("null") : yaml_text(subagent.failure.trace));
  }
  return front.text();
}

/// The attempts of an agent that reflects, each with its criticism.
std::string render_iterations(const Subagent& subagent) {
  std::string out;
  for (const auto& iteration : subagent.iterations) {
    out += fmt::format("\n{}. {}{}, {} tokens, {}: {}\n", iteration.attempt,
                       iteration.passed ? "passed" : "not passed",
                       iteration.score ? fmt::format(" (score {:.2f})", *iteration.score) : "",
                       iteration.tokens, format_duration(iteration.took),
                       iteration.critique.empty() ? "no critique" : one_line(iteration.critique, 2000));
    for (const auto& issue : iteration.issues) out += fmt::format("   - {}\n", one_line(issue, 1000));
  }
  return out.empty() ? out : "\n## Reflection\n" + out;
}

/// A failure has a report too: what was asked, what went wrong, where.
std::string render_report(const Subagent& subagent) {
  if (subagent.status == Status::failed || subagent.status == Status::cancelled)
    return fmt::format("## Summary\n\n{} {}: {} ({}, severity {}; {})\n\n## Findings\n\n{}\n", subagent.agent,
                       name(subagent.status), subagent.failure.message, subagent.failure.type,
                       severity(subagent.failure), attribution(subagent),
                       subagent.failure.trace.empty() ? "No stack trace." : fenced(subagent.failure.trace));
  if (!is_over(subagent.status)) return fmt::format("Status: {}.\n", name(subagent.status));
  auto report = read_report(subagent.result);
  return fmt::format("{}## Summary\n\n{}\n\n## Findings\n\n{}\n{}",
                     subagent.is_partial() ? fmt::format("Partial success: {} {}.\n\n", subagent.agent,
                                                         partial_success(subagent))
                                           : "",
                     report.summary, report.findings, render_iterations(subagent));
}

}  // namespace

std::string render_subagent(const Subagent& subagent, const std::vector<Entry>& entries) {
  auto out = subagent_frontmatter(subagent) +
             fmt::format("\n# {}\n\nFor [[{}/session]].\n\n## Task\n\n{}\n\n{}", subagent.name(),
                         subagent.chat_id, subagent.task, render_report(subagent));
  std::string did;
  for (const auto& entry : entries)
    if (entry.n > 1) did += render_entry(nullptr, entry, {});  // the first is the task itself
  if (!did.empty()) out += "\n## Transcript\n" + did;
  return out;
}

std::string render_result(const Subagent& subagent, size_t most) {
  return bounded(subagent_frontmatter(subagent) + "\n" + render_report(subagent), most,
                 fmt::format("{}/{}.md", chat_folder(subagent.chat_id), subagent.name()));
}

json::object render_metadata(const Chat& chat, const std::vector<Subagent>& subagents, int64_t queue_depth,
                             const std::vector<approvals::Approval>& asked, int64_t left_out) {
  json::array audit;
  for (const auto& approval : asked) audit.push_back(to_audit(approval));
  Spent total = chat.spent;
  json::array all;
  for (const auto& subagent : subagents) {
    total.add(subagent.spent);
    auto duration = subagent.duration();
    all.push_back({{"task_id", subagent.task_id},
                   {"agent", subagent.agent},
                   {"file", subagent.name() + ".md"},
                   {"status", name(subagent.status)},
                   {"depth", subagent.depth},
                   {"model", subagent.model},
                   {"model_source", subagent.model_source},
                   {"model_override", json_or_null(subagent.model_override)},
                   {"permissions", json::value_from(subagent.permissions.names())},
                   {"requested_permissions",
                    subagent.inherited ? json::value(nullptr) : json::value_from(subagent.requested)},
                   {"inherited", subagent.inherited},
                   {"spawned_at", to_rfc3339(subagent.spawned_at)},
                   {"duration_ms", duration ? json::value(duration->count()) : json::value(nullptr)},
                   {"tokens", subagent.spent.usage.total()},
                   {"cost_usd", json_or_null(subagent.spent.cost_usd)},
                   {"error_type", json_or_null(subagent.failure.type)},
                   {"error_message", json_or_null(subagent.failure.message)},
                   {"reflection", subagent.reflection_json()},
                   {"trace_id", subagent.trace_id},
                   {"parent_chain", json::value_from(subagent.parent_chain)}});
  }
  return {{"session_id", chat.id},
          {"title", chat.title},
          {"kind", name(chat.kind)},
          {"started_at", to_rfc3339(chat.started_at)},
          {"ended_at", chat.ended_at ? json::value(to_rfc3339(*chat.ended_at)) : json::value(nullptr)},
          {"status", name(chat.status)},
          {"depth", chat.kind == Kind::run ? json::value(nullptr) : json::value(0)},
          {"max_depth", max_depth},
          {"queue_depth", queue_depth},
          {"primary_agent", chat.agent},
          {"model", chat.model},
          {"model_source", chat.model_source},
          {"model_version", json_or_null(chat.model_version)},
          {"provider", json_or_null(chat.provider)},
          {"permissions", json::value_from(chat.permissions.names())},
          {"tokens", minds::to_json(total.usage)},
          {"total_tokens", total.usage.total()},
          {"cost_usd", json_or_null(total.cost_usd)},
          {"error", chat.failure.type.empty()
                        ? json::value(nullptr)
                        : json::value{{"type", chat.failure.type}, {"message", chat.failure.message}}},
          {"trace_id", chat.trace_id},
          {"approvals", std::move(audit)},
          {"approvals_left_out", left_out},
          {"subagents", std::move(all)}};
}

}  // namespace cru::crew
