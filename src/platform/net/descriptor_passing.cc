#include "platform/net/descriptor_passing.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

namespace cru {
namespace {

constexpr int most_closings = 4;
std::atomic<int> closings{0};

/// Room for the descriptors, aligned as the system wants it.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(most_passed_descriptors * sizeof(int))];
};

template <class Call>
Transfer transfer(Call call) {
  ssize_t count;
  do count = call();
  while (count < 0 && errno == EINTR);
  if (count > 0) return {Transfer::some, static_cast<size_t>(count)};
  if (count == 0) return {Transfer::ended};
  return {errno == EAGAIN ? Transfer::later : Transfer::broken};
}

}  // namespace

Transfer send_descriptors(const Fd& socket, std::string_view bytes, std::span<const int> descriptors) {
  if (descriptors.size() > most_passed_descriptors) return {Transfer::broken};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  return transfer([&] { return ::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL); });
}

ReceivedDescriptors receive_descriptors(const Fd& socket, std::span<char> into) {
  iovec part{into.data(), into.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  // Not the whole of it: what it is rounded up by would hold one more.
  message.msg_controllen = CMSG_LEN(most_passed_descriptors * sizeof(int));
  ReceivedDescriptors received{
      transfer([&] { return ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); })};
  if (received.transfer.outcome != Transfer::some) return received;
  for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, reinterpret_cast<const char*>(header) + at, sizeof fd);
      received.descriptors.emplace_back(fd);
    }
  }
  return received;
}

Fd duplicate(const Fd& descriptor) { return Fd(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0)); }

void close_aside(std::vector<Fd> descriptors) {
  std::erase_if(descriptors, [](const Fd& fd) { return !fd; });
  if (descriptors.empty()) return;
  ++closings;
  try {
    std::thread([held = std::move(descriptors)]() mutable {
      held.clear();
      --closings;
    }).detach();
  } catch (const std::system_error&) {  // there are no more threads: they are closed already
    --closings;
  }
}

bool can_close_aside() { return closings < most_closings; }

}  // namespace cru
