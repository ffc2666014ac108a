#include "edges/mcp/elicitation.h"

#include <fmt/format.h>

#include <algorithm>

namespace cru::mcp {

bool shows_forms(const json::object* capabilities) {
  const auto* elicitation = capabilities ? object_at(*capabilities, "elicitation") : nullptr;
  return elicitation && (elicitation->contains("form") || !elicitation->contains("url"));
}

std::optional<OpenQuestion> open_question(const json::value& reply) {
  const auto* object = reply.if_object();
  if (!object || text_or(*object, "status") != "pending" || text_or(*object, "question_id").empty())
    return {};
  OpenQuestion question{.id = std::string(text_or(*object, "question_id")),
                        .prompt = std::string(text_or(*object, "prompt")),
                        .options = {},
                        .asked_at = std::string(text_or(*object, "asked_at"))};
  if (const auto* options = array_at(*object, "options"))
    for (const auto& option : *options)
      if (option.is_string()) question.options.emplace_back(option.get_string());
  return question;
}

json::object form_for(const OpenQuestion& question) {
  json::object answer{{"type", "string"}, {"title", "Answer"}};
  json::array values;
  for (const auto& option : question.options)  // a list of values may not have one twice
    if (std::ranges::find(values, json::value(option)) == values.end()) values.emplace_back(option);
  if (values.empty())
    answer["minLength"] = 1;
  else
    answer["enum"] = std::move(values);
  return {{"message", question.prompt},
          {"requestedSchema", json::object{{"type", "object"},
                                           {"properties", json::object{{"answer", std::move(answer)}}},
                                           {"required", json::array{"answer"}}}}};
}

Elicited read_elicited(const json::object& result) {
  auto action = text_or(result, "action");
  if (action == "decline") return {Elicited::Action::decline};
  const auto* content = object_at(result, "content");
  auto answer = content ? text_or(*content, "answer") : std::string_view();
  if (action != "accept" || answer.empty()) return {};
  return {Elicited::Action::accept, std::string(answer)};
}

json::object declined_reply(const OpenQuestion& question) {
  return {
      {"success", true},
      {"question_id", question.id},
      {"status", "pending"},
      {"response", nullptr},
      {"message", fmt::format("the user declined to answer now; the question stays in the user's inbox, and "
                              "ask_user with question_id {} waits for an answer there",
                              question.id)}};
}

}  // namespace cru::mcp
