#include "platform/sandbox/socket_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "platform/files/files.h"

namespace cru {
namespace {

#if defined(__x86_64__)
constexpr uint32_t our_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t our_architecture = AUDIT_ARCH_AARCH64;
#else
#error "say which system calls make sockets on this architecture"
#endif
constexpr uint32_t first_x32_call = 0x40000000;

constexpr sock_filter load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
constexpr sock_filter skip_if(uint16_t how, uint32_t value, uint8_t if_true, uint8_t if_false) {
  return BPF_JUMP(static_cast<uint16_t>(BPF_JMP | how | BPF_K), value, if_true, if_false);
}
constexpr sock_filter answer(uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }
constexpr uint32_t refusal(int reason) {
  return SECCOMP_RET_ERRNO | (static_cast<uint32_t>(reason) & SECCOMP_RET_DATA);
}

}  // namespace

bool filter_sockets(bool internet) {
  const uint32_t to_internet = internet ? SECCOMP_RET_ALLOW : refusal(EACCES);
  sock_filter program[] = {
      load(offsetof(seccomp_data, arch)),
      skip_if(BPF_JEQ, our_architecture, 1, 0),
      answer(refusal(EPERM)),  // another architecture's calls have other numbers
      load(offsetof(seccomp_data, nr)),
      skip_if(BPF_JGE, first_x32_call, 0, 1),
      answer(refusal(ENOSYS)),
      skip_if(BPF_JEQ, SYS_io_uring_setup, 0, 1),
      answer(refusal(ENOSYS)),
      skip_if(BPF_JEQ, SYS_socket, 1, 0),
      answer(SECCOMP_RET_ALLOW),
      load(offsetof(seccomp_data, args)),  // the low half of the first argument: both are little endian
      skip_if(BPF_JEQ, AF_NETLINK, 0, 1),
      answer(SECCOMP_RET_ALLOW),  // who am I on the network: harmless, and asked by many
      skip_if(BPF_JEQ, AF_INET, 1, 0),
      skip_if(BPF_JEQ, AF_INET6, 0, 1),
      answer(to_internet),
      answer(refusal(EACCES)),
  };
  sock_fprog filter{sizeof program / sizeof program[0], program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

Result<> refuse_sockets(bool internet) {
  if (!filter_sockets(internet))
    return fail(Code::cannot_execute, system_error(errno, "refuse sockets").message);
  return {};
}

}  // namespace cru
