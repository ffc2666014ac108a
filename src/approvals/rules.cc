#include "approvals/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/glob.h"
#include "base/guarded_paths.h"
#include "base/plain_words.h"
#include "base/sha256.h"
#include "base/text.h"

namespace cru::approvals {
namespace {

constexpr size_t max_patterns = 32, max_pattern_bytes = 4096;

/// A proposal as rules look at it.
struct Seen {
  Subject subject = Subject::call;
  std::string path = {};  ///< of a file: below the folder
  bool is_inside = false;
  CommandParts command = {};
  std::string input = {};
};

CommandParts command_in(const json::object& input) {
  for (auto key : {"argv", "command"})
    if (const auto* list = array_at(input, key)) {
      Words words;
      for (const auto& word : *list)
        words.emplace_back(word.is_string() ? std::string(word.get_string()) : "");
      auto parts = parts_of_argv(words);
      if (!text_or(input, "stdin").empty() && parts.is_certain())
        parts.doubt = "it reads what the agent gives it as standard input";
      return parts;
    }
  return parts_of_shell(text_or(input, "command"));
}

Seen look_at(const Proposal& proposal) {
  Seen seen;
  bool is_command = array_at(proposal.input, "argv") || array_at(proposal.input, "command") ||
                    !text_or(proposal.input, "command").empty();
  if (is_command) {
    seen.subject = Subject::command;
    seen.command = command_in(proposal.input);
  } else if (proposal.files.size() == 1 && proposal.executable.empty()) {
    seen.subject = Subject::files;
    std::string_view path = proposal.files[0].path;
    auto prefix = proposal.folder + "/";
    seen.is_inside = !path.starts_with('/') || path.starts_with(prefix);
    seen.path = path.starts_with(prefix) ? path.substr(prefix.size()) : path;
    seen.is_inside = seen.is_inside && !seen.path.empty() && !has_part(seen.path, "..");
  }
  seen.input = sha256(canonical(without_advisory(proposal.tool, proposal.input)));
  return seen;
}

bool matches(const CommandPattern& pattern, const Words& words, bool by_name) {
  if (words.size() < pattern.words.size()) return false;
  if (!pattern.is_open && words.size() != pattern.words.size()) return false;
  for (size_t i = 0; i < pattern.words.size(); ++i) {
    bool is_same = words[i] == pattern.words[i] ||
                   (by_name && i == 0 && program_name(words[0]) == program_name(pattern.words[0]));
    if (!is_same) return false;
  }
  return true;
}

bool covers_file(const Rule& rule, const std::string& path) {
  return std::ranges::any_of(rule.files,
                             [&](const std::string& pattern) { return Glob(pattern).matches(path); });
}

bool is_in_scope(const Rule& rule, const Request& request, std::string_view project) {
  bool is_here = rule.scope == Scope::project ? !project.empty() && rule.project == project
                                              : !rule.session.empty() && rule.session == session_of(request);
  // An agent is one of a chat: a name alone is anybody's, and programs of runs and sessions have rules of
  // their own.
  bool is_of_chat = !request.chat_id.empty();
  bool is_asker = rule.verdict != Verdict::allow ||
                  (rule.agent.empty() ? !is_of_chat : is_of_chat && rule.agent == request.agent);
  return is_here && is_asker && (rule.tool.empty() || rule.tool == request.proposal.tool);
}

/// Of rules that deny or ask: whether any of it is theirs.
bool touches(const Rule& rule, const Seen& seen) {
  if (rule.is_damaged) return true;
  if (rule.subject != seen.subject) return false;
  if (rule.subject == Subject::files) return covers_file(rule, seen.path);
  if (rule.subject == Subject::call) return rule.input == seen.input;
  return std::ranges::any_of(rule.commands, [&](const CommandPattern& pattern) {
    return std::ranges::any_of(seen.command.parts,
                               [&](const Words& words) { return matches(pattern, words, true); });
  });
}

/// Why no rule may allow this; empty: one may.
std::string never_allowed(const Proposal& proposal, const Seen& seen) {
  if (proposal.undo != Undo::reversible)
    return fmt::format("it cannot be undone ({})",
                       proposal.undo_why.empty() ? "nobody knows how" : proposal.undo_why);
  if (seen.subject == Subject::command && !seen.command.is_certain())
    return "it is not certain what the command runs: " + seen.command.doubt;
  if (seen.subject == Subject::files && !seen.is_inside) return "the file is outside of the agent's folder";
  if (seen.subject == Subject::files && is_guarded(seen.path))
    return "the file is one that no agent may change on its own";
  return {};
}

bool is_same_place(const Rule& rule, const Proposal& proposal) {
  return rule.folder == proposal.folder && rule.executable == proposal.executable;
}

/// The rules that allow it together, each part of a command by one of them; none if a part is left.
std::vector<const Rule*> allowing(std::span<const Rule* const> rules, const Seen& seen) {
  std::vector<const Rule*> found;
  auto add = [&](auto&& covers) {
    auto rule = std::ranges::find_if(rules, covers);
    if (rule == rules.end()) return false;
    if (std::ranges::find(found, *rule) == found.end()) found.push_back(*rule);
    return true;
  };
  if (seen.subject == Subject::files) {
    add([&](const Rule* rule) { return covers_file(*rule, seen.path); });
  } else if (seen.subject == Subject::call) {
    add([&](const Rule* rule) { return rule->input == seen.input; });
  } else {
    for (const auto& words : seen.command.parts)
      if (!add([&](const Rule* rule) {
            return std::ranges::any_of(rule->commands, [&](const CommandPattern& pattern) {
              return matches(pattern, words, false);
            });
          }))
        return {};
  }
  return found;
}

std::unexpected<Error> wrong_cover(std::string message, std::string hint = {}) {
  return fail(Code::invalid_argument, std::move(message), "covers", std::move(hint));
}

Result<std::vector<std::string>> file_patterns(const Seen& seen, const RuleRequest& wanted) {
  if (wanted.covers.empty()) {
    if (seen.path.find_first_of("*?") != std::string::npos)
      return wrong_cover("the name of the file has a * or ?, which no rule can mean literally");
    return std::vector{seen.path};
  }
  for (const auto& pattern : wanted.covers)
    if (pattern.empty() || pattern.starts_with('/') || pattern.contains('\0') || has_part(pattern, ".."))
      return wrong_cover("a pattern of files is relative to the agent's folder, such as src/**");
  return wanted.covers;
}

Result<CommandPattern> command_pattern(std::string_view text, Verdict verdict) {
  CommandPattern pattern;
  text = trim(text);
  pattern.is_open = text.ends_with(" *");
  if (pattern.is_open) text = trim(text.substr(0, text.size() - 2));
  // A rule that denies may name what no rule could allow: sudo, cd.
  auto read = parts_of_shell(text);
  if (read.parts.empty() || (verdict == Verdict::allow && (!read.is_certain() || read.parts.size() != 1)))
    return wrong_cover(
        fmt::format("\"{}\" is not one plain command{}{}", truncate(safe_for_terminal(text), 80),
                    read.doubt.empty() ? "" : ": ", read.doubt),
        "for example --covers 'git status *'");
  pattern.words = read.parts.front();
  if (verdict != Verdict::allow || !pattern.is_open) return pattern;
  auto program = program_name(pattern.words[0]);
  if (runs_others(program))
    return wrong_cover(
        fmt::format("{} runs whatever it is given: allow it only with all of its words", program));
  if (pattern.words.size() < 2)
    return wrong_cover(fmt::format("this would allow everything that {} can do", program),
                       fmt::format("name what of it: --covers '{} status *'", program));
  return pattern;
}

Result<std::vector<CommandPattern>> command_patterns(const Seen& seen, const RuleRequest& wanted) {
  std::vector<CommandPattern> patterns;
  if (wanted.covers.empty()) {
    if (wanted.verdict != Verdict::allow && seen.command.parts.size() != 1)
      return wrong_cover("the command has several parts: say which of them the rule is about",
                         "for example --covers 'rm *'");
    for (const auto& words : seen.command.parts)
      if (std::ranges::find(patterns, CommandPattern{words}) == patterns.end()) patterns.push_back({words});
    if (patterns.size() > max_patterns) return wrong_cover("the command has too many parts for a rule");
    return patterns;
  }
  for (const auto& text : wanted.covers) {
    auto pattern = command_pattern(text, wanted.verdict);
    if (!pattern) return fail(std::move(pattern.error()));
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

Result<> fill_coverage(Rule& rule, const Seen& seen, const RuleRequest& wanted) {
  if (wanted.covers.size() > max_patterns) return wrong_cover("too many patterns for one rule");
  for (const auto& text : wanted.covers)
    if (text.size() > max_pattern_bytes || !is_utf8(text))
      return wrong_cover("a pattern is too long, or no text");
  if (rule.subject == Subject::files) {
    auto patterns = file_patterns(seen, wanted);
    if (!patterns) return fail(std::move(patterns.error()));
    rule.files = *std::move(patterns);
  } else if (rule.subject == Subject::command) {
    auto patterns = command_patterns(seen, wanted);
    if (!patterns) return fail(std::move(patterns.error()));
    rule.commands = *std::move(patterns);
  } else {
    if (!wanted.covers.empty())
      return wrong_cover("a rule about this tool covers exactly this input", "leave out the patterns");
    rule.input = seen.input;
  }
  return {};
}

}  // namespace

const std::string& session_of(const Request& request) {
  return request.chat_id.empty() ? request.thread : request.chat_id;
}

Result<Rule> propose_rule(const Approval& approval, const RuleRequest& wanted, const std::string& project,
                          Time now) {
  const auto& request = approval.request;
  const auto& proposal = approval.proposal();
  auto seen = look_at(proposal);
  bool allows = wanted.verdict == Verdict::allow;
  if (auto why = never_allowed(proposal, seen); allows && !why.empty())
    return fail(Code::invalid_argument, "no rule can allow this: " + why, "for",
                "approve it once, without --for; your own configuration can say what can be undone: see "
                "approvals.rules in docs/formats/config.md");
  Rule rule{.verdict = wanted.verdict, .scope = wanted.scope, .subject = seen.subject};
  if (wanted.scope == Scope::session) rule.session = session_of(request);
  rule.project = project;
  if (seen.subject == Subject::call) rule.tool = proposal.tool, rule.what = proposal.what;
  if (allows) {
    // What a run is called changes with every run: its programs are one agent.
    if (!request.chat_id.empty()) rule.agent = request.agent;
    if (seen.subject == Subject::command) rule.tool = proposal.tool;
    rule.folder = proposal.folder;
    rule.executable = proposal.executable;
  }
  if (auto filled = fill_coverage(rule, seen, wanted); !filled) return fail(std::move(filled.error()));
  rule.made_from = approval.id;
  rule.made_at = now;
  auto ruling = judge(std::span(&rule, 1), request, project);
  if (!ruling || ruling->verdict != wanted.verdict)
    return fail(Code::invalid_argument,
                fmt::format("this rule would not cover {} itself: {}", approval.id, coverage(rule)),
                "covers");
  return rule;
}

std::optional<Ruling> judge(std::span<const Rule> rules, const Request& request, std::string_view project) {
  auto seen = look_at(request.proposal);
  std::vector<const Rule*> here;
  for (const auto& rule : rules)
    if (is_in_scope(rule, request, project)) here.push_back(&rule);
  for (auto verdict : {Verdict::deny, Verdict::ask})
    for (const auto* rule : here)
      if (rule->verdict == verdict && touches(*rule, seen)) return Ruling{verdict, rule->id, coverage(*rule)};
  if (!never_allowed(request.proposal, seen).empty()) return {};
  std::erase_if(here, [&](const Rule* rule) {
    return rule->verdict != Verdict::allow || rule->subject != seen.subject ||
           !is_same_place(*rule, request.proposal);
  });
  Ruling ruling{Verdict::allow};
  for (const auto* rule : allowing(here, seen)) {
    ruling.rule += (ruling.rule.empty() ? "" : ", ") + rule->id;
    ruling.coverage += (ruling.coverage.empty() ? "" : "; ") + coverage(*rule);
  }
  if (ruling.coverage.empty()) return {};
  return ruling;
}

std::string coverage(const Rule& rule) {
  if (rule.is_damaged) return "cannot be read: whatever its session asks for is asked";
  std::string verb = rule.verdict == Verdict::allow ? "allows"
                     : rule.verdict == Verdict::ask ? "asks"
                                                    : "denies";
  auto who = !rule.agent.empty()              ? fmt::format("agent {}", rule.agent)
             : rule.verdict == Verdict::allow ? std::string("every program of a run")
                                              : std::string("every agent");
  auto where = rule.scope == Scope::project ? fmt::format("in the project {}", rule.project)
                                            : std::string("in this session only");
  std::string what;
  if (rule.subject == Subject::files) {
    what = fmt::format("changing files that match {}", fmt::join(rule.files, ", "));
  } else if (rule.subject == Subject::command) {
    for (const auto& pattern : rule.commands) {
      std::string line;
      for (const auto& word : pattern.words) line += (line.empty() ? "" : " ") + as_shell_word(word);
      what += fmt::format("{}\"{}\"{}", what.empty() ? "running " : ", ", line,
                          pattern.is_open ? " with any further words" : "");
    }
  } else {
    what = fmt::format("{} with exactly this input ({})", rule.tool, rule.what);
  }
  if (!rule.folder.empty()) what += fmt::format(", in {}", rule.folder);
  if (rule.subject == Subject::command && !rule.tool.empty()) what += fmt::format(", by {}", rule.tool);
  auto limits =
      rule.verdict != Verdict::allow ? ""
      : rule.subject == Subject::command
          ? "; whatever the program and the files it uses contain by then, but never what cannot be undone"
          : "; never what cannot be undone";
  return fmt::format("{} {}, {}, {}{}", verb, who, where, what, limits);
}

}  // namespace cru::approvals
