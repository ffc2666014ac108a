#include "platform/loop/watches.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cru {
namespace {

[[noreturn]] void refuse(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

constexpr uint32_t to_read = EPOLLIN | EPOLLRDHUP | EPOLLPRI, to_write = EPOLLOUT;
/// An end or a failure is told even to those who do not ask: once, not as long as it lasts.
constexpr uint32_t nothing = EPOLLET;

}  // namespace

/// What the system is asked for stays asked for after it was told, because most ask for the same again at
/// once. It is taken back when it is told and nobody waits for it any more.
class Watches::One final : public Watch {
 public:
  One(Watches& watches, int fd) : watches_(watches), fd_(fd) {
    if (watches_.free_.empty()) {
      watches_.free_.push_back(static_cast<uint32_t>(watches_.places_.size()));
      watches_.places_.emplace_back();
    }
    place_ = watches_.free_.back();
    if (!ask(EPOLL_CTL_ADD, 0)) refuse("a descriptor cannot be watched");
    watches_.free_.pop_back();
    watches_.places_[place_].watch = this;
  }
  ~One() override {
    ::epoll_ctl(watches_.epoll_, EPOLL_CTL_DEL, fd_, nullptr);
    auto& place = watches_.places_[place_];
    place = {nullptr, place.generation + 1};
    watches_.free_.push_back(place_);
  }

  void when_readable(std::function<void()> ready) override { wait(readable_, std::move(ready), to_read); }
  void when_writable(std::function<void()> ready) override { wait(writable_, std::move(ready), to_write); }

  /// Calls those who waited for `events`. The first of them may destroy this watch.
  void tell(uint32_t events, uint64_t number) {
    auto& watches = watches_;
    bool is_over = (events & (EPOLLERR | EPOLLHUP)) != 0;
    auto read = is_over || (events & to_read) != 0 ? std::exchange(readable_, nullptr) : nullptr;
    auto write = is_over || (events & to_write) != 0 ? std::exchange(writable_, nullptr) : nullptr;
    // Nobody wants it: it is not told again and again. To ask for nothing once more would be answered again.
    if (!read && !write) return asked_ != wanted() ? (void)ask(EPOLL_CTL_MOD, wanted()) : void();
    if (read) read();
    if (!write) return;
    if (watches.find(number)) write();
  }

 private:
  uint32_t wanted() const { return (readable_ ? to_read : 0) | (writable_ ? to_write : 0); }
  void wait(std::function<void()>& place, std::function<void()> ready, uint32_t kind) {
    CRU_ASSERT(!place);  // one waits at a time
    place = std::move(ready);
    if ((asked_ & kind) != kind) (void)ask(EPOLL_CTL_MOD, wanted());
  }
  bool ask(int how, uint32_t kinds) {
    asked_ = kinds;
    epoll_event event{.events = kinds != 0 ? kinds : nothing,
                      .data = {.u64 = uint64_t(watches_.places_[place_].generation) << 32 | place_}};
    return ::epoll_ctl(watches_.epoll_, how, fd_, &event) == 0;
  }

  Watches& watches_;
  const int fd_;
  uint32_t place_ = 0;
  uint32_t asked_ = 0;  ///< of the system
  std::function<void()> readable_, writable_;
};

Watches::Watches() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) refuse("epoll");
}

Watches::~Watches() { ::close(epoll_); }

std::unique_ptr<Watch> Watches::watch(int fd) { return std::make_unique<One>(*this, fd); }

Watches::One* Watches::find(uint64_t number) const {
  const auto& place = places_[static_cast<uint32_t>(number)];
  return place.generation == number >> 32 ? place.watch : nullptr;
}

void Watches::wait(std::optional<std::chrono::nanoseconds> limit) {
  timespec time{};
  if (limit) {
    time.tv_sec = *limit / std::chrono::seconds(1);
    time.tv_nsec = (*limit % std::chrono::seconds(1)).count();
  }
  auto most = static_cast<int>(events_.size());
  int found = ::epoll_pwait2(epoll_, events_.data(), most, limit ? &time : nullptr, nullptr);
  // Before Linux 5.11 there are whole milliseconds only.
  if (found < 0 && errno == ENOSYS) {
    auto millis = limit ? std::chrono::ceil<std::chrono::milliseconds>(*limit).count() : -1;
    constexpr int64_t longest = 24 * 3600 * 1000;  // whoever waits longer asks again
    found = ::epoll_wait(epoll_, events_.data(), most, static_cast<int>(std::min<int64_t>(millis, longest)));
  }
  found_ = std::span(events_).first(static_cast<size_t>(std::max(found, 0)));
}

void Watches::tell() {
  for (const auto& event : std::exchange(found_, {}))
    if (auto* watch = find(event.data.u64)) watch->tell(event.events, event.data.u64);
}

}  // namespace cru
