#include "teams/team.h"

#include <fmt/format.h>

#include <charconv>

#include "base/id.h"
#include "base/text.h"

namespace cru::coordination {
namespace {

constexpr size_t max_members = 64, max_texts = 64, max_word_bytes = 128, max_text_bytes = 65536;

/// Reads the tree and gathers what is wrong with it.
class TeamReader {
 public:
  std::vector<TeamProblem> problems;

  Team read(const YamlNode& root) {
    Team team;
    if (root.kind != YamlNode::Kind::map) {
      problem(root.line, "(file)", "must be a mapping with `team` and `agents`");
      return team;
    }
    check_keys(root, "", {"team", "agents", "coordination"});
    team.team = text(root, "", "team", true, max_word_bytes);
    if (const auto* agents = required(root, "", "agents"))
      read_agents(*agents, key_line(root, "agents"), team);
    if (const auto* rules = root.find("coordination"))
      read_coordination(*rules, key_line(root, "coordination"), team);
    return team;
  }

 private:
  void problem(int line, std::string field, std::string reason) {
    problems.push_back({std::max(line, 1), std::move(field), std::move(reason)});
  }

  static std::string at(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  static int key_line(const YamlNode& map, std::string_view key) {
    for (const auto& member : map.members)
      if (member.key == key) return member.line;
    return map.line;
  }

  void check_keys(const YamlNode& map, const std::string& path, const std::vector<std::string>& known) {
    for (const auto& member : map.members) {
      if (std::ranges::find(known, member.key) != known.end()) continue;
      auto meant = closest(member.key, known);
      problem(member.line, at(path, member.key),
              meant.empty() ? fmt::format("unknown key; valid keys: {}", fmt::join(known, ", "))
                            : fmt::format("unknown key; did you mean `{}`?", meant));
    }
  }

  const YamlNode* required(const YamlNode& map, const std::string& path, std::string_view key) {
    const auto* node = map.find(key);
    if (!node) problem(map.line, at(path, key), "is missing");
    return node;
  }

  /// The text at `key`; empty with a problem noted if it is none.
  std::string text(const YamlNode& map, const std::string& path, std::string_view key, bool must_be_there,
                   size_t longest) {
    const auto* node = must_be_there ? required(map, path, key) : map.find(key);
    if (!node) return {};
    return check_text(*node, key_line(map, key), at(path, key), longest);
  }

  std::string check_text(const YamlNode& node, int line, const std::string& field, size_t longest) {
    if (node.kind != YamlNode::Kind::scalar || node.text.empty()) {
      problem(line, field, "must be a string");
      return {};
    }
    if (node.text.size() > longest) {
      problem(line, field, fmt::format("must be at most {} bytes", longest));
      return {};
    }
    if (node.text.find('\0') != std::string::npos) {
      problem(line, field, "must not contain a NUL byte");
      return {};
    }
    return node.text;
  }

  std::vector<std::string> texts(const YamlNode& node, int line, const std::string& field) {
    std::vector<std::string> out;
    if (node.kind != YamlNode::Kind::list) {
      problem(line, field, "must be a list of strings");
      return out;
    }
    if (node.items.size() > max_texts) problem(line, field, fmt::format("at most {} entries", max_texts));
    for (size_t i = 0; i < std::min(node.items.size(), max_texts); ++i) {
      auto entry = fmt::format("{}[{}]", field, i);
      auto word = check_text(node.items[i], node.items[i].line, entry, max_word_bytes);
      // They travel in a comma-separated variable.
      if (word.find(',') != std::string::npos) problem(node.items[i].line, entry, "must not contain a comma");
      out.push_back(std::move(word));
    }
    return out;
  }

  int64_t integer(const YamlNode& map, const std::string& path, std::string_view key, int64_t least,
                  int64_t most) {
    const auto* node = map.find(key);
    if (!node) return 0;
    int64_t value = 0;
    const auto* end = node->text.data() + node->text.size();
    auto [rest, error] = std::from_chars(node->text.data(), end, value);
    if (node->kind == YamlNode::Kind::scalar && !node->quoted && error == std::errc() && rest == end &&
        value >= least && value <= most)
      return value;
    problem(key_line(map, key), at(path, key), fmt::format("must be a number from {} to {}", least, most));
    return 0;
  }

  void read_agents(const YamlNode& agents, int line, Team& team) {
    if (agents.kind != YamlNode::Kind::list || agents.items.empty())
      return problem(line, "agents", "must be a list of at least one agent");
    if (agents.items.size() > max_members)
      return problem(line, "agents", fmt::format("at most {} agents", max_members));
    for (size_t i = 0; i < agents.items.size(); ++i) read_member(agents.items[i], i, team);
  }

  void read_member(const YamlNode& node, size_t index, Team& team) {
    auto path = fmt::format("agents[{}]", index);
    Member member;
    if (node.kind != YamlNode::Kind::map) {
      problem(node.line, path, "must be a mapping with name, role, capabilities and description");
      team.agents.push_back(std::move(member));
      return;
    }
    check_keys(node, path, {"name", "role", "capabilities", "description", "backend", "task"});
    member.name = read_name(node, path, team);
    member.role = read_role(node, path);
    if (const auto* capabilities = required(node, path, "capabilities"))
      member.capabilities = texts(*capabilities, key_line(node, "capabilities"), at(path, "capabilities"));
    member.description = text(node, path, "description", true, max_text_bytes);
    member.backend = text(node, path, "backend", false, 64);
    if (!member.backend.empty() && !is_task_id(member.backend))
      problem(key_line(node, "backend"), at(path, "backend"), "must be the name of a backend, not a command");
    member.task = text(node, path, "task", false, max_text_bytes);
    team.agents.push_back(std::move(member));
  }

  std::string read_name(const YamlNode& node, const std::string& path, const Team& team) {
    auto name = text(node, path, "name", true, max_text_bytes);
    if (name.empty()) return name;
    auto line = key_line(node, "name");
    if (!is_task_id(name)) {
      problem(line, at(path, "name"), "must have 1 to 64 characters of A-Z a-z 0-9 _ -");
      return name;
    }
    for (size_t i = 0; i < team.agents.size(); ++i)
      if (team.agents[i].name == name) {
        problem(line, at(path, "name"), fmt::format("`{}` is already the name of agents[{}]", name, i));
        break;
      }
    return name;
  }

  std::string read_role(const YamlNode& node, const std::string& path) {
    static const std::vector<std::string> roles{"coordinator", "worker", "reviewer"};
    auto role = text(node, path, "role", true, max_text_bytes);
    if (role.empty() || std::ranges::find(roles, role) != roles.end()) return role;
    auto meant = closest(role, roles);
    problem(key_line(node, "role"), at(path, "role"),
            fmt::format("must be coordinator, worker or reviewer{}",
                        meant.empty() ? std::string() : fmt::format("; did you mean `{}`?", meant)));
    return role;
  }

  void read_coordination(const YamlNode& node, int line, Team& team) {
    const std::string path = "coordination";
    if (node.kind != YamlNode::Kind::map) return problem(line, path, "must be a mapping");
    check_keys(node, path, {"max_parallel", "lock_ttl_minutes", "handoff_to", "task_types"});
    team.max_parallel = integer(node, path, "max_parallel", 1, max_members);
    team.lock_ttl_minutes = integer(node, path, "lock_ttl_minutes", 1, 480);
    team.handoff_to = text(node, path, "handoff_to", false, max_word_bytes);
    bool is_member = std::ranges::find(team.agents, team.handoff_to, &Member::name) != team.agents.end();
    if (!team.handoff_to.empty() && !is_member)
      problem(key_line(node, "handoff_to"), at(path, "handoff_to"), "must be the name of one of the agents");
    if (const auto* types = node.find("task_types"))
      team.task_types = texts(*types, key_line(node, "task_types"), at(path, "task_types"));
  }
};

std::string duties(const std::string& role) {
  if (role == "coordinator")
    return "Split the goal into work items and submit them with submit_work, with depends_on where one "
           "requires another. Monitor them with list_work and why_work, and ask the user with ask_user.";
  if (role == "reviewer")
    return "Claim review work with get_work, review the result, and report it with complete_work: success "
           "true, or success false with the reason.";
  return "Claim work items with get_work (use wait_seconds to wait for one) and report each with "
         "complete_work and its fencing_token. Acquire a lock with acquire_lock before you edit a file.";
}

}  // namespace

std::string to_text(const TeamProblem& problem, const std::string& file) {
  return fmt::format("{}:{}: {}: {}", file, problem.line, problem.field, problem.reason);
}

std::expected<Team, std::vector<TeamProblem>> read_team(const YamlNode& root) {
  TeamReader reader;
  auto team = reader.read(root);
  if (reader.problems.empty()) return team;
  std::ranges::sort(reader.problems, {},
                    [](const TeamProblem& problem) { return std::pair(problem.line, problem.field); });
  return std::unexpected(std::move(reader.problems));
}

TeamProblem syntax_problem(const Error& error) {
  int line = 1;
  const auto& text = error.message;
  auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), line);
  auto reason = text.substr(static_cast<size_t>(rest - text.data()));
  if (code != std::errc()) line = 1;
  if (reason.starts_with(": ")) reason = reason.substr(2);
  return {line, "(file)", reason};
}

std::vector<std::string> trust_reasons(const Team& team) {
  std::vector<std::string> names;
  for (const auto& member : team.agents)
    names.push_back(member.backend.empty() ? member.name
                                           : fmt::format("{} ({})", member.name, member.backend));
  return {fmt::format("starts the agents {} with tasks of its own", fmt::join(names, ", "))};
}

std::string briefing(const Team& team, const Member& member) {
  auto text = fmt::format("You are {}, {} of the team {}: {}\n", member.name, member.role, team.team,
                          member.description);
  if (!member.task.empty()) text += fmt::format("\nYour task: {}\n", member.task);
  text += "\nThe team:\n";
  for (const auto& other : team.agents)
    text +=
        fmt::format("- {} ({}){}: {}\n", other.name, other.role,
                    other.capabilities.empty() ? std::string()
                                               : fmt::format(", can {}", fmt::join(other.capabilities, ", ")),
                    other.description);
  text += fmt::format("\nWork together through the tools of the MCP server `cru`. {}\n", duties(member.role));
  if (!team.task_types.empty())
    text += fmt::format("Types of work in this team: {}.\n", fmt::join(team.task_types, ", "));
  if (!team.handoff_to.empty() && team.handoff_to != member.name)
    text += fmt::format("When you are done, write_handoff; {} takes over from you.\n", team.handoff_to);
  else
    text += "When you are done, write_handoff: what is done, what is open, what was decided.\n";
  return text;
}

}  // namespace cru::coordination
