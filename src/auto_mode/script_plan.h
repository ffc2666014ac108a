#pragma once
/// The plan of the scripted dialogue: who argues for which side, who asks, and what each line is for. Parts
/// follow the roles of those who take part, in whatever order they speak: the advocate claims, the skeptic
/// objects, the questioner asks, and the others fill up the sides. Rules only.
#include <optional>
#include <span>
#include <vector>

#include "auto_mode/cast.h"

namespace cru::auto_mode {

enum class Part : uint8_t { claims, objects, asks };
/// Of each of the cast; somebody claims and somebody objects.
std::vector<Part> parts_of(std::span<const CastMember> cast);

enum class Beat : uint8_t { claim, objection, question, yield, middle, farewell };

/// How a line begins, or what is said beside its reason.
enum class Family : uint8_t {
  opening,
  opening_question,
  again,
  joining,  ///< for the first time
  along,    ///< for the side of the one before
  against,
  answer,
  asking,
  yielding,  ///< to the other side
  middle,
  farewell,
  aside
};
inline constexpr size_t families = 12;

struct Plan {
  Beat beat = Beat::claim;
  Family family = Family::opening;
  size_t number = 0;                ///< of the claim or the objection
  std::optional<size_t> asks = {};  ///< it ends with the question of this number
  bool has_aside = false;
  size_t phrase = 0, aside = 0;  ///< how many of its family were used before
  size_t asker = 0;              ///< who of the cast has asked last
};

/// Of the line with this number, from 0 on.
Plan plan_for(int64_t line, std::span<const CastMember> cast);

}  // namespace cru::auto_mode
