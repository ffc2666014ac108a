#include "daemon/notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"

namespace cru::daemon {
namespace {

/// One line of plain ASCII: it stands in a header.
std::string header_text(std::string_view text) {
  std::string out;
  for (char c : text) out += c >= ' ' && c < 0x7f ? c : '?';
  return out;
}

std::string shortened(std::string_view text, size_t bytes) {
  return cut_with_ellipsis(safe_for_terminal(first_line(text)), bytes);
}
std::string shortened(const json::object& data, std::string_view key, size_t bytes) {
  return shortened(text_or(data, key), bytes);
}

/// The asker of a question by its name, whether it is a run or a session outside of any.
std::string_view asker_name(const json::object& question) {
  constexpr std::string_view of_session = "session:";
  auto task_id = text_or(question, "task_id");
  return task_id.starts_with(of_session) ? task_id.substr(of_session.size()) : task_id;
}

/// The tool by its name, unless what is given for one is something else.
std::string kind_of_action(const json::object& data) {
  auto tool = text_or(data, "tool");
  bool is_name = !tool.empty() && tool.size() <= 100 && std::ranges::all_of(tool, [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '-' || c == ':';
  });
  return is_name ? std::string(tool) : "a tool";
}

}  // namespace

std::optional<Notice> notice_of(const Event& event) {
  bool is_approval = event.type == "approval.requested";
  if (!is_approval && event.type != "agent.question") return {};
  auto parsed = parse_json(event.data);
  if (!parsed || !parsed->is_object()) return {};
  const auto& data = parsed->get_object();
  if (text_or(data, "status") != "pending") return {};
  if (!is_approval && text_or(data, "kind") == "permission") return {};
  Notice notice{.is_approval = is_approval,
                .id = shortened(data, "id", 64),
                .agent = shortened(is_approval ? text_or(data, "agent") : asker_name(data), 100),
                .member = shortened(data, "member", 100),
                .chat_id = shortened(data, "chat_id", 100),
                .task_id = shortened(data, "task_id", 100)};
  if (!is_approval) return notice;
  notice.tool = kind_of_action(data);
  notice.undo = bool_or(data, "reversible") ? "reversible" : shortened(data, "undo", 20);
  return notice;
}

Notice summary_of(const std::vector<Notice>& notices) {
  constexpr size_t most_named = 5;
  std::map<std::string, int64_t> counts;
  for (const auto& notice : notices) ++counts[notice.agent];
  std::vector<std::pair<std::string, int64_t>> askers(counts.begin(), counts.end());
  std::ranges::sort(askers, [](const auto& a, const auto& b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  std::string of;
  for (size_t i = 0; i < std::min(askers.size(), most_named); ++i)
    of += fmt::format("{}{} of {}", i ? ", " : "", askers[i].second, askers[i].first);
  if (askers.size() > most_named) of += fmt::format(" and others ({})", askers.size() - most_named);
  return {.agent = std::move(of), .more = static_cast<int64_t>(notices.size())};
}

std::string about(const Notice& notice) {
  return notice.more > 0 ? fmt::format("{} more that wait", notice.more) : notice.id;
}

std::string text_of(const Notice& notice) {
  if (notice.more > 0) return fmt::format("{} more wait for you: {}.", notice.more, notice.agent);
  // A session outside of any run has no task that a person gave.
  auto id = notice.task_id.contains(':') ? std::string() : notice.task_id;
  auto task = notice.task.empty() ? id : shortened(notice.task, 200);
  auto of_task = task.empty() ? std::string() : fmt::format(" (task: {})", task);
  if (!notice.is_approval) return fmt::format("{}{} asks you a question.", notice.agent, of_task);
  auto undo = notice.undo == "reversible"     ? "It can be undone."
              : notice.undo == "irreversible" ? "It cannot be undone."
                                              : "It is not known whether it can be undone.";
  return fmt::format("{}{} needs your approval {} to use {}. {}", notice.agent, of_task, notice.id,
                     notice.tool, undo);
}

std::string link_of(const Notice& notice, std::string page) {
  while (page.ends_with('/')) page.pop_back();
  if (notice.more > 0) return page + "/";
  return fmt::format("{}/#{}={}", page, notice.is_approval ? "approval" : "question",
                     percent_encode(notice.id));
}

WebRequest to_request(const NotifySettings& settings, const Notice& notice, const std::string& page,
                      const std::string& project) {
  auto link = link_of(notice, settings.link.empty() ? page : settings.link);
  WebRequest request{.method = "POST",
                     .url = settings.url,
                     .connect_timeout = 5s,
                     .first_byte_timeout = 5s,
                     .idle_timeout = 5s,
                     .max_bytes = 64u << 10};
  auto title = fmt::format("cru: {} in {}",
                           notice.more > 0      ? fmt::format("{} more wait", notice.more)
                           : notice.is_approval ? "approval " + notice.id
                                                : "a question",
                           project);
  if (settings.format == "ntfy") {
    request.headers = {{"Content-Type", "text/plain; charset=utf-8"},
                       {"Title", header_text(title)},
                       {"Click", header_text(link)},
                       {"Priority", "high"}};
    request.body = text_of(notice);
    return request;
  }
  request.headers = {{"Content-Type", "application/json"}};
  if (notice.more > 0) {
    request.body = to_text(json::object{{"type", "summary"},
                                        {"count", notice.more},
                                        {"title", title},
                                        {"text", text_of(notice)},
                                        {"url", link},
                                        {"project", project}});
    return request;
  }
  request.body = to_text(
      json::object{{"type", notice.is_approval ? "approval" : "question"},
                   {"id", notice.id},
                   {"title", title},
                   {"text", text_of(notice)},
                   {"url", link},
                   {"project", project},
                   {"agent", notice.agent},
                   {"member", json_or_null(notice.member)},
                   {"task_id", json_or_null(notice.task_id)},
                   {"task", json_or_null(shortened(notice.task, 200))},
                   {"action", json_or_null(notice.tool)},
                   {"undo", json_or_null(notice.undo)},
                   {"reversible", notice.is_approval ? json::value(notice.undo == "reversible") : nullptr}});
  return request;
}

std::string without_path(const std::string& url) {
  auto host = url.find("://");
  if (host == std::string::npos) return {};
  auto end = url.find_first_of("/?", host + 3);
  return end == std::string::npos || end + 1 == url.size() ? url : url.substr(0, end) + "/…";
}

}  // namespace cru::daemon
