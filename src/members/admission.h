#pragma once
/// Admission: who a caller is among those in the tables, as identity.h decides, and what that changes.
#include <set>

#include "members/identity.h"
#include "members/member_table.h"

namespace cru::members {

/// The connections that are open now; whatever else the tables know of is over.
using OpenConnections = std::shared_ptr<const std::set<std::string>>;

/// Who is this? Writes nothing; nullopt: nobody yet.
std::optional<Member> look_up(Reader& reader, const Evidence& evidence, const OpenConnections& open);

struct Admitted {
  Member member;
  bool has_changed = false;  ///< something was written, of this member or of what speaks for it
};
/// The same for somebody who changes something: makes the member if there is none, and notes what speaks for
/// it. `id` is for a new one. Errors: overloaded, as add_member.
Result<Admitted> admit_member(Tx& tx, const Evidence& evidence, const std::string& id,
                              const OpenConnections& open);

}  // namespace cru::members
