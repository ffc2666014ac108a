#pragma once
/// Standard streams, for a program that may wait for them: a verb, a hook.
#include <cstddef>
#include <string>
#include <string_view>

namespace cru {

inline constexpr int standard_input = 0, standard_output = 1, standard_error = 2;

/// Writes all of `text` to a descriptor, however long that takes; gives up where it cannot. A reader that
/// went away ends the program by SIGPIPE, as it should, unless that is ignored.
void write_out(int fd, std::string_view text);
/// What comes next, `limit` bytes at most, waiting for the first. Empty at the end, and where nothing can be
/// read.
std::string read_in(int fd, size_t limit = 4096);

/// What a descriptor is, for whoever decides whether to read from it: `other` is a device such as /dev/null,
/// or nothing at all.
enum class InputKind { terminal, file, pipe, socket, other };
InputKind input_kind(int fd);
/// Whether bytes wait to be read, without taking any.
bool has_input(int fd);

}  // namespace cru
