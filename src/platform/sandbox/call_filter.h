#pragma once
/// Call filter: system calls that nobody in a jail needs and that lead out of it. By calls of the system
/// only: may be used between vfork and exec. Can only ever be narrowed.

namespace cru {

/// Refuses, for this process and all it starts, for good: namespaces and mounts of its own, which would undo
/// those of the jail; keyrings; files that run as their owner; input into terminals. Calls of another
/// architecture have other numbers and are refused as well.
/// Without `has_namespaces` also what reaches the user's other processes and files: limits, priorities and
/// processors of others, memory shared by number, owners and attributes of files. False with errno.
bool filter_calls(bool has_namespaces);

}  // namespace cru
