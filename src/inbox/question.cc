#include "inbox/question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace cru::inbox {

std::string_view name(Kind kind) { return kind == Kind::permission ? "permission" : "question"; }
Kind kind_from(std::string_view name) { return name == "permission" ? Kind::permission : Kind::question; }

std::string_view name(Status status) {
  if (status == Status::answered) return "answered";
  return status == Status::expired ? "expired" : "pending";
}

Status status_from(std::string_view name) {
  if (name == "answered") return Status::answered;
  return name == "expired" ? Status::expired : Status::pending;
}

namespace {

std::optional<std::string> pick_option(const std::vector<std::string>& options, std::string_view text) {
  for (const auto& option : options)
    if (equal_ignoring_case(option, text)) return option;
  size_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= options.size())
    return options[number - 1];
  return {};
}

}  // namespace

Result<Question> answer(Question question, std::string_view text, Time now, FreeText free_text) {
  if (question.status == Status::answered)
    return fail(Code::already_answered, fmt::format("question {} was already answered: {}", question.id,
                                                    question.response.value_or("")));
  if (question.status == Status::expired)
    return fail(Code::conflict,
                fmt::format("question {} was {}", question.id, describe_withdrawal(question)));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  auto picked = pick_option(question.options, text);
  if (question.kind == Kind::permission && !picked && !text.starts_with("deny:"))
    return fail(Code::invalid_argument, "answer a permission request with allow, deny or \"deny: reason\"",
                "answer");
  if (!question.options.empty() && !picked && question.kind == Kind::question &&
      free_text == FreeText::refused)
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is not one of the options: {}", text, fmt::join(question.options, ", ")),
                "answer", "to answer in your own words, add --free-text");
  question.response = picked ? *picked : std::string(text);
  question.status = Status::answered;
  question.answered_at = now;
  return question;
}

std::string describe_withdrawal(const Question& question) {
  std::string_view why = question.withdrawn_because;
  constexpr std::string_view itself = "it ended";
  if (why.starts_with(itself))
    return fmt::format("withdrawn because its asker ended{}", why.substr(itself.size()));
  return fmt::format("withdrawn because its asker ended{}{}", why.empty() ? "" : ": ", why);
}

Question expire(Question question, std::string_view why, Time now) {
  if (question.status != Status::pending) return question;
  question.status = Status::expired;
  question.withdrawn_because = why;
  question.answered_at = now;
  return question;
}

Duration time_open(const std::vector<Question>& questions, Time from, Time to) {
  std::vector<std::pair<Time, Time>> spans;
  for (const auto& question : questions)
    spans.emplace_back(std::max(question.asked_at, from), std::min(question.answered_at.value_or(to), to));
  std::ranges::sort(spans);
  Duration open{};
  auto counted = from;
  for (auto [begin, end] : spans) {
    begin = std::max(begin, counted);
    if (end <= begin) continue;
    open += end - begin;
    counted = end;
  }
  return open;
}

json::object to_json(const Question& question) {
  json::array options;
  for (const auto& option : question.options) options.emplace_back(option);
  return {{"id", question.id},
          {"task_id", question.task_id},
          {"kind", name(question.kind)},
          {"prompt", question.prompt},
          {"options", std::move(options)},
          {"status", name(question.status)},
          {"response", json_or_null(question.response)},
          {"delivered", question.delivered},
          {"delivery_error", json_or_null(question.delivery_error)},
          {"asked_at", to_rfc3339(question.asked_at)},
          {"member", json_or_null(question.member)},
          {"withdrawn_because", json_or_null(question.withdrawn_because)},
          {"answered_at", question.answered_at ? json::value(to_rfc3339(*question.answered_at)) : nullptr}};
}

}  // namespace cru::inbox
