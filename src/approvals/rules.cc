#include "approvals/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "approvals/seen.h"
#include "base/glob.h"
#include "base/guarded_paths.h"
#include "base/text.h"

namespace cru::approvals {
namespace {

constexpr size_t max_patterns = 32, max_pattern_bytes = 4096;

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
Fit touches(const Rule& rule, const Seen& seen) {
  if (rule.is_damaged) return Fit::yes;
  if (rule.subject != seen.subject) return Fit::no;
  if (rule.subject == Subject::call) return rule.input == seen.input ? Fit::yes : Fit::no;
  if (rule.subject == Subject::files) {
    auto is_one = [&](const SeenFile& file) { return covers_file(rule, file.path); };
    if (std::ranges::any_of(seen.files, is_one)) return Fit::yes;
    // Elsewhere may be another worktree of the project.
    bool is_known = !seen.is_partial && std::ranges::all_of(seen.files, &SeenFile::is_of_project);
    return is_known ? Fit::no : Fit::perhaps;
  }
  auto fit = Fit::no;
  for (const auto& pattern : rule.commands) fit = std::max(fit, may_run(seen.command, pattern));
  return fit;
}

/// A rule that allows holds where it was made, and for what else was asked with the command.
bool is_same_place(const Rule& rule, const Proposal& proposal, const Seen& seen) {
  return rule.folder == proposal.folder && rule.executable == proposal.executable &&
         (rule.subject != Subject::command || rule.input == seen.rest);
}

/// The rules that allow it together, each file and each part of a command by one of them; none if one is
/// left. `word_for_word`: a pattern with any further words does not count.
std::vector<const Rule*> allowing(std::span<const Rule* const> rules, const Seen& seen, bool word_for_word) {
  std::vector<const Rule*> found;
  auto add = [&](auto&& covers) {
    auto rule = std::ranges::find_if(rules, covers);
    if (rule == rules.end()) return false;
    if (std::ranges::find(found, *rule) == found.end()) found.push_back(*rule);
    return true;
  };
  if (seen.subject == Subject::files) {
    for (const auto& file : seen.files)
      if (!add([&](const Rule* rule) { return covers_file(*rule, file.path); })) return {};
  } else if (seen.subject == Subject::call) {
    add([&](const Rule* rule) { return rule->input == seen.input; });
  } else {
    for (const auto& words : seen.command.parts)
      if (!add([&](const Rule* rule) {
            return std::ranges::any_of(rule->commands, [&](const CommandPattern& pattern) {
              return !(pattern.is_open && word_for_word) && matches(pattern, words);
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
  if (!wanted.covers.empty()) {
    if (!std::ranges::all_of(wanted.covers, is_file_pattern))
      return wrong_cover("a pattern of files is relative to the project's folder, such as src/**");
    return wanted.covers;
  }
  std::vector<std::string> paths;
  for (const auto& file : seen.files) {
    if (!is_file_pattern(file.path))
      return wrong_cover("the file is outside of the project: say which files the rule is about");
    if (file.path.find_first_of("*?") != std::string::npos)
      return wrong_cover("the name of the file has a * or ?, which no rule can mean literally");
    paths.push_back(file.path);
  }
  if (paths.empty() || paths.size() > max_patterns)
    return wrong_cover("it names too many files for a rule, or none: say which files the rule is about",
                       "for example --covers 'src/**'");
  return paths;
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
        fmt::format("{} runs other programs: allow it only with all of its arguments", program));
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
  auto seen = look_at(proposal, project);
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
    if (seen.subject == Subject::command) rule.input = seen.rest;
  }
  if (auto filled = fill_coverage(rule, seen, wanted); !filled) return fail(std::move(filled.error()));
  rule.reason = wanted.reason;
  rule.made_from = approval.id;
  rule.made_at = now;
  auto ruling = judge(std::span(&rule, 1), request, project);
  if (!ruling || ruling->verdict != wanted.verdict)
    return fail(Code::invalid_argument,
                fmt::format("this rule would not cover {} itself: it {}", approval.id, coverage(rule)),
                "covers");
  return rule;
}

std::optional<Ruling> judge(std::span<const Rule> rules, const Request& request, std::string_view project) {
  auto seen = look_at(request.proposal, project);
  std::vector<const Rule*> here;
  for (const auto& rule : rules)
    if (is_in_scope(rule, request, project)) here.push_back(&rule);
  const Rule* in_question = nullptr;  // may cover it: only a person can tell
  for (auto verdict : {Verdict::deny, Verdict::ask})
    for (const auto* rule : here) {
      if (rule->verdict != verdict) continue;
      auto fit = touches(*rule, seen);
      if (fit == Fit::yes && verdict == Verdict::deny) return Ruling{verdict, rule->id, rule->reason};
      if (fit == Fit::yes)
        return Ruling{verdict, rule->id, fmt::format("the rule {} says that a person is asked", rule->id)};
      if (fit == Fit::perhaps && !in_question) in_question = rule;
    }
  if (never_allowed(request.proposal, seen).empty()) {
    std::erase_if(here, [&](const Rule* rule) {
      return rule->verdict != Verdict::allow || rule->subject != seen.subject ||
             !is_same_place(*rule, request.proposal, seen);
    });
    Ruling ruling{Verdict::allow};
    auto found = allowing(here, seen, in_question != nullptr);
    for (const auto* rule : found) ruling.rule += (ruling.rule.empty() ? "" : ", ") + rule->id;
    if (!found.empty()) return ruling;
  }
  if (!in_question) return {};
  return Ruling{Verdict::ask, in_question->id,
                fmt::format("it is not certain whether the rule {} covers it", in_question->id)};
}

bool is_file_pattern(std::string_view pattern) {
  return !pattern.empty() && !pattern.starts_with('/') && !pattern.contains('\0') && !has_part(pattern, "..");
}

}  // namespace cru::approvals
