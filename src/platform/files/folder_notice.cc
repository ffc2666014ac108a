#include "platform/files/folder_notice.h"

#include <sys/inotify.h>
#include <unistd.h>

namespace cru {

FolderNotice::FolderNotice(const std::string& folder, Also also)
    : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  uint32_t events = IN_CREATE | IN_MOVED_TO;
  if (also == changed_modes) events |= IN_ATTRIB;
  if (also == changed_contents) events |= IN_MODIFY;
  ::inotify_add_watch(fd_.get(), folder.c_str(), events);
}

bool FolderNotice::take() const {
  char bytes[4096];
  bool is_news = false;
  while (::read(fd_.get(), bytes, sizeof bytes) > 0) is_news = true;
  return is_news;
}

}  // namespace cru
