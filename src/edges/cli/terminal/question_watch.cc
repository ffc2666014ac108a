#include "edges/cli/terminal/question_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

namespace cru::cli {
namespace {

void signal_event(const Fd& event) {
  uint64_t one = 1;
  (void)!::write(event.get(), &one, sizeof one);
}

}  // namespace

QuestionWatch::QuestionWatch(Client client, std::string run_id)
    : client_(std::move(client)),
      run_id_(std::move(run_id)),
      asked_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { listen(); }) {}

QuestionWatch::~QuestionWatch() {
  stopping_ = true;
  signal_event(stop_);
  thread_.join();
}

bool QuestionWatch::take() {
  uint64_t count = 0;
  return ::read(asked_.get(), &count, sizeof count) > 0;
}

void QuestionWatch::listen() {
  client_.interrupt_on({stop_.get()});
  auto target = fmt::format("/events?entity={}&type=agent.question", percent_encode(run_id_));
  while (!stopping_) {
    (void)client_.stream(target, {}, [this](const ServerEvent& event) {
      if (event.type == "agent.question") signal_event(asked_);
      return !stopping_.load();
    });
    if (stopping_) return;
    // The daemon is away; the main thread brings it back.
    pollfd polled{stop_.get(), POLLIN, 0};
    ::poll(&polled, 1, 200);
  }
}

}  // namespace cru::cli
