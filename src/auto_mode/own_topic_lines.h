#pragma once
/// The lines of the script about topics that somebody brought along, with slots for the words of the topic.
/// {yes} and {no} are what the two sides hold, {q} is the question, {one} and {other} are words of it,
/// {thing} the one that is a thing, {a} and {b} what is compared, {mine} and {theirs} the same for whoever
/// speaks, {it} the matter, {who} who would have to act. No verb depends on them: nobody knows whether they
/// are one or many. Rules only.
#include <array>
#include <optional>

#include "auto_mode/own_topic.h"

namespace cru::auto_mode {

using OwnReasons = std::array<std::string_view, own_reasons>;
struct OwnLines {
  OwnReasons claims, objections;
};
struct OwnAnswer {
  std::string_view middle, answer;
};
using OwnQuestions = std::array<std::string_view, own_questions>;

const OwnLines& lines_of(Subject::Kind kind);
/// In the way of a role; none if it argues as everybody does.
std::optional<OwnLines> lines_of(Subject::Kind kind, std::string_view role);
const OwnQuestions& questions_of(Subject::Kind kind);
/// `leans` decides for which side.
const OwnAnswer& answer_of(Subject::Kind kind, bool leans);

}  // namespace cru::auto_mode
