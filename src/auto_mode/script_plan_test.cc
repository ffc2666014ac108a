// The plan of the scripted dialogue: parts follow roles.
#include "auto_mode/script_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "auto_mode/dialogue.h"
#include "auto_mode/keyword.h"

namespace cru::auto_mode {
namespace {

std::vector<CastMember> cast_of(std::initializer_list<std::string_view> names) {
  std::vector<CastMember> cast;
  for (auto name : names) {
    const auto* persona = find_persona(name);
    CastMember member;
    member.agent_id = fmt::format("agent_{:03}", cast.size() + 1);
    member.name = persona ? persona->name : name;
    member.role = persona ? persona->role : name;
    cast.push_back(std::move(member));
  }
  return cast;
}

/// What each line is for, in one letter.
std::string beats(const std::vector<CastMember>& cast) {
  std::string out;
  for (int64_t line = 0; line < 40 && !out.ends_with('F'); ++line)
    out += "COQYMF"[static_cast<size_t>(plan_for(line, cast).beat)];
  return out;
}

TEST(ScriptPlan, TheAdvocateClaimsAndTheSkepticObjectsWhoeverSpeaksFirst) {
  EXPECT_EQ(beats(cast_of({"Ada", "Bertrand"})), "COCOCOMF");
  EXPECT_EQ(beats(cast_of({"Bertrand", "Ada"})), "OCOCOCMF");
  EXPECT_EQ(parts_of(cast_of({"Hugo", "Ada"})), (std::vector{Part::objects, Part::claims}));
  EXPECT_EQ(parts_of(cast_of({"Bertrand", "Clara"})), (std::vector{Part::objects, Part::claims}));
}

TEST(ScriptPlan, TheQuestionerAsksWhereverItSits) {
  EXPECT_EQ(beats(cast_of({"Ada", "Bertrand", "Clara"})), "COQCOQCOMF");
  EXPECT_EQ(beats(cast_of({"Clara", "Bertrand", "Ada"})), "QOCQOCCOMF");
  EXPECT_EQ(parts_of(cast_of({"Grace", "Hugo", "Elif"})),
            (std::vector{Part::asks, Part::claims, Part::objects}))
      << "where there is none, the mediator does";
  for (auto names : {cast_of({"Clara", "Dario"}), cast_of({"Dario", "Clara"})})
    for (int64_t line = 0; line < 6; ++line)
      if (plan_for(line, names).asks)
        EXPECT_EQ(names[static_cast<size_t>(line) % 2].name, "Clara") << "of two it asks beside its reasons";
}

/// In any order, with any number and with roles that nobody knows: everything is said once, each to its own
/// side, and it comes to an end.
TEST(ScriptPlan, EveryCastHasBothSidesTwoQuestionsAndAnEnd) {
  std::mt19937_64 chance(11);
  std::vector<std::string_view> names;
  for (const auto& persona : personas()) names.push_back(persona.name);
  names.insert(names.end(), {"reviews code", "writes tests"});
  for (int round = 0; round < 2000; ++round) {
    std::ranges::shuffle(names, chance);
    std::vector<CastMember> cast;
    for (size_t i = 0; i < 2 + chance() % 7; ++i) cast.push_back(cast_of({names[i]}).front());
    auto all = beats(cast);
    SCOPED_TRACE(all);
    ASSERT_TRUE(all.ends_with("MF"));
    ASSERT_GE(all.size(), 8u);
    EXPECT_GE(std::ranges::count(all, 'C'), 2);
    EXPECT_GE(std::ranges::count(all, 'O'), 2);
    EXPECT_LE(std::ranges::count(all, 'C'), 3);
    EXPECT_LE(std::ranges::count(all, 'O'), 3);
    auto parts = parts_of(cast);
    size_t asked = 0;
    for (size_t line = 0; line < all.size(); ++line) {
      asked += plan_for(static_cast<int64_t>(line), cast).asks.has_value();
      auto part = parts[line % cast.size()];
      if (all[line] == 'C') EXPECT_NE(part, Part::objects) << line;
      if (all[line] == 'O') EXPECT_NE(part, Part::claims) << line;
    }
    EXPECT_GE(asked, 1u);
  }
}

TEST(ScriptPlan, WhoSpeaksForTheSideOfTheOneBeforeSaysSo) {
  auto cast = cast_of({"Dario", "Ada", "Bertrand", "Hugo"});
  std::vector<Beat> said;
  for (int64_t line = 0; line < 6; ++line) {
    auto plan = plan_for(line, cast);
    if (line > 0 && plan.beat == said.back()) EXPECT_EQ(plan.family, Family::along) << line;
    if (line > 0 && plan.beat != said.back()) EXPECT_NE(plan.family, Family::along) << line;
    said.push_back(plan.beat);
  }
}

}  // namespace
}  // namespace cru::auto_mode
