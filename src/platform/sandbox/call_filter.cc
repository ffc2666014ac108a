#include "platform/sandbox/call_filter.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

#include "platform/sandbox/filter_program.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452  // since Linux 6.6
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467  // since Linux 6.15
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463  // since Linux 6.13
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469  // since Linux 6.17
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

namespace cru {
namespace {

constexpr uint32_t all_namespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

/// A process with mounts of its own, and a folder that it has held open, is no longer kept by those of the
/// jail: they are mounted elsewhere.
void refuse_namespaces(FilterProgram& filter) {
  filter.refuse_with(SYS_unshare, 0, all_namespaces | CLONE_NEWTIME, EPERM);
  filter.refuse_with(SYS_clone, 0, all_namespaces, EPERM);  // here that of time is part of a signal's number
  filter.refuse(SYS_clone3, ENOSYS);  // its flags are in memory: every library uses clone then
  for (long call :
       {SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree,
        SYS_open_tree_attr, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr})
    filter.refuse(call, EPERM);
}

/// Whoever else executes such a file would have the user's rights, without a jail.
void refuse_running_as_owner(FilterProgram& filter) {
  constexpr uint32_t creates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
  filter.refuse_with(SYS_fchmod, 1, S_ISUID, EPERM);
  filter.refuse_with(SYS_fchmodat, 2, S_ISUID, EPERM);
  filter.refuse_with(SYS_fchmodat2, 2, S_ISUID, EPERM);
  filter.refuse_with(SYS_mknodat, 2, S_ISUID, EPERM);
  filter.refuse_with_both(SYS_openat, 2, creates, 3, S_ISUID, EPERM);
  filter.refuse(SYS_openat2, ENOSYS);  // its mode is in memory: openat is used then
#ifdef SYS_open
  filter.refuse_with(SYS_chmod, 1, S_ISUID, EPERM);
  filter.refuse_with(SYS_creat, 1, S_ISUID, EPERM);
  filter.refuse_with(SYS_mknod, 1, S_ISUID, EPERM);
  filter.refuse_with_both(SYS_open, 1, creates, 2, S_ISUID, EPERM);
#endif
}

/// Where the user's other processes are seen. A number of one's own thread is not known from another's, so
/// only the caller itself remains: whoever pins threads to processors is refused.
void refuse_others(FilterProgram& filter) {
  constexpr uint32_t of_a_user = 3;  // IOPRIO_WHO_USER
  filter.refuse_setting_for_others(SYS_prlimit64, 0, 2, EPERM);
  filter.refuse_kind_and_others(SYS_setpriority, 0, PRIO_USER, 1, EPERM);
  filter.refuse_kind_and_others(SYS_ioprio_set, 0, of_a_user, 1, EPERM);
  for (long call : {SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler,
                    SYS_migrate_pages, SYS_move_pages})
    filter.refuse_for_others(call, 0, EPERM);
  // Shared by number, with whoever has the same user.
  for (long call : {SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
                    SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink})
    filter.refuse(call, EPERM);
}

/// Landlock knows nothing of these. Modes and times stay: too many programs set them on their own files.
void refuse_attributes(FilterProgram& filter) {
  for (long call : {SYS_fchown, SYS_fchownat, SYS_file_setattr}) filter.refuse(call, EPERM);
#ifdef SYS_open
  for (long call : {SYS_chown, SYS_lchown}) filter.refuse(call, EPERM);
#endif
  // As on a file system that has none: programs then do without.
  for (long call : {SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_setxattrat, SYS_removexattr,
                    SYS_lremovexattr, SYS_fremovexattr, SYS_removexattrat})
    filter.refuse(call, EOPNOTSUPP);
}

}  // namespace

bool filter_calls(bool has_namespaces) {
  FilterProgram filter;
  refuse_namespaces(filter);
  refuse_running_as_owner(filter);
  for (long call : {SYS_keyctl, SYS_add_key, SYS_request_key}) filter.refuse(call, EPERM);
  filter.refuse_either(SYS_ioctl, 1, TIOCSTI, TIOCLINUX, EPERM);  // both type into a terminal
  // What is asked for in memory is not seen by this filter: a file that runs as its owner could be made.
  filter.refuse(SYS_io_uring_setup, ENOSYS);
  if (!has_namespaces) {
    refuse_others(filter);
    refuse_attributes(filter);
  }
  return filter.apply();
}

}  // namespace cru
