#include "edges/cli/terminal/question_watch.h"

#include <fmt/format.h>

#include "platform/files/readiness.h"

namespace cru::cli {

QuestionWatch::QuestionWatch(Client client, std::string run_id)
    : client_(std::move(client)), run_id_(std::move(run_id)), thread_([this] { listen(); }) {}

QuestionWatch::~QuestionWatch() {
  stopping_ = true;
  stop_.ring();
  thread_.join();
}

void QuestionWatch::listen() {
  client_.interrupt_on({stop_.fd()});
  auto target =
      fmt::format("/events?entity={}&type=agent.question,approval.requested", percent_encode(run_id_));
  while (!stopping_) {
    (void)client_.stream(target, {}, [this](const ServerEvent& event) {
      if (event.type == "agent.question" || event.type == "approval.requested") asked_.ring();
      return !stopping_.load();
    });
    if (stopping_) return;
    // The daemon is away; the main thread brings it back.
    wait_readable(stop_.fd(), 200ms);
  }
}

}  // namespace cru::cli
