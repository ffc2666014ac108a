#include "crew/conversation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cru::crew {

Next what_next(const std::vector<Entry>& entries) {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->role == Role::note) continue;
    if (entry->role != Role::assistant) return Next::think;
    return entry->message.uses.empty() ? Next::nothing : Next::use_tools;
  }
  return Next::nothing;
}

namespace {

/// Every use has its answer, or no provider takes the conversation.
void answer_all(std::vector<minds::Message>& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].uses.empty()) continue;
    if (i + 1 == messages.size() || messages[i + 1].role == minds::Message::Role::assistant)
      messages.insert(messages.begin() + static_cast<std::ptrdiff_t>(i) + 1, minds::Message());
    auto& answers = messages[i + 1].results;
    for (const auto& use : messages[i].uses)
      if (std::ranges::none_of(answers, [&](const auto& answer) { return answer.id == use.id; }))
        answers.push_back({use.id, "cancelled before there was a result", true});
  }
}

void join(minds::Message& into, const minds::Message& more) {
  if (!into.text.empty() && !more.text.empty()) into.text += "\n\n";
  into.text += more.text;
  into.uses.insert(into.uses.end(), more.uses.begin(), more.uses.end());
  into.results.insert(into.results.end(), more.results.begin(), more.results.end());
}

}  // namespace

std::vector<minds::Message> to_messages(const std::vector<Entry>& entries) {
  std::vector<minds::Message> messages;
  for (const auto& entry : entries) {
    if (entry.role == Role::note) continue;
    auto message = entry.message;
    message.role =
        entry.role == Role::assistant ? minds::Message::Role::assistant : minds::Message::Role::user;
    if (!messages.empty() && messages.back().role == message.role && messages.back().uses.empty())
      join(messages.back(), message);
    else
      messages.push_back(std::move(message));
  }
  answer_all(messages);
  return messages;
}

std::string run_of_reply(const std::string& first, const std::vector<Entry>& entries) {
  int went_on = 0;
  for (auto entry = entries.rbegin(); entry != entries.rend() && entry->role != Role::user; ++entry)
    went_on += entry->role == Role::tool && !entry->message.text.empty();
  return went_on == 0 ? first : fmt::format("{}-{}", first, went_on + 1);
}

Entry note_of_use(std::string thread, std::string use, const std::string& tool, const json::object& input) {
  constexpr size_t max_input_bytes = 300;
  Entry note{.thread = std::move(thread), .role = Role::note};
  note.message.text = fmt::format("- `{}` {}", tool, cut_with_ellipsis(to_text(input), max_input_bytes));
  note.message.uses.push_back({std::move(use), tool, {}});
  return note;
}

std::set<std::string> noted_uses(const std::vector<Entry>& entries) {
  std::set<std::string> uses;
  for (const auto& entry : entries)
    if (entry.role == Role::note)
      for (const auto& use : entry.message.uses) uses.insert(use.id);
  return uses;
}

std::vector<Subagent> unreported(std::vector<Subagent> children, const std::string& thread, Time since) {
  std::erase_if(children, [&](const Subagent& child) {
    return child.parent != thread || !child.parent_use.empty() || !child.reported_to.empty() ||
           child.spawned_at < since;
  });
  return children;
}

Time turn_began(const std::vector<Entry>& entries) {
  auto last = std::ranges::find(entries.rbegin(), entries.rend(), Role::user, &Entry::role);
  return last == entries.rend() ? Time() : last->at;
}

namespace {

struct Section {
  std::string title;  ///< lower case
  std::string text;
};

std::string heading_of(std::string_view line) {
  auto hashes = std::min(line.find_first_not_of('#'), line.size());
  if (hashes == 0 || hashes > 6 || hashes == line.size() || line[hashes] != ' ') return {};
  auto title = trim(line.substr(hashes));
  while (title.ends_with(':') || title.ends_with('*')) title.remove_suffix(1);
  while (title.starts_with('*')) title.remove_prefix(1);
  return to_lower(title);
}

/// The text by its headings; what stands before the first has no title. Fences hide headings.
std::vector<Section> split(std::string_view text) {
  std::vector<Section> sections(1);
  bool fenced = false;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    if (trim(line).starts_with("```")) fenced = !fenced;
    auto title = fenced ? std::string() : heading_of(line);
    bool ours = title == "summary" || title == "findings";
    if (ours)
      sections.push_back({title, {}});
    else
      sections.back().text.append(line).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return sections;
}

constexpr size_t max_summary_characters = 100;

/// With one blank between its words.
std::string one_line_of(std::string_view text) {
  std::string line;
  for (char c : trim(text)) {
    bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!is_space)
      line += c;
    else if (!line.ends_with(' '))
      line += ' ';
  }
  return line;
}

std::string cut_line(std::string_view line) {
  std::string out;
  for (size_t count = 0; !line.empty() && count < max_summary_characters; ++count) {
    auto length = first_code_point(line).length;
    out += line.substr(0, length);
    line.remove_prefix(length);
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

Report read_report(std::string_view text) {
  Report report;
  std::string before;
  for (auto& section : split(text)) {
    auto body = std::string(trim(section.text));
    if (section.title == "summary")
      report.summary += (report.summary.empty() ? "" : "\n\n") + body;
    else if (section.title == "findings")
      report.findings += (report.findings.empty() ? "" : "\n\n") + body;
    else
      before = body;
  }
  if (report.summary.empty()) {
    auto body = trim(report.findings.empty() ? std::string_view(before) : report.findings);
    report.summary = std::string(trim(body.substr(0, body.find("\n\n"))));
    if (report.findings.empty()) report.findings = before;
  } else if (report.findings.empty()) {
    report.findings = before.empty() ? report.summary : before;
  }
  return report;
}

std::string summary_line(std::string_view text) { return cut_line(one_line_of(read_report(text).summary)); }

bool is_abbreviated(std::string_view text) {
  auto line = one_line_of(read_report(text).summary);
  return cut_line(line).size() < line.size();
}

}  // namespace cru::crew
