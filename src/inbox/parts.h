#pragma once
/// Parts: the single questions of one that asks several things at once, each with options of its own. Rules
/// only.
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "inbox/question.h"

namespace cru::inbox {

/// The field of a reply context that has the parts.
inline constexpr std::string_view parts_field = "parts";

/// In bytes, of all answers to a question together.
inline constexpr size_t max_response = 64 * 1024;

struct Part {
  std::string prompt;
  std::vector<std::string> options = {};
  std::vector<std::string> descriptions = {};  ///< of the options, as many as there are; may be empty texts
  bool takes_several = false;                  ///< more than one option may be chosen
};

json::array to_json(const std::vector<Part>& parts);
/// Of a question whose asker told them; none where it is one question and nothing else.
std::vector<Part> parts_of(const Question& question);
/// All of them as one text: "1. Which DB?\n   1) SQLite\n2. Which port?". A single one is its prompt alone.
std::string prompt_of(const std::vector<Part>& parts);

/// One answer for each part, in order; `texts` are as many, or one text that has them all: separated by
/// newlines, by semicolons, or by commas where no part takes several options; or a JSON object by prompt. An
/// option is named by its text or its number. Errors: invalid_argument, which names the part and what is
/// offered.
Result<std::vector<std::string>> answer_parts(const std::vector<Part>& parts, std::vector<std::string> texts,
                                              FreeText free_text);

}  // namespace cru::inbox
