#include "api/access.h"

#include <fmt/format.h>

namespace cru::api {

Error not_recognised(const Operation& operation, const Call& call) {
  return {
      .code = Code::not_a_person,
      .message =
          fmt::format("{} may only be called by {}, and this caller was not recognised as one: {}",
                      operation.name, operation.callers == person ? "a person" : "a person or a known agent",
                      call.why.empty() ? "the owner of its process cannot be determined" : call.why),
      .hint =
          "use a terminal that no agent started, or the web page; or pair this place: run cru pair in such a "
          "terminal, then cru pair redeem here"};
}

Result<Access> check_access(const Operation& operation, const Call& call) {
  bool is_unknown = call.caller == run && call.run_id.empty();
  if (is_unknown && (operation.callers & unknown) != 0) return Access::open;
  if ((operation.callers & call.caller) == 0 && !is_unknown && call.caller != local)
    return fail(Code::forbidden,
                fmt::format("{} may only be called by a person, not by an agent", operation.name), "",
                "ask the user to do this");
  bool is_open = (operation.callers & call.caller) != 0 && (!is_unknown || operation.reads_only);
  if (!is_open) return fail(not_recognised(operation, call));
  if (call.caller != run) return Access::open;
  return is_unknown ? Access::as_anybody_might : Access::by_permissions;
}

}  // namespace cru::api
