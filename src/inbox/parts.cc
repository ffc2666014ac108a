#include "inbox/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/choice.h"
#include "base/text.h"

namespace cru::inbox {
namespace {

Part part_from(const json::object& object) {
  Part part{.prompt = std::string(text_or(object, "prompt")),
            .takes_several = bool_or(object, "takes_several")};
  const auto* options = array_at(object, "options");
  for (const auto& option : options ? *options : json::array())
    if (const auto* each = option.if_object()) {
      part.options.emplace_back(text_or(*each, "label"));
      part.descriptions.emplace_back(text_or(*each, "description"));
    }
  return part;
}

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (;;) {
    auto at = text.find(separator);
    out.emplace_back(trim(text.substr(0, at)));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

/// By prompt; what is not there stays empty.
std::vector<std::string> answers_by_prompt(const std::vector<Part>& parts, const json::object& object) {
  std::vector<std::string> out;
  for (const auto& part : parts) out.emplace_back(text_or(object, part.prompt));
  return out;
}

/// One text that may have the answers to all parts.
std::vector<std::string> take_apart(const std::vector<Part>& parts, const std::string& text) {
  if (auto object = parse_json(text); object && object->is_object())
    return answers_by_prompt(parts, object->get_object());
  std::string separators = "\n;";
  if (std::ranges::none_of(parts, &Part::takes_several)) separators += ',';
  for (char separator : separators)
    if (auto pieces = split_at(text, separator); pieces.size() == parts.size()) return pieces;
  return {text};
}

/// "question 2, "Which port?""; of a single one, its prompt.
std::string name_of(const std::vector<Part>& parts, size_t at) {
  auto prompt = cut_with_ellipsis(parts[at].prompt, 200);
  return parts.size() == 1 ? fmt::format("\"{}\"", prompt)
                           : fmt::format("question {}, \"{}\"", at + 1, prompt);
}

std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string what_is_asked(const std::vector<Part>& parts) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    out +=
        fmt::format("{}{}. {}", i ? "\n" : "", i + 1, on_one_line(cut_with_ellipsis(parts[i].prompt, 200)));
    if (!parts[i].options.empty()) out += fmt::format(" — {}", numbered(parts[i].options));
  }
  return out;
}

Result<std::string> answer_part(const std::vector<Part>& parts, size_t at, std::string text,
                                FreeText free_text) {
  const auto& part = parts[at];
  if (parts.size() > 1) text = on_one_line(std::string(trim(text)));
  auto chosen =
      part.takes_several ? choose_several(part.options, text) : choose_one(part.options, trim(text));
  if (chosen) return *std::move(chosen);
  if (parts.size() > 1 && text.empty())
    return fail(Code::invalid_argument, name_of(parts, at) + " has no answer", "answer",
                what_is_asked(parts));
  if (part.options.empty() || free_text == FreeText::allowed) return text;
  return fail(Code::invalid_argument,
              fmt::format("{}: \"{}\" is not one of the options: {}", name_of(parts, at), text,
                          numbered(part.options)),
              "answer",
              fmt::format("{}to answer in your own words, add --free-text",
                          part.takes_several ? "several options are separated by commas\n" : ""));
}

}  // namespace

json::array to_json(const std::vector<Part>& parts) {
  json::array out;
  for (const auto& part : parts) {
    json::array options;
    for (size_t i = 0; i < part.options.size(); ++i)
      options.push_back(
          {{"label", part.options[i]},
           {"description", i < part.descriptions.size() ? part.descriptions[i] : std::string()}});
    out.push_back(json::object{
        {"prompt", part.prompt}, {"options", std::move(options)}, {"takes_several", part.takes_several}});
  }
  return out;
}

std::vector<Part> parts_of(const Question& question) {
  std::vector<Part> out;
  if (question.reply_context.find("\"parts\"") == std::string::npos) return out;
  auto context = parse_json(question.reply_context);
  if (!context || !context->is_object()) return out;
  if (const auto* parts = array_at(context->get_object(), parts_field))
    for (const auto& part : *parts)
      if (const auto* object = part.if_object()) out.push_back(part_from(*object));
  return out;
}

std::string prompt_of(const std::vector<Part>& parts) {
  if (parts.size() == 1) return parts[0].prompt;
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    out += fmt::format("{}{}. {}", i ? "\n" : "", i + 1, parts[i].prompt);
    for (size_t n = 0; n < parts[i].options.size(); ++n)
      out += fmt::format("\n   {}) {}", n + 1, parts[i].options[n]);
  }
  return out;
}

Result<std::vector<std::string>> answer_parts(const std::vector<Part>& parts, std::vector<std::string> texts,
                                              FreeText free_text) {
  if (texts.size() == 1 && parts.size() > 1) texts = take_apart(parts, texts[0]);
  if (texts.size() != parts.size())
    return fail(
        Code::invalid_argument,
        fmt::format("{} question{} asked, and {} answer{} given", parts.size(),
                    parts.size() == 1 ? " is" : "s are", texts.size(), texts.size() == 1 ? " was" : "s were"),
        "answer",
        what_is_asked(parts) + "\ngive one answer for each, in this order; quote one of several words");
  std::vector<std::string> out;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto answer = answer_part(parts, i, std::move(texts[i]), free_text);
    if (!answer) return fail(std::move(answer.error()));
    out.push_back(*std::move(answer));
  }
  return out;
}

}  // namespace cru::inbox
