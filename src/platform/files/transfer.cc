#include "platform/files/transfer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace cru {
namespace {

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

Transfer read_now(const Fd& fd, std::span<char> into) {
  return transfer([&] { return ::read(fd.get(), into.data(), into.size()); });
}

Transfer receive_now(const Fd& socket, std::span<char> into) {
  return transfer([&] { return ::recv(socket.get(), into.data(), into.size(), MSG_DONTWAIT); });
}

Transfer send_now(const Fd& socket, std::string_view bytes) {
  return transfer(
      [&] { return ::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
}

}  // namespace cru
