#include "platform/process/self.h"

#include <link.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/process/heap.h"

extern char** environ;

namespace cru {
namespace {

constexpr const char* own_link = "/proc/self/exe";

/// Only what is never written: a page that was written has no file to come back from.
void unmap_clean_pages(const dl_phdr_info& program) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < program.dlpi_phnum; ++i) {
    const auto& part = program.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    auto begin = (program.dlpi_addr + part.p_vaddr) / page * page;
    auto end = program.dlpi_addr + part.p_vaddr + part.p_memsz;
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // NOLINT: addresses of the loader
  }
}

}  // namespace

int own_pid() { return ::getpid(); }
unsigned own_user() { return ::geteuid(); }

std::string own_user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found)
    return entry.pw_name;
  return "uid-" + std::to_string(::geteuid());
}

void set_environment(const std::string& name, const std::string& value, bool replaces) {
  ::setenv(name.c_str(), value.c_str(), replaces ? 1 : 0);
}

std::map<std::string, std::string> whole_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text(*entry);
    auto equals = text.find('=');
    if (equals != std::string_view::npos)
      all[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return all;
}

std::string own_executable() {
  std::error_code error;
  return std::filesystem::read_symlink(own_link, error).string();
}

std::string own_executable_to_start() {
  auto file = own_executable();
  return !file.empty() && may_execute(file) ? file : own_link;
}

Error begin_anew(std::vector<std::string> words, const std::string& doing) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(own_link, argv.data());
  return system_error(errno, doing);
}

void ignore_broken_pipes() { ::signal(SIGPIPE, SIG_IGN); }
void ignore_file_size_limits() { ::signal(SIGXFSZ, SIG_IGN); }

void create_for_own_user_only() { ::umask(0077); }

size_t raise_descriptor_limit() {
  constexpr rlim_t most = 1 << 20, usual = 1024;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return usual;
  rlimit raised{files.rlim_max, files.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) files = raised;
  return std::min(files.rlim_cur, most);
}

void release_startup_memory(Libraries libraries) {
  give_back_unused_heap();
  ::dl_iterate_phdr(
      [](dl_phdr_info* program, size_t, void* last) {
        unmap_clean_pages(*program);
        return *static_cast<const Libraries*>(last) == Libraries::stay ? 1 : 0;  // the first is this program
      },
      &libraries);
}

}  // namespace cru
