#include "sessions/callers.h"

namespace cru::coordination {

Callers::Presence::Presence(std::shared_ptr<Callers> callers, std::string key)
    : callers_(std::move(callers)),
      key_(key.empty() ? '#' + std::to_string(++callers_->nameless_) : std::move(key)) {
  ++callers_->present_[key_];
}

Callers::Presence::~Presence() {
  auto found = callers_->present_.find(key_);
  if (--found->second == 0) callers_->present_.erase(found);
}

}  // namespace cru::coordination
