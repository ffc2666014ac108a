#include "auto_mode/script_plan.h"

#include <algorithm>
#include <array>

namespace cru::auto_mode {
namespace {

constexpr size_t reasons = 3, questions = 2, enough_reasons = 5;

std::optional<size_t> find_role(std::span<const CastMember> cast, std::string_view role) {
  auto found = std::ranges::find(cast, role, &CastMember::role);
  if (found == cast.end()) return {};
  return static_cast<size_t>(found - cast.begin());
}

/// Who asks and takes no side, where there are more than two.
std::optional<size_t> asker_in(std::span<const CastMember> cast) {
  if (cast.size() <= min_agents) return {};
  if (auto found = find_role(cast, "questioner")) return found;
  if (auto found = find_role(cast, "mediator")) return found;
  // With an odd number somebody is left over.
  for (auto i = cast.size(); cast.size() % 2 == 1 && i > 0; --i)
    if (cast[i - 1].role != "advocate" && cast[i - 1].role != "skeptic") return i - 1;
  return {};
}

/// Goes through the lines, one by one.
class Planning {
 public:
  explicit Planning(std::span<const CastMember> cast)
      : cast_(cast), parts_(parts_of(cast)), asker_(asker_in(cast)) {
    if (cast.size() == min_agents) two_asker_ = find_role(cast, "questioner");
  }

  Plan next() {
    const auto at = at_++;
    const auto who = at % cast_.size();
    Plan plan;
    plan.beat = beat_of(who);
    plan.family = family_of(plan.beat, at);
    if (plan.beat == Beat::claim) {
      plan.number = claims_++;
      plan.has_aside = at % 3 == 2;
    } else if (plan.beat == Beat::objection) {
      plan.number = objections_++;
      plan.has_aside = at > 0 && at % 3 == 0;
    }
    bool ends_with_question = is_reason(plan.beat) && asked_ < questions && asks_beside(at, who);
    if (plan.beat == Beat::question || ends_with_question) {
      plan.asks = asked_++;
      last_asker_ = who;
    }
    plan.asker = last_asker_;
    plan.phrase = count(plan.family);
    if (plan.has_aside) plan.aside = count(Family::aside);
    before_ = plan;
    return plan;
  }

 private:
  static bool is_reason(Beat beat) { return beat == Beat::claim || beat == Beat::objection; }
  size_t count(Family family) { return used_[static_cast<size_t>(family)]++; }

  Beat beat_of(size_t who) const {
    if (before_ && before_->beat == Beat::middle) return Beat::farewell;
    if (before_ && before_->beat == Beat::farewell) return Beat::farewell;
    auto part = parts_[who];
    bool is_all_said = claims_ == reasons && objections_ == reasons;
    if (is_all_said) return asked_ == 0 ? Beat::question : Beat::middle;
    if (part == Part::asks && asked_ < questions) return Beat::question;
    bool claims = part == Part::asks ? claims_ <= objections_ : part == Part::claims;
    if ((claims ? claims_ : objections_) == reasons) {
      // Its side has nothing to add.
      if (asked_ < questions) return Beat::question;
      return claims_ + objections_ >= enough_reasons ? Beat::middle : Beat::yield;
    }
    return claims ? Beat::claim : Beat::objection;
  }

  Family family_of(Beat beat, size_t at) const {
    switch (beat) {
      case Beat::question:
        return before_ ? Family::asking : Family::opening_question;
      case Beat::yield:
        return Family::yielding;
      case Beat::middle:
        return Family::middle;
      case Beat::farewell:
        return Family::farewell;
      case Beat::claim:
      case Beat::objection:
        break;
    }
    if (!before_) return Family::opening;
    if (before_->asks) return Family::answer;
    if (before_->beat == beat) return Family::along;
    if (beat == Beat::objection) return Family::against;
    return at < cast_.size() ? Family::joining : Family::again;
  }

  /// Where nobody has that part: of two the questioner, else now the one and now the other; of more the first
  /// one who answers.
  bool asks_beside(size_t at, size_t who) const {
    if (asker_) return false;
    if (two_asker_) return who == *two_asker_ && at > 0;
    return at == 1 || (cast_.size() == min_agents && at == 4);
  }

  std::span<const CastMember> cast_;
  std::vector<Part> parts_;
  std::optional<size_t> asker_, two_asker_;
  size_t at_ = 0, claims_ = 0, objections_ = 0, asked_ = 0, last_asker_ = 0;
  std::array<size_t, families> used_{};
  std::optional<Plan> before_;
};

}  // namespace

std::vector<Part> parts_of(std::span<const CastMember> cast) {
  auto asker = asker_in(cast);
  std::vector<std::optional<Part>> given(cast.size());
  if (asker) given[*asker] = Part::asks;
  if (auto found = find_role(cast, "advocate")) given[*found] = Part::claims;
  if (auto found = find_role(cast, "skeptic")) given[*found] = Part::objects;
  auto how_many = [&](Part part) { return std::ranges::count(given, std::optional(part)); };
  std::vector<Part> out;
  for (auto& part : given) {
    if (!part) part = how_many(Part::claims) <= how_many(Part::objects) ? Part::claims : Part::objects;
    out.push_back(*part);
  }
  return out;
}

Plan plan_for(int64_t line, std::span<const CastMember> cast) {
  Planning planning(cast);
  auto plan = planning.next();
  for (int64_t at = 0; at < line; ++at) plan = planning.next();
  return plan;
}

}  // namespace cru::auto_mode
