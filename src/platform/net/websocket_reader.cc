#include "platform/net/websocket_reader.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "platform/net/wslay_library.h"

namespace cru::ws {
namespace {

constexpr size_t max_reason_bytes = 123;

/// Only after reading_is_possible.
const WslayLibrary& wslay() {
  static const WslayLibrary* const library = [] {
    auto loaded = load_wslay();
    CRU_ASSERT(loaded.has_value());
    return *loaded;
  }();
  return *library;
}

uint64_t byte_at(std::string_view bytes, size_t at) { return static_cast<unsigned char>(bytes[at]); }

/// How long the frame is that begins here, header and payload; 0 as long as that cannot be known.
uint64_t frame_size(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  uint64_t payload = byte_at(bytes, 1) & 0x7f;
  size_t length_bytes = payload < 126 ? 0 : payload == 126 ? 2 : 8;
  if (bytes.size() < 2 + length_bytes) return 0;
  if (length_bytes > 0) payload = 0;
  for (size_t i = 0; i < length_bytes; ++i) payload = payload << 8 | byte_at(bytes, 2 + i);
  payload &= ~(uint64_t(1) << 63);  // no length has this bit; wslay refuses it
  return 2 + length_bytes + (byte_at(bytes, 1) & 0x80 ? 4 : 0) + payload;
}

/// A control frame of a length that it may have. wslay 1.1 checks the text of a goodbye wrongly unless it is
/// given all of it at once.
bool must_be_whole(std::string_view bytes) {
  return (byte_at(bytes, 0) & 8) != 0 && (byte_at(bytes, 1) & 0x7f) < 126;
}

}  // namespace

Result<> reading_is_possible() {
  if (auto loaded = load_wslay(); !loaded) return fail(loaded.error());
  return {};
}

/// One wslay context and what it told us. It buffers no messages: it would keep a note of every empty
/// fragment, and a client could send those for ever.
struct FrameReader::State {
  wslay_event_context_ptr context = nullptr;
  const size_t longest;
  std::string_view input = {};
  Heard heard = {};
  std::string message = {};
  std::string held = {};  ///< the beginning of a frame that wslay is not given yet: less than a control frame
  uint64_t frame_left = 0;  ///< bytes of the frame that wslay is in
  bool in_message = false;  ///< more fragments are to come
  bool in_control = false;
  bool is_too_long = false;

  explicit State(size_t max_message_bytes) : longest(max_message_bytes) {
    wslay_event_callbacks callbacks{};
    callbacks.recv_callback = on_receive;
    callbacks.send_callback = on_send;
    callbacks.on_frame_recv_start_callback = on_frame;
    callbacks.on_frame_recv_chunk_callback = on_chunk;
    callbacks.on_msg_recv_callback = on_message;
    CRU_ASSERT(wslay().wslay_event_context_server_init(&context, &callbacks, this) == 0);
    wslay().wslay_event_config_set_no_buffering(context, 1);
    wslay().wslay_event_config_set_max_recv_msg_length(context, longest);
  }
  ~State() { wslay().wslay_event_context_free(context); }
  State(const State&) = delete;

  bool is_between_messages() const { return held.empty() && frame_left == 0 && !in_message; }

  /// Frame by frame, so that each is answered before the next, however the bytes are cut.
  void read(std::string_view bytes) {
    std::string joined;
    if (!held.empty()) {
      joined = std::exchange(held, {}).append(bytes);
      bytes = joined;
    }
    while (!bytes.empty() && !heard.goodbye) {
      if (frame_left == 0) {
        auto size = frame_size(bytes);
        if (size == 0 || (must_be_whole(bytes) && bytes.size() < size)) {
          held = bytes;
          return;
        }
        frame_left = size;
      }
      auto piece = bytes.substr(0, std::min<uint64_t>(frame_left, bytes.size()));
      bytes.remove_prefix(piece.size());
      frame_left -= piece.size();
      give(piece);
    }
  }

  void give(std::string_view bytes) {
    input = bytes;
    int received = wslay().wslay_event_recv(context);
    int sent = 0;
    while (sent == 0 && wslay().wslay_event_want_write(context)) sent = wslay().wslay_event_send(context);
    auto& goodbye = heard.goodbye;
    if (wslay().wslay_event_get_close_sent(context) && !goodbye) {
      goodbye = Goodbye{wslay().wslay_event_get_status_code_sent(context)};
      if (goodbye->code == WSLAY_CODE_NO_STATUS_RCVD) {  // a broken header: wslay says goodbye, but not why
        goodbye->code = WSLAY_CODE_PROTOCOL_ERROR;
        heard.answer.resize(heard.answer.size() - 2);
        heard.answer += close_frame(goodbye->code, {});
      }
    }
    if ((received != 0 || sent != 0) && !goodbye) {  // wslay is out of memory
      goodbye = Goodbye{1011};
      heard.answer += close_frame(1011, {});
    }
  }

  static State& self(void* data) { return *static_cast<State*>(data); }

  static ssize_t on_receive(wslay_event_context_ptr context, uint8_t* buffer, size_t size, int, void* data) {
    auto& state = self(data);
    if (state.input.empty()) {
      wslay().wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    auto taken = std::min(size, state.input.size());
    std::memcpy(buffer, state.input.data(), taken);
    state.input.remove_prefix(taken);
    return static_cast<ssize_t>(taken);
  }

  static ssize_t on_send(wslay_event_context_ptr, const uint8_t* bytes, size_t size, int, void* data) {
    self(data).heard.answer.append(reinterpret_cast<const char*>(bytes), size);
    return static_cast<ssize_t>(size);
  }

  static void on_frame(wslay_event_context_ptr context, const wslay_event_on_frame_recv_start_arg* frame,
                       void* data) {
    auto& state = self(data);
    state.in_control = wslay_is_ctrl_frame(frame->opcode);
    if (state.in_control) return;
    state.in_message = !frame->fin;
    if (state.message.size() + frame->payload_length <= state.longest) return;
    state.end(context, WSLAY_CODE_MESSAGE_TOO_BIG, "the message is too long");
    state.is_too_long = true;
  }

  static void on_chunk(wslay_event_context_ptr, const wslay_event_on_frame_recv_chunk_arg* chunk,
                       void* data) {
    auto& state = self(data);
    if (state.in_control || state.is_too_long) return;
    state.message.append(reinterpret_cast<const char*>(chunk->data), chunk->data_length);
  }

  static void on_message(wslay_event_context_ptr context, const wslay_event_on_msg_recv_arg* message,
                         void* data) {
    auto& state = self(data);
    if (message->opcode == WSLAY_TEXT_FRAME && !state.is_too_long) {
      state.heard.messages.push_back(std::exchange(state.message, {}));
    } else if (message->opcode == WSLAY_BINARY_FRAME && !state.is_too_long) {
      state.end(context, WSLAY_CODE_UNSUPPORTED_DATA, "only text messages are supported");
    } else if (message->opcode == WSLAY_CONNECTION_CLOSE && message->msg_length != 1) {
      Goodbye goodbye{message->status_code ? message->status_code : 1005, {}, true};
      if (message->msg_length > 2)
        goodbye.reason.assign(reinterpret_cast<const char*>(message->msg) + 2, message->msg_length - 2);
      state.heard.goodbye = std::move(goodbye);
    }
  }

  void end(wslay_event_context_ptr of, wslay_status_code code, std::string_view reason) {
    wslay().wslay_event_shutdown_read(of);
    wslay().wslay_event_queue_close(of, static_cast<uint16_t>(code),
                                    reinterpret_cast<const uint8_t*>(reason.data()), reason.size());
  }
};

FrameReader::FrameReader(size_t max_message_bytes) : max_message_bytes_(max_message_bytes) {}
FrameReader::~FrameReader() = default;

Heard FrameReader::read(std::string_view bytes) {
  if (is_over_ || bytes.empty()) return {};
  if (!state_) state_ = std::make_unique<State>(max_message_bytes_);
  state_->read(bytes);
  auto heard = std::exchange(state_->heard, {});
  is_over_ = heard.goodbye.has_value();
  if (is_over_ || state_->is_between_messages()) state_.reset();
  return heard;
}

std::string make_frame(int opcode, std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + 10);
  out += static_cast<char>(0x80 | opcode);
  auto size = payload.size();
  int length_bytes = size < 126 ? 0 : size <= 0xffff ? 2 : 8;
  out += static_cast<char>(length_bytes == 0 ? size : length_bytes == 2 ? 126u : 127u);
  for (int i = length_bytes - 1; i >= 0; --i) out += static_cast<char>(uint64_t(size) >> (8 * i) & 0xff);
  out += payload;
  return out;
}

std::string close_frame(int code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  while (!reason.empty()) {
    auto character = first_code_point(reason);
    if (!character.valid || payload.size() + character.length > max_reason_bytes + 2) break;
    payload += reason.substr(0, character.length);
    reason.remove_prefix(character.length);
  }
  return make_frame(8, payload);
}

}  // namespace cru::ws
