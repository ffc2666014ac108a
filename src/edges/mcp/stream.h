#pragma once
/// Standard input as lines, standard output as lines: without ever waiting, and without changing how the
/// descriptors behave for others who hold them.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "platform/files/fd.h"

namespace cru::mcp {

inline constexpr size_t bytes_a_read = 64u << 10;

class HostInput {
 public:
  explicit HostInput(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  /// Reads once what is there. A line that is too long is told and skipped. False at the end.
  bool read(const std::function<void(std::string_view line)>& take, const std::function<void()>& too_long);
  bool is_between_lines() const { return rest_.empty() && !skipping_; }
  /// Somebody else has read the beginning of the next line.
  void put_back(std::string rest) { rest_ = std::move(rest); }

 private:
  const int fd_;
  /// Not an array on the stack, which would be filled with zeros at each read.
  std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(bytes_a_read);
  std::string rest_;
  bool skipping_ = false;
};

class HostOutput {
 public:
  explicit HostOutput(int fd);
  int fd() const { return fd_; }
  void add(std::string_view line);
  /// Lines with their ends.
  void add_whole(std::string_view lines) { unsent_ += lines; }
  size_t unsent() const { return unsent_.size(); }
  bool has_unsent() const { return !unsent_.empty(); }
  /// Writes what goes without waiting. False if nobody reads.
  bool flush();

 private:
  int fd_;
  bool is_socket_ = false;
  Fd own_;  ///< the same pipe, opened anew: non-blocking for us only
  std::string unsent_;
};

/// Sends what goes without waiting and takes it off `bytes`. Whether the other end is gone, reading tells.
void send_some(int socket, std::string& bytes);

}  // namespace cru::mcp
