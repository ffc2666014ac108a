#pragma once
/// What the scripted mind says about a topic that somebody brought along: reasons for and against, questions
/// and an answer, each role in its own way, with the topic's own words. Rules only.
#include "auto_mode/subject.h"

namespace cru::auto_mode {

inline constexpr size_t own_reasons = 3, own_questions = 2;  ///< of each side; in all

enum class Side : uint8_t { claims, objects };
/// The reason with this number for a side, as one with this role would give it; whole sentences.
/// Another number is another reason, with the same seed.
std::string reason_about(const Subject& subject, Side side, size_t number, std::string_view role,
                         uint64_t seed);
std::string question_about(const Subject& subject, size_t number);
/// What all can agree on, to follow "that". `leans` decides for which side.
std::string middle_about(const Subject& subject, bool leans);
/// The answer in one sentence.
std::string answer_about(const Subject& subject, bool leans);

}  // namespace cru::auto_mode
