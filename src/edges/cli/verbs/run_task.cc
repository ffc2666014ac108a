#include "edges/cli/verbs/run_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "platform/files/readiness.h"

namespace cru::cli {
namespace {

constexpr auto first_byte_of_task = 10s, first_byte_of_context = 2s;

Error too_long(size_t limit) {
  return {Code::too_large, fmt::format("the task with standard input is longer than {} KiB", limit / 1024),
          "task", "save it in a file of the project and name the file in the task"};
}

Result<std::string> read_input_text(size_t limit) {
  std::string text;
  for (std::string piece; !(piece = read_in(standard_input, 65536)).empty();) {
    text += piece;
    if (text.size() > limit) return fail(too_long(limit));
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (!is_utf8(text) || text.contains('\0'))
    return fail(Code::invalid_argument, "standard input is not text (UTF-8)", "task",
                "save it in a file of the project and name the file in the task");
  return text;
}

/// Whether standard input is read although nobody asked for it by `-`.
bool is_offered(const Context& context, bool has_task) {
  auto kind = input_kind(standard_input);
  if (kind == InputKind::file) return true;
  // Programs give their children a socket that nobody writes to; a shell's `|` is a pipe.
  if (kind != InputKind::pipe && (has_task || kind != InputKind::socket)) return false;
  if (wait_readable(standard_input, has_task ? first_byte_of_context : first_byte_of_task)) return true;
  if (has_task)
    context.note(fmt::format(
        "nothing was written to standard input within {} s; continuing without it (to wait for it, add -)",
        first_byte_of_context.count()));
  return false;
}

}  // namespace

Result<std::optional<std::string>> task_of(const Context& context, const std::vector<std::string>& words,
                                           const TaskRules& rules) {
  auto typed = words;
  auto dashes = std::erase(typed, "-");
  if (typed.size() > 1 || dashes > 1)
    return fail(Code::invalid_argument, "one task is expected: quote a task of several words", "task");
  bool has_task = !typed.empty();
  using Task = std::optional<std::string>;
  bool reads = dashes > 0 || ((has_task || rules.needs_one) && is_offered(context, has_task));
  if (!reads) return has_task ? Task(typed[0]) : Task();
  auto text = read_input_text(rules.limit);
  if (!text) return fail(text.error());
  if (trim(*text).empty()) {
    if (has_task) return Task(typed[0]);
    if (dashes == 0) return Task();
    return fail(Code::invalid_argument, "standard input is empty: no task was given", "task");
  }
  if (!has_task) return Task(*std::move(text));
  auto whole = fmt::format("{}\n\nFrom standard input:\n\n{}", typed[0], *text);
  if (whole.size() > rules.limit) return fail(too_long(rules.limit));
  return Task(std::move(whole));
}

void note_unread_input(const Context& context, const std::string& run) {
  auto kind = input_kind(standard_input);
  if (kind != InputKind::file && kind != InputKind::pipe) return;
  if (!has_input(standard_input)) return;
  context.note(fmt::format(
      "standard input is not passed on to the command; to do that: … | cru send {} - --eof", run));
}

}  // namespace cru::cli
