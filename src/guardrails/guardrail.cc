#include "guardrails/guardrail.h"

#include <algorithm>
#include <set>

#include "base/glob.h"
#include "base/text.h"
#include "guardrails/guardrail_commands.h"
#include "guardrails/guardrail_paths.h"
#include "guardrails/guardrail_sql.h"

namespace cru::coordination {
namespace {

using Words = std::span<const ShellWord>;

constexpr size_t max_violations = 100;
constexpr int max_scripts = 8;    ///< a script in a script in a script
constexpr int max_programs = 16;  ///< a program that runs a program that runs a program

/// `NAME=value` before a command.
bool is_assignment(const ShellWord& word) {
  auto equals = word.text.find('=');
  if (equals == 0 || equals == std::string::npos || equals > 256) return false;
  return std::ranges::all_of(word.text.substr(0, equals),
                             [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

/// The command itself, without what may stand before it.
Words without_prefixes(Words words) {
  while (!words.empty() && (is_assignment(words[0]) ||
                            is_one_of(words[0].text, {"{", "}", "!", "if", "then", "else", "elif", "do",
                                                      "while", "until", "-", "*", "$", ">", "run"})))
    words = words.subspan(1);
  return words;
}

std::string joined(Words words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word.text;
  return text;
}

bool has_blank(std::string_view text) { return text.find_first_of(" \t\n") != std::string_view::npos; }

bool is_fetch(const ShellCommand& command) {
  auto words = Words(command.words).first(std::min<size_t>(command.words.size(), 8));
  return std::ranges::any_of(
      words, [](const ShellWord& word) { return is_one_of(program_name(word.text), {"curl", "wget"}); });
}

/// A sentence may go on after the command: `--force.` means `--force`.
std::vector<ShellWord> without_punctuation(Words words) {
  std::vector<ShellWord> plain(words.begin(), words.end());
  for (auto& word : plain)
    while (!word.is_quoted && word.text.size() > 1 &&
           std::string_view(".,:!?").find(word.text.back()) != std::string_view::npos &&
           std::string_view("./,:!?*").find(word.text[word.text.size() - 2]) == std::string_view::npos)
      word.text.pop_back();
  return plain;
}

class Check {
 public:
  Check(std::string_view root, std::span<const GuardrailRule> own) : root_(root), own_(own) {
    for (const auto& rule : own)
      for (const auto& path : rule.paths)
        globs_.emplace_back(&rule, path, path.find('/') == std::string::npos);
  }
  std::vector<Violation> violations;
  size_t steps = 0;

  void script(std::string_view text, int level) {
    if (level > max_scripts) return add(danger::too_deep, text);
    auto script = read_script(text);
    steps += script.steps;
    if (script.is_too_deep) add(danger::too_deep, text);
    // How many of the commands before each one fetch something; which ones read what was fetched.
    std::vector<size_t> fetches(script.commands.size() + 1);
    std::vector<bool> is_fed(script.commands.size());
    for (size_t i = 0; i < script.commands.size(); ++i) {
      const auto& command = script.commands[i];
      fetches[i + 1] = fetches[i] + (is_fetch(command) ? 1 : 0);
      auto from = command.pipe_from;
      is_fed[i] = from != ShellCommand::none && (is_fed[from] || fetches[from + 1] > fetches[from]);
      for (auto [first, last] : command.substitutions)
        if (fetches[last] > fetches[first]) is_fed[i] = true;
    }
    for (size_t i = 0; i < script.commands.size(); ++i) check_command({script, i, text, level, is_fed[i]});
    check_sql_between(script, text);
    if (text.find(":(){") != std::string_view::npos || text.find(":() {") != std::string_view::npos)
      add(danger::fork_bomb, text);
  }

  void file(std::string_view path) {
    steps += path.size();
    check_secret(path);
    check_own_paths(path);
  }

 private:
  struct Place {
    const Script& script;
    size_t index;
    std::string_view text;
    int level;
    bool is_fed;  ///< reads what was fetched from the network
    const ShellCommand& command() const { return script.commands[index]; }
  };

  void add(const Danger& danger, std::string_view matched) {
    add({std::string(danger.name),
         std::string(danger.category),
         std::string(danger.severity),
         {},
         danger.blocked},
        matched);
  }
  void add(Violation violation, std::string_view matched) {
    if (violations.size() >= max_violations) return;
    violation.matched_text = truncate(cut_at_character(matched, 800), 200);
    if (known_.insert(violation.pattern_name + '\n' + violation.matched_text).second)
      violations.push_back(std::move(violation));
  }

  static std::string_view source(const Place& place, Words words) {
    return words.empty() ? std::string_view()
                         : place.text.substr(words.front().begin, words.back().end - words.front().begin);
  }

  void check_command(const Place& place) {
    const auto& command = place.command();
    for (const auto& word : command.writes) {
      if (is_block_device(word.text)) add(danger::disk_overwrite, word.text);
      check_path_word(word);
    }
    for (const auto& word : command.reads) check_path_word(word);
    auto words = without_prefixes(command.words);
    check_own_patterns(place, words);
    if (words.empty()) return;
    check_paths(words);
    check_call(place, words);
  }

  /// What runs in the end, however many programs stand before it.
  void check_call(const Place& place, Words words) {
    for (int programs = 0; !words.empty(); ++programs) {
      if (programs == max_programs) return add(danger::too_deep, source(place, words));
      steps += words.size();
      auto program = program_name(words[0].text);
      switch (kind_of(program)) {
        case ProgramKind::other:
          return check_prose(place, words);
        case ProgramKind::plain:
          if (program == "cd" || program == "pushd")
            where_ = folder_after(words.size() > 1 ? words[1].text : std::string(), where_);
          return;
        case ProgramKind::shell:
          return check_shell(place, program, words);
        case ProgramKind::sql:
          return check_sql(place, words);
        case ProgramKind::checked:
          for (const auto& danger : dangers_of({program, words.subspan(1), where_, root_}))
            add(danger, source(place, words));
          words = command_within(program, words);
          break;
        case ProgramKind::wrapper:
          words = check_wrapper(place, words.subspan(1));
          break;
      }
    }
  }

  /// What a wrapper runs: the next program among its arguments, or (`ssh host '…'`) a script of its own.
  Words check_wrapper(const Place& place, Words arguments) {
    auto next = next_program(arguments);
    if (next.empty())
      for (const auto& word : arguments)
        if (word.is_quoted && has_blank(word.text)) script(word.text, place.level + 1);
    return next;
  }

  /// From the next word on that is a program we know.
  static Words next_program(Words words) {
    while (!words.empty() && kind_of(program_name(words[0].text)) == ProgramKind::other)
      words = words.subspan(1);
    return words;
  }

  /// What `find -exec` and `docker exec` run.
  static Words command_within(std::string_view program, Words words) {
    std::initializer_list<std::string_view> starters = {"exec", "run"};
    std::initializer_list<std::string_view> of_find = {"-exec", "-execdir", "-ok"};
    if (program != "find" && !is_one_of(program, {"docker", "podman", "kubectl", "docker-compose"}))
      return {};
    for (size_t i = 1; i < words.size(); ++i)
      if (is_one_of(words[i].text, program == "find" ? of_find : starters))
        return next_program(words.subspan(i + 1));
    return {};
  }

  /// A sentence, or a program that we know nothing of: the commands in it that are no English words.
  void check_prose(const Place& place, Words words) {
    bool reads_program =
        is_one_of(program_name(words[0].text), {"python", "python3", "perl", "ruby", "node", "php"});
    if (reads_program && place.is_fed && plain_arguments(words.subspan(1)).empty())
      add(danger::pipe_to_shell, piped_source(place));
    std::vector<size_t> starts;
    for (size_t i = 1; i < words.size(); ++i)
      if (!words[i].is_quoted && is_program_in_prose(program_name(words[i].text))) starts.push_back(i);
    for (size_t i = 0; i < starts.size(); ++i) {
      auto end = i + 1 < starts.size() ? starts[i + 1] : words.size();
      check_call(place, without_punctuation(words.subspan(starts[i], end - starts[i])));
    }
  }

  void check_shell(const Place& place, std::string_view program, Words words) {
    const auto& command = place.command();
    auto arguments = words.subspan(1);
    auto plain = plain_arguments(arguments);
    bool is_file = program == "source" || program == ".";
    bool has_script = has_flag(arguments, 'c') && !is_file && program != "eval";
    if (program == "eval") script(joined(arguments), place.level + 1);
    if (has_script && !plain.empty()) script(plain[0], place.level + 1);
    for (const auto& input : command.input) script(input, place.level + 1);
    bool reads_input = plain.empty() || has_flag(arguments, 's');
    bool is_from_pipe = command.pipe_from != ShellCommand::none;
    // `curl … | sh`, but not `curl … | sh script`; `sh <(curl …)` and `eval "$(curl …)"` always.
    if (place.is_fed && (reads_input || !is_from_pipe)) add(danger::pipe_to_shell, piped_source(place));
    if (reads_input) script(piped_text(place), place.level + 1);
  }

  /// What `echo … |` or `cat <<END |` gives to the command after it.
  static std::string piped_text(const Place& place) {
    if (place.command().pipe_from == ShellCommand::none) return {};
    const auto& from = place.script.commands[place.command().pipe_from];
    if (from.words.empty()) return {};
    if (is_one_of(from.words[0].text, {"echo", "printf"})) return joined(Words(from.words).subspan(1));
    std::string text;
    if (is_one_of(from.words[0].text, {"cat", "tee"}))
      for (const auto& input : from.input) text += input;
    return text;
  }

  /// From the command before the pipe on.
  static std::string_view piped_source(const Place& place) {
    auto from = place.command().pipe_from;
    auto begin = from == ShellCommand::none ? place.command().begin : place.script.commands[from].begin;
    return place.text.substr(begin, place.command().end - begin);
  }

  void check_sql(const Place& place, Words words) {
    const auto& command = place.command();
    auto scan = [this](std::string_view text) { scan_for_sql(text, false); };
    for (const auto& word : words.subspan(1))
      if (has_blank(word.text)) scan(word.text);
    for (const auto& input : command.input) scan(input);
    scan(piped_text(place));
  }

  /// SQL, or prose with SQL in it: what lies between the commands that we know, up to each semicolon. A
  /// statement may go over many lines.
  void check_sql_between(const Script& script, std::string_view text) {
    size_t begin = 0, end = 0;
    auto flush = [&] {
      if (end > begin) scan_for_sql(text.substr(begin, end - begin), true);
      begin = end = 0;
    };
    for (const auto& command : script.commands) {
      if (command.is_nested) continue;
      auto words = without_prefixes(command.words);
      if (words.empty()) continue;
      bool is_other = kind_of(program_name(words[0].text)) == ProgramKind::other;
      if (!is_other) {
        flush();
        continue;
      }
      if (end == 0) begin = words[0].begin;
      end = command.end;
      if (command.ended_by == ';') flush();
    }
    flush();
  }

  void scan_for_sql(std::string_view text, bool is_prose) {
    steps += scan_sql(text, is_prose, [this](SqlDanger what, std::string_view statement) {
      constexpr Danger dangers[] = {danger::database_drop, danger::database_drop_part,
                                    danger::database_truncate, danger::delete_without_where,
                                    danger::update_without_where};
      add(dangers[static_cast<size_t>(what)], trim(statement));
    });
  }

  /// Programs that only name files, or use a key without showing it, may have their names.
  void check_paths(Words words) {
    auto program = program_name(words[0].text);
    if (is_one_of(program, {"echo", "printf", "ls", "stat", "test", "[", "[[", "mkdir", "touch", "chmod",
                            "ssh", "ssh-add", "ssh-keygen", "man", "which", "cd"}))
      return;
    auto verb = words.size() > 1 ? std::string_view(words[1].text) : std::string_view();
    if (program == "git" && is_one_of(verb, {"rm", "check-ignore", "log"})) return;
    bool has_pattern = is_one_of(program, {"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "jq"});
    for (const auto& word : words.subspan(1)) {
      if (has_pattern && !word.text.starts_with('-')) {
        has_pattern = false;  // the first one is what is looked for
        continue;
      }
      check_path_word(word);
    }
    if (kind_of(program) == ProgramKind::other) check_path_word(words[0]);
  }

  /// A word may be a path, or hold one: `--env-file=.env`, `host:.env`, `@.env`.
  void check_path_word(const ShellWord& word) {
    std::string_view text = word.text;
    steps += text.size();
    if (text.size() > 4096 || has_blank(text)) return;
    check_own_paths(text);
    while (!text.empty()) {
      auto end = std::min(text.find_first_of("=:@,"), text.size());
      check_secret(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void check_secret(std::string_view path) {
    auto secret = secret_in(path);
    if (secret == Secret::yes) add(danger::credential_file, path);
    if (secret == Secret::perhaps) add(danger::key_file, path);
  }

  void check_own_patterns(const Place& place, Words words) {
    if (own_.empty()) return;
    std::vector<std::string_view> texts;
    for (const auto& word : words) texts.push_back(word.text);
    std::string program;
    if (!texts.empty()) texts[0] = program = program_name(texts[0]);
    for (const auto& rule : own_)
      if (!rule.pattern.empty() && matches_pattern(rule.pattern, texts)) add_own(rule, source(place, words));
  }

  void check_own_paths(std::string_view path) {
    while (path.starts_with("./")) path.remove_prefix(2);
    if (!root_.empty() && path.size() > root_.size() && path.starts_with(root_) && path[root_.size()] == '/')
      path.remove_prefix(root_.size() + 1);
    auto name = path.substr(path.rfind('/') + 1);
    for (const auto& [rule, glob, is_name] : globs_)
      if (glob.matches(is_name ? name : path)) add_own(*rule, path);
  }

  void add_own(const GuardrailRule& rule, std::string_view matched) {
    add({rule.name, rule.category, rule.severity, {}, rule.blocked}, matched);
  }

  struct OwnGlob {
    const GuardrailRule* rule;
    Glob glob;
    bool is_name;
    OwnGlob(const GuardrailRule* r, std::string_view pattern, bool n) : rule(r), glob(pattern), is_name(n) {}
  };
  std::string_view root_;
  std::span<const GuardrailRule> own_;
  std::vector<OwnGlob> globs_;
  std::string where_;  ///< the folder that the last `cd` led to
  std::set<std::string> known_;
};

}  // namespace

json::object to_json(const Violation& violation) {
  return {{"pattern_name", violation.pattern_name},
          {"category", violation.category},
          {"severity", violation.severity},
          {"matched_text", violation.matched_text},
          {"blocked", violation.blocked}};
}

std::vector<Violation> check_guardrails(std::string_view operation_text,
                                        std::span<const std::string> file_paths, std::string_view root,
                                        std::span<const GuardrailRule> own_rules, size_t* steps) {
  Check check(root, own_rules);
  check.script(operation_text, 1);
  for (const auto& path : file_paths) check.file(path);
  if (steps) *steps += check.steps;
  return std::move(check.violations);
}

}  // namespace cru::coordination
