#pragma once
/// Guests: the users whom connections brought into the world, and how many connections hold each. One who
/// comes back before the old connection is gone stays. Rules only.
#include <string>
#include <unordered_map>

namespace cru::edges {

class Guests {
 public:
  /// A connection is about to bring a user in, or wants to hold one who is there.
  void claim(const std::string& user) { ++held_[user].connections; }
  /// What was claimed has come in.
  void joined(const std::string& user) { held_[user].is_in = true; }
  /// A connection lets go. True if the user is in the world and nobody holds it any more: it is to leave.
  [[nodiscard]] bool give_back(const std::string& user);

 private:
  struct Held {
    size_t connections = 0;
    bool is_in = false;
  };
  std::unordered_map<std::string, Held> held_;
};

}  // namespace cru::edges
