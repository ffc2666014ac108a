#pragma once
/// libwslay, loaded when the first WebSocket client comes: nobody else pays for it. Private to
/// websocket_reader.cc.
#include <wslay/wslay.h>

#include "base/result.h"

namespace cru {

#define CRU_WSLAY_FUNCTIONS(X)                  \
  X(wslay_event_context_server_init)            \
  X(wslay_event_context_free)                   \
  X(wslay_event_config_set_no_buffering)        \
  X(wslay_event_config_set_max_recv_msg_length) \
  X(wslay_event_recv)                           \
  X(wslay_event_send)                           \
  X(wslay_event_want_write)                     \
  X(wslay_event_queue_close)                    \
  X(wslay_event_shutdown_read)                  \
  X(wslay_event_set_error)                      \
  X(wslay_event_get_close_sent)                 \
  X(wslay_event_get_status_code_sent)

struct WslayLibrary {
#define X(function) decltype(&::function) function = nullptr;
  CRU_WSLAY_FUNCTIONS(X)
#undef X
};

/// The one library of this process, which is never unloaded. On the loop's thread only.
/// Errors: cannot_execute naming what to install.
Result<const WslayLibrary*> load_wslay();

}  // namespace cru
