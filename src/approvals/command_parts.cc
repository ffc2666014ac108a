#include "approvals/command_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/shell_words.h"
#include "base/text.h"

namespace cru::approvals {
namespace {

constexpr size_t max_text_bytes = 16u << 10, max_parts = 64, max_possible = 1024;
constexpr int max_levels = 8;

constexpr std::array<std::string_view, 8> shells = {"sh",  "bash", "dash", "zsh",
                                                    "ksh", "mksh", "ash",  "fish"};
/// Whose `-c` takes the language that is read here.
constexpr std::array<std::string_view, 9> plain_shells = {"sh",          "bash",          "dash",
                                                          "/bin/sh",     "/bin/bash",     "/bin/dash",
                                                          "/usr/bin/sh", "/usr/bin/bash", "/usr/bin/dash"};
/// Run a program that their arguments name.
constexpr std::array<std::string_view, 37> wrappers = {"sudo",
                                                       "doas",
                                                       "su",
                                                       "env",
                                                       "xargs",
                                                       "eval",
                                                       "exec",
                                                       "command",
                                                       "builtin",
                                                       "nohup",
                                                       "nice",
                                                       "ionice",
                                                       "time",
                                                       "timeout",
                                                       "setsid",
                                                       "stdbuf",
                                                       "chroot",
                                                       "unshare",
                                                       "nsenter",
                                                       "ssh",
                                                       "parallel",
                                                       "watch",
                                                       "strace",
                                                       "ltrace",
                                                       "gdb",
                                                       "script",
                                                       "flock",
                                                       "busybox",
                                                       "toybox",
                                                       "systemd-run",
                                                       "crontab",
                                                       "runuser",
                                                       "setpriv",
                                                       "pkexec",
                                                       "start-stop-daemon",
                                                       "dbus-run-session",
                                                       "trap"};
/// Read a language from their arguments, or run programs that these arguments may name.
constexpr std::array<std::string_view, 59> interpreters = {
    "awk",      "gawk", "mawk",      "nawk",  "sed",     "perl",    "python",   "python2",   "python3",
    "ruby",     "node", "deno",      "bun",   "php",     "lua",     "tclsh",    "osascript", "Rscript",
    "expect",   "psql", "sqlite3",   "mysql", "vi",      "vim",     "nvim",     "ex",        "ed",
    "emacs",    "make", "npx",       "bunx",  "pnpx",    "uvx",     "pipx",     "docker",    "podman",
    "kubectl",  "nix",  "nix-shell", "tmux",  "screen",  "bwrap",   "firejail", "fakeroot",  "proot",
    "valgrind", "perf", "taskset",   "chrt",  "numactl", "prlimit", "xvfb-run", "unbuffer",  "rlwrap",
    "cru",      "find", "fd",        "at",    "batch"};
constexpr std::array<std::string_view, 19> keywords = {
    "if",   "then", "else", "elif",     "fi",     "for",    "while", "until", "do", "done",
    "case", "esac", "in",   "function", "select", "coproc", "[[",    "]]",    "!"};
/// Change the shell for what follows.
constexpr std::array<std::string_view, 20> not_simple = {
    "cd",   "pushd", "popd", "export", "alias",    "unalias", "set",     "unset", "source", ".",
    "trap", "shopt", "hash", "enable", "readonly", "declare", "typeset", "local", "umask",  "ulimit"};

template <size_t n>
bool is_in(const std::array<std::string_view, n>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool is_assignment(std::string_view word) {
  auto equals = word.find_first_of("=+[");
  if (equals == word.npos || equals == 0 || is_digit(word[0])) return false;
  return word.find('=') != word.npos && std::ranges::all_of(word.substr(0, equals), [](char c) {
           return is_letter_or_digit(c) || c == '_';
         });
}

/// Reads what is certain, and stops at the first thing that is not.
class CertainReader {
 public:
  CertainReader(std::string_view text, int level) : text_(text), level_(level) {}

  CommandParts read() {
    if (text_.size() > max_text_bytes) doubt("it is too long");
    while (parts_.doubt.empty() && at_ < text_.size()) step();
    end_command(false);
    if (depth_ > 0) doubt("a parenthesis is not closed");
    if (parts_.doubt.empty() && parts_.parts.empty()) doubt("it runs nothing");
    return std::move(parts_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void doubt(std::string why) {
    if (parts_.doubt.empty()) parts_.doubt = std::move(why);
  }
  void add(char c) {
    in_word_ = true;
    word_ += c;
  }

  void step() {
    char c = text_[at_];
    if (c == ' ' || c == '\t') {
      end_word();
      ++at_;
    } else if (c == '\n' || c == ';' || c == '|' || c == '&') {
      join(c);
    } else if (c == '(' || c == ')') {
      group(c);
    } else if (c == '<' || c == '>') {
      redirect(c);
    } else if (c == '\'') {
      single_quotes();
    } else if (c == '"') {
      double_quotes();
    } else if (c == '\\') {
      if (at_ + 1 >= text_.size() || peek(1) == '\n') return doubt("a line ends with a backslash");
      is_quoted_ = true;
      add(peek(1));
      at_ += 2;
    } else {
      plain(c);
    }
  }

  void plain(char c) {
    if (c == '$' || c == '`') return doubt("it uses what the shell substitutes ($ or backquotes)");
    if (c == '*' || c == '?' || c == '[' || c == ']') return doubt("it uses a pattern for names of files");
    if (c == '{' || c == '}') return doubt("it uses braces, which the shell expands");
    if (c == '~' && (!in_word_ || word_.ends_with('=') || word_.ends_with(':')))
      return doubt("it uses ~, which the shell expands");
    if (!in_word_ && (c == '#' || c == '=' || c == '^'))
      return doubt(fmt::format("a word begins with {}", c));
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return doubt("it has a control character");
    add(c);
    ++at_;
  }

  void single_quotes() {
    auto end = text_.find('\'', at_ + 1);
    if (end == text_.npos) return doubt("a quote is not closed");
    in_word_ = is_quoted_ = true;
    word_ += text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  void double_quotes() {
    in_word_ = is_quoted_ = true;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '"') {
        ++at_;
        return;
      }
      if (c == '$' || c == '`') return doubt("it uses what the shell substitutes ($ or backquotes)");
      if (c == '\\' && at_ + 1 < text_.size() && std::string_view("$`\"\\").contains(peek(1)))
        c = text_[++at_];
      else if (c == '\\' && peek(1) == '\n')
        return doubt("a line ends with a backslash");
      word_ += c;
    }
    doubt("a quote is not closed");
  }

  void join(char c) {
    if (c == '&' && peek(1) == '>') return doubt("it redirects its output");
    bool needs_command = c != '\n';
    if (c == ';' && peek(1) == ';') return doubt("it has a keyword of the shell");
    end_command(needs_command);
    at_ += (c == '&' || c == '|') && peek(1) == c ? 2 : c == '|' && peek(1) == '&' ? 2 : 1;
  }

  void group(char c) {
    if (c == '(') {
      if (in_word_ || !words_.empty() || is_closed_ || peek(1) == '(')
        return doubt("it has a parenthesis where no command begins");
      ++depth_;
    } else {
      end_command(true);
      if (--depth_ < 0) return doubt("a parenthesis closes nothing");
      is_closed_ = true;
    }
    ++at_;
  }

  /// Only what goes nowhere, or to a descriptor that is there.
  void redirect(char c) {
    bool is_number = in_word_ && !is_quoted_ && word_.size() == 1 && is_digit(word_[0]);
    if (is_number)
      word_.clear(), in_word_ = false;
    else
      end_word();
    if (awaits_target_) return doubt("it redirects to nothing");
    ++at_;
    if (c == '>' && peek() == '>') ++at_;
    if (peek() == '&') {
      bool ends = at_ + 2 >= text_.size() || std::string_view(" \t\n;|&)<>").contains(peek(2));
      if (!is_digit(peek(1)) || !ends) return doubt("it redirects its output");
      at_ += 2;
      return;
    }
    if (peek() == '<' || peek() == '>' || peek() == '(' || peek() == '|')
      return doubt("it has a redirection that is not a plain one");
    awaits_target_ = true;
  }

  void end_word() {
    if (!in_word_) return;
    auto word = std::exchange(word_, {});
    is_quoted_ = in_word_ = false;
    if (std::exchange(awaits_target_, false)) {
      if (word != "/dev/null") doubt("it redirects from or to a file");
      return;
    }
    if (is_closed_) return doubt("a word follows a parenthesis");
    // Quotes within it do not change that: A="" is an assignment. Of a name in quotes, this is too strict.
    if (words_.empty() && is_assignment(word)) return doubt("it sets a variable for its command");
    words_.push_back(std::move(word));
  }

  void end_command(bool must_be_there) {
    end_word();
    if (awaits_target_) doubt("it redirects to nothing");
    bool was_group = std::exchange(is_closed_, false);
    if (words_.empty() && !was_group) {
      if (must_be_there) doubt("a command is missing");
      return;
    }
    if (!words_.empty()) take(std::exchange(words_, {}));
  }

  void take(Words words) {
    if (words.size() == 3 && words[1] == "-c" && is_in(plain_shells, words[0])) {
      if (level_ >= max_levels) return doubt("it is nested too deeply");
      auto inner = CertainReader(words[2], level_ + 1).read();
      if (!inner.is_certain()) return doubt(inner.doubt);
      for (auto& part : inner.parts) parts_.parts.push_back(std::move(part));
    } else {
      auto name = program_name(words[0]);
      if (name.empty()) return doubt("it runs a program without a name");
      if (is_in(keywords, name) || is_in(not_simple, name))
        return doubt(fmt::format("it uses {} of the shell", name));
      if (is_in(wrappers, name)) return doubt(fmt::format("{} runs what its arguments say", name));
      if (is_in(shells, name)) return doubt(fmt::format("{} runs a script", name));
      parts_.parts.push_back(std::move(words));
    }
    if (parts_.parts.size() > max_parts) doubt("it has too many parts");
  }

  const std::string_view text_;
  const int level_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string word_;
  bool in_word_ = false, is_quoted_ = false, awaits_target_ = false, is_closed_ = false;
  Words words_;
  CommandParts parts_;
};

/// Everything that may be run, whatever stands around it. Too much rather than too little.
class PossibleReader {
 public:
  void read_text(std::string_view text, int level, bool is_mentioned = false) {
    if (level > max_levels || text.size() > max_text_bytes) leave_out(is_mentioned);
    if (level > max_levels) return;
    auto script = read_script(text.substr(0, max_text_bytes));
    if (script.is_too_deep) leave_out(is_mentioned);
    for (const auto& command : script.commands) {
      Words words;
      for (const auto& word : command.words) words.push_back(word.text);
      read_words(words, level, is_mentioned);
      for (const auto& input : command.input)
        if (!words.empty() && runs_others(program_name(words[0]))) read_text(input, level + 1, is_mentioned);
    }
  }

  void read_words(std::span<const std::string> words, int level, bool is_mentioned = false) {
    while (!words.empty() && (is_assignment(words[0]) || is_one_of(words[0], {"{", "}", "(", ")"}) ||
                              is_in(keywords, words[0])))
      words = words.subspan(1);
    if (words.empty()) return;
    if (parts.size() >= max_possible) return leave_out(is_mentioned);
    parts.push_back({Words(words.begin(), words.end()), is_mentioned});
    auto name = program_name(words[0]);
    bool reads_each = is_in(wrappers, name) || is_in(shells, name);
    for (const auto& word : words.subspan(1))
      if (reads_each || word.find_first_of(" \t\n;|&`(") != word.npos)
        read_text(word, level + 1, is_mentioned || !runs_others(name));
    if (is_one_of(name, {"find", "fd"}))
      for (size_t at = 1; at < words.size(); ++at)
        if (is_one_of(words[at],
                      {"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}))
          read_words(words.subspan(at + 1), level + 1, is_mentioned);
  }

  std::vector<PossiblePart> parts;
  bool is_cut = false, are_mentions_cut = false;  ///< there is more than was read

 private:
  void leave_out(bool is_mentioned) { (is_mentioned ? are_mentions_cut : is_cut) = true; }
};

CommandParts both(CommandParts certain, PossibleReader possible) {
  for (const auto& words : certain.parts) possible.parts.push_back({words});
  if (possible.is_cut && certain.is_certain()) certain.doubt = "it is too long to be read whole";
  if (certain.is_certain()) {
    if (possible.are_mentions_cut) certain.unsure = "it is too long to be read whole";
    for (const auto& words : certain.parts)
      if (auto name = program_name(words[0]); runs_others(name))
        certain.unsure = fmt::format("{} may run what its arguments say", name);
  } else {
    certain.parts.clear();
    for (const auto& part : possible.parts)
      if (!part.is_mentioned) certain.parts.push_back(part.words);
  }
  certain.possible = std::move(possible.parts);
  return certain;
}

bool names(const CommandPattern& pattern, std::span<const std::string> words) {
  if (pattern.words.empty() || words.size() < pattern.words.size()) return false;
  if (!pattern.is_open && words.size() != pattern.words.size()) return false;
  return program_name(words[0]) == program_name(pattern.words[0]) &&
         std::equal(pattern.words.begin() + 1, pattern.words.end(), words.begin() + 1);
}

}  // namespace

std::string_view program_name(std::string_view word) { return word.substr(word.rfind('/') + 1); }

bool runs_others(std::string_view program) {
  return is_in(wrappers, program) || is_in(shells, program) || is_in(interpreters, program);
}

bool matches(const CommandPattern& pattern, std::span<const std::string> words) {
  if (pattern.is_open ? words.size() < pattern.words.size() : words.size() != pattern.words.size())
    return false;
  // By an option many programs write files or run others: git log --output=…, less +!…, cc @options.
  auto may_be_option = [](std::string_view word) {
    return word.starts_with('-') || word.starts_with('+') || word.starts_with('@');
  };
  return std::equal(pattern.words.begin(), pattern.words.end(), words.begin()) &&
         std::ranges::none_of(words.subspan(pattern.words.size()), may_be_option);
}

Fit may_run(const CommandParts& command, const CommandPattern& pattern) {
  auto fit = command.is_certain() && command.unsure.empty() ? Fit::no : Fit::perhaps;
  for (const auto& [words, is_mentioned] : command.possible) {
    bool is_starter = runs_others(program_name(words[0]));
    for (size_t at = 0; at < words.size(); ++at) {
      if (!names(pattern, std::span(words).subspan(at))) continue;
      if (!is_mentioned && (at == 0 || is_starter)) return Fit::yes;
      fit = Fit::perhaps;
    }
  }
  return fit;
}

CommandParts parts_of_shell(std::string_view text) {
  PossibleReader possible;
  possible.read_text(text, 0);
  return both(CertainReader(text, 0).read(), std::move(possible));
}

CommandParts parts_of_argv(std::span<const std::string> argv) {
  PossibleReader possible;
  possible.read_words(argv, 0);
  CommandParts certain;
  auto name = argv.empty() ? std::string_view() : program_name(argv[0]);
  bool is_script = argv.size() == 3 && argv[1] == "-c" && is_in(plain_shells, argv[0]);
  if (is_script)
    certain = CertainReader(argv[2], 1).read();
  else if (name.empty())
    certain.doubt = "it runs nothing";
  else if (is_in(wrappers, name) || is_in(shells, name))
    certain.doubt = fmt::format("{} runs what its arguments say", name);
  else
    certain.parts.emplace_back(argv.begin(), argv.end());
  return both(std::move(certain), std::move(possible));
}

}  // namespace cru::approvals
