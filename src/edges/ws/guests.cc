#include "edges/ws/guests.h"

#include "base/result.h"

namespace cru::edges {

bool Guests::give_back(const std::string& user) {
  auto found = held_.find(user);
  CRU_ASSERT(found != held_.end() && found->second.connections > 0);
  if (--found->second.connections > 0) return false;
  bool is_in = found->second.is_in;
  held_.erase(found);
  return is_in;
}

}  // namespace cru::edges
