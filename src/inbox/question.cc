#include "inbox/question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/choice.h"
#include "inbox/parts.h"

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

std::string_view without_newline(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

Result<std::string> answer_one(const Question& question, std::string_view text, FreeText free_text) {
  auto picked = choose_one(question.options, text);
  if (question.kind == Kind::permission && !picked && !text.starts_with("deny:"))
    return fail(Code::invalid_argument, "answer a permission request with allow, deny or \"deny: reason\"",
                "answer");
  if (!question.options.empty() && !picked && question.kind == Kind::question &&
      free_text == FreeText::refused)
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is not one of the options: {}", text, fmt::join(question.options, ", ")),
                "answer", "to answer in your own words, add --free-text");
  return picked ? *picked : std::string(text);
}

Result<std::string> to_response(const Question& question, const std::vector<std::string>& texts,
                                FreeText free_text) {
  auto parts = parts_of(question);
  if (parts.empty() && texts.size() != 1)
    return fail(Code::invalid_argument,
                fmt::format("one question is asked, and {} answers were given", texts.size()), "answer",
                "quote an answer of several words");
  if (parts.empty()) return answer_one(question, without_newline(texts[0]), free_text);
  std::vector<std::string> trimmed;
  for (const auto& text : texts) trimmed.emplace_back(without_newline(text));
  auto answers = answer_parts(parts, std::move(trimmed), free_text);
  if (!answers) return fail(std::move(answers.error()));
  return fmt::format("{}", fmt::join(*answers, "\n"));
}

}  // namespace

Result<Question> answer(Question question, const std::vector<std::string>& texts, Time now,
                        FreeText free_text) {
  if (question.status == Status::answered)
    return fail(Code::already_answered, fmt::format("question {} was already answered: {}", question.id,
                                                    question.response.value_or("")));
  if (question.status == Status::expired)
    return fail(Code::conflict,
                fmt::format("question {} was {}", question.id, describe_withdrawal(question)));
  auto response = to_response(question, texts, free_text);
  if (!response) return fail(std::move(response.error()));
  if (response->size() > max_response)
    return fail(Code::too_large, fmt::format("an answer has at most {} KiB", max_response / 1024), "answer",
                "save it in a file of the project and name the file in the answer");
  question.response = *std::move(response);
  question.status = Status::answered;
  question.answered_at = now;
  return question;
}

std::string describe_withdrawal(const Question& question) {
  std::string_view why = question.withdrawn_because;
  constexpr std::string_view itself = "it ended";
  if (why.empty() || why.starts_with(itself))
    return fmt::format("withdrawn because its asker ended{}",
                       why.substr(std::min(why.size(), itself.size())));
  return fmt::format("withdrawn because {}", why);
}

Question expire(Question question, std::string_view why, Time now) {
  if (question.status != Status::pending) return question;
  question.status = Status::expired;
  question.withdrawn_because = why;
  question.answered_at = now;
  return question;
}

Duration time_open(std::vector<std::pair<Time, Time>> spans, Time from, Time to) {
  std::ranges::sort(spans);
  Duration open{};
  auto counted = from;
  for (auto [begin, end] : spans) {
    begin = std::max(begin, counted);
    end = std::min(end, to);
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
          {"questions", to_json(parts_of(question))},
          {"status", name(question.status)},
          {"response", json_or_null(question.response)},
          {"delivered", question.delivered},
          {"delivery_error", json_or_null(question.delivery_error)},
          {"asked_at", to_rfc3339(question.asked_at)},
          {"member", json_or_null(question.member)},
          {"withdrawn_because", json_or_null(question.withdrawn_because)},
          {"trace_id", json_or_null(question.trace_id)},
          {"answered_at", question.answered_at ? json::value(to_rfc3339(*question.answered_at)) : nullptr}};
}

}  // namespace cru::inbox
