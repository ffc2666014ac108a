#pragma once
/// Descriptors sent from one process to another over a unix socket (SCM_RIGHTS). Never waits.
#include <span>
#include <string_view>
#include <vector>

#include "platform/files/fd.h"
#include "platform/files/transfer.h"

namespace cru {

inline constexpr size_t most_passed_descriptors = 5;

/// Sends bytes and, with the first of them, copies of up to `most_passed_descriptors` descriptors.
Transfer send_descriptors(const Fd& socket, std::string_view bytes, std::span<const int> descriptors);

struct ReceivedDescriptors {
  Transfer transfer;
  std::vector<Fd> descriptors = {};  ///< what came with these bytes; at most `most_passed_descriptors`
};
/// Like `receive_now`, which would drop the descriptors.
ReceivedDescriptors receive_descriptors(const Fd& socket, std::span<char> into);

/// Another descriptor of the same; empty where there is none free.
Fd duplicate(const Fd& descriptor);

/// Closes descriptors that somebody else has chosen, and that may therefore be anything: closing a file can
/// wait for whoever serves it. On threads of their own.
void close_aside(std::vector<Fd> descriptors);
/// False while several closings hang: then no more descriptors should be received.
bool can_close_aside();

}  // namespace cru
