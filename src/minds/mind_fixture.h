#pragma once
/// For tests: someone who listens to a mind and remembers.
#include "minds/mind.h"

namespace cru::minds {

class Ear final : public Listener {
 public:
  void text(std::string_view more) override {
    heard += more;
    ++pieces;
    if (on_text) on_text();
  }
  void tool_used(const std::string& name, const json::object&) override { tools.push_back(name); }
  void waiting(const std::string& why, Duration how_long) override { waits.emplace_back(why, how_long); }
  void restarted() override {
    ++restarts;
    heard.clear();
  }
  void wasted(const Usage& usage, std::optional<double> cost_usd) override {
    lost += usage;
    if (cost_usd) lost_usd += *cost_usd;
  }
  std::string heard;
  Usage lost;
  double lost_usd = 0;
  int pieces = 0, restarts = 0;
  std::vector<std::string> tools;
  std::vector<std::pair<std::string, Duration>> waits;
  std::function<void()> on_text;
};

inline Request request_saying(std::string text) {
  Request request;
  request.messages = {{Message::Role::user, std::move(text), {}, {}}};
  return request;
}

}  // namespace cru::minds
