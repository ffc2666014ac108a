#include "auto_mode/own_topic.h"

#include "auto_mode/own_topic_lines.h"

namespace cru::auto_mode {
namespace {

constexpr size_t max_asked = 100;  ///< longer ones are not quoted again

/// The template with its slots filled, each once: what is filled in is not looked at again.
std::string filled(std::string_view line, const Subject& subject, Side side = Side::claims) {
  bool claims = side == Side::claims;
  const std::pair<std::string_view, std::string_view> slots[] = {
      {"{asked}", subject.asked.size() <= max_asked ? std::string_view(subject.asked) : "what we were asked"},
      {"{yes}", subject.yes},
      {"{no}", subject.no},
      {"{q}", subject.question},
      {"{one}", subject.one},
      {"{other}", subject.other},
      {"{thing}", subject.thing},
      {"{a}", subject.first},
      {"{b}", subject.second},
      {"{mine}", claims ? subject.first : subject.second},
      {"{theirs}", claims ? subject.second : subject.first},
      {"{it}", subject.matter},
      {"{who}", subject.who}};
  std::string out;
  while (!line.empty()) {
    auto brace = line.find('{');
    out += line.substr(0, brace);
    if (brace == std::string_view::npos) break;
    line.remove_prefix(brace);
    size_t length = 1;
    for (auto [name, text] : slots)
      if (line.starts_with(name)) {
        out += text;
        length = name.size();
      }
    line.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string reason_about(const Subject& subject, Side side, size_t number, std::string_view role,
                         uint64_t seed) {
  auto lines = lines_of(subject.kind);
  // The first of each side says which side it is; only then does everybody argue in the way of the role.
  if (auto own = number > 0 ? lines_of(subject.kind, role) : std::nullopt) {
    lines = *own;
    number += static_cast<size_t>(seed % own_reasons);
  }
  const auto& reasons = side == Side::claims ? lines.claims : lines.objections;
  return filled(reasons[number % own_reasons], subject, side);
}

std::string question_about(const Subject& subject, size_t number) {
  return filled(questions_of(subject.kind)[number % own_questions], subject);
}

std::string middle_about(const Subject& subject, bool leans) {
  return filled(answer_of(subject.kind, leans).middle, subject);
}

std::string answer_about(const Subject& subject, bool leans) {
  return filled(answer_of(subject.kind, leans).answer, subject);
}

}  // namespace cru::auto_mode
