#pragma once
/// For tests: the client's side of a WebSocket, byte by byte where it matters.
#include <string>

#include "platform/net/http/test_client_fixture.h"

namespace cru::ws {

/// A frame as a client sends it: with a mask.
inline std::string client_frame(int opcode, std::string_view payload, bool fin = true) {
  std::string out;
  out += static_cast<char>((fin ? 0x80 : 0) | opcode);
  auto size = payload.size();
  int length_bytes = size < 126 ? 0 : size <= 0xffff ? 2 : 8;
  out += static_cast<char>(0x80 | (length_bytes == 0 ? size : length_bytes == 2 ? 126u : 127u));
  for (int i = length_bytes - 1; i >= 0; --i) out += static_cast<char>(uint64_t(size) >> (8 * i) & 0xff);
  constexpr std::string_view mask = "\x12\x34\x56\x78";
  out += mask;
  for (size_t i = 0; i < size; ++i) out += static_cast<char>(payload[i] ^ mask[i % 4]);
  return out;
}

struct Received {
  int opcode = 0;  ///< 0: the connection has ended
  std::string payload;
  int code() const {
    return payload.size() < 2
               ? 0
               : (static_cast<unsigned char>(payload[0]) << 8) + static_cast<unsigned char>(payload[1]);
  }
};

/// One frame of the server.
inline Received receive(http::Client& client) {
  auto head = client.exactly(2);
  if (head.size() < 2) return {};
  auto byte = [](char c) { return static_cast<unsigned char>(c); };
  uint64_t size = byte(head[1]);
  if (size >= 126) {
    auto more = client.exactly(size == 126 ? 2 : 8);
    size = 0;
    for (char c : more) size = size << 8 | byte(c);
  }
  return {byte(head[0]) & 0xf, client.exactly(size)};
}

inline std::string handshake(std::string_view target, std::string_view headers = {}) {
  return "GET " + std::string(target) +
         " HTTP/1.1\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
         std::string(headers) + "\r\n";
}

}  // namespace cru::ws
