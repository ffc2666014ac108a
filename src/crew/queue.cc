#include "crew/queue.h"

#include <algorithm>
#include <set>

namespace cru::crew {

void Queue::add(std::string id, std::string line, std::string chat, std::string provider) {
  places_.push_back({std::move(id), std::move(line), std::move(chat), std::move(provider)});
}

void Queue::remove(const std::string& id) {
  std::erase_if(places_, [&](const Place& place) { return place.id == id; });
}

void Queue::park(const std::string& id, bool is_parked) {
  for (auto& place : places_)
    if (place.id == id) place.parked = is_parked;
}

bool Queue::has_room(const Place& place) const {
  int64_t in_line = 0, at_provider = 0;
  for (const auto& other : places_) {
    if (!other.running || other.parked) continue;
    // One that waits for its children uses nothing of its provider meanwhile.
    if (other.line != place.line &&
        std::ranges::any_of(places_, [&](const Place& p) { return p.line == other.id; }))
      continue;
    if (other.line == place.line) ++in_line;
    if (other.provider == place.provider) ++at_provider;
  }
  if (in_line >= limits_.max_concurrent) return false;
  if (limits_.max_concurrent <= 1 || !limits_.of_provider) return true;
  auto most = limits_.of_provider(place.provider);
  return most <= 0 || at_provider < most;
}

std::vector<Queue::Started> Queue::start() {
  std::vector<Started> started;
  std::set<std::string> held;  // lines whose first must wait
  for (auto& place : places_) {
    if (place.running || held.contains(place.line)) continue;
    if (!has_room(place)) {
      held.insert(place.line);
      continue;
    }
    place.running = true;
    started.push_back({place.id, place.chat});
  }
  return started;
}

bool Queue::has(const std::string& id) const {
  return std::ranges::find(places_, id, &Place::id) != places_.end();
}

int64_t Queue::waiting(const std::string& chat) const {
  return std::ranges::count_if(places_, [&](const Place& p) { return p.chat == chat && !p.running; });
}

int64_t Queue::size(const std::string& chat) const { return std::ranges::count(places_, chat, &Place::chat); }

int64_t Queue::position(const std::string& id) const {
  auto self = std::ranges::find(places_, id, &Place::id);
  if (self == places_.end()) return 0;
  return std::count_if(places_.begin(), self, [&](const Place& p) { return p.line == self->line; });
}

}  // namespace cru::crew
