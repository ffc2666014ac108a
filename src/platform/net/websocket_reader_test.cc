#include "platform/net/websocket_reader.h"

#include <gtest/gtest.h>

#include "platform/net/websocket_fixture.h"

namespace cru::ws {
namespace {

/// Everything that was heard of `bytes`, given in pieces of `size`.
Heard read(std::string_view bytes, size_t size = 1u << 20, size_t longest = 1000) {
  FrameReader reader(longest);
  Heard all;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    auto heard = reader.read(bytes.substr(0, size));
    for (auto& message : heard.messages) all.messages.push_back(std::move(message));
    all.answer += heard.answer;
    if (heard.goodbye) all.goodbye = heard.goodbye;
  }
  return all;
}

int code_of(std::string_view bytes) {
  auto heard = read(bytes);
  EXPECT_TRUE(heard.goodbye);
  if (!heard.goodbye) return 0;
  if (!heard.goodbye->by_client) {
    // What is said to the client is what is said to us.
    auto close = heard.answer.substr(heard.answer.find('\x88'));
    EXPECT_EQ((static_cast<unsigned char>(close.at(2)) << 8) + static_cast<unsigned char>(close.at(3)),
              heard.goodbye->code);
  }
  return heard.goodbye->code;
}

using Texts = std::vector<std::string>;

TEST(FrameReader, HearsTextsOfEveryLength) {
  for (size_t size : {0u, 1u, 125u, 126u, 1000u}) {
    auto text = std::string(size, 'x');
    EXPECT_EQ(read(client_frame(1, text)).messages, Texts{text}) << size;
  }
  EXPECT_EQ(read(client_frame(1, std::string(70'000, 'x')), 1u << 20, 70'000).messages.at(0).size(), 70'000u);
}

TEST(FrameReader, JoinsFragmentsAndHearsPingsBetweenThem) {
  auto bytes = client_frame(1, "one, ", false) + client_frame(9, "hey") + client_frame(0, "", false) +
               client_frame(0, "two");
  auto heard = read(bytes);
  EXPECT_EQ(heard.messages, Texts{"one, two"});
  EXPECT_EQ(heard.answer, make_frame(10, "hey"));
}

TEST(FrameReader, HearsTheSameByteByByte) {
  for (const auto& bytes :
       {client_frame(1, "a") + client_frame(1, "grüße", false) + client_frame(9, "p") +
            client_frame(0, " x") + client_frame(1, std::string(300, 'y')) +
            client_frame(8,
                         "\x03\xe8"
                         "bye"),
        client_frame(8,
                     "\x03\xe8"
                     "grüße"),
        client_frame(8,
                     "\x03\xe8"
                     "\xaa\xaa\xaa"),
        client_frame(1, "a") + client_frame(1, "\xff") + client_frame(1, "never"),
        client_frame(1, "a") + client_frame(1, std::string(1001, 'z')),
        client_frame(1, "a") + make_frame(1, "unmasked"), client_frame(2, "binary") + client_frame(1, "b")}) {
    auto whole = read(bytes);
    for (size_t size : {1u, 2u, 7u}) {
      auto cut = read(bytes, size);
      EXPECT_EQ(cut.messages, whole.messages);
      EXPECT_EQ(cut.answer, whole.answer);
      ASSERT_TRUE(cut.goodbye && whole.goodbye);
      EXPECT_EQ(cut.goodbye->code, whole.goodbye->code);
    }
  }
}

TEST(FrameReader, EndsWhoeverBreaksARule) {
  EXPECT_EQ(code_of(make_frame(1, "unmasked")), 1002);
  EXPECT_EQ(code_of(client_frame(0, "continues nothing")), 1002);
  EXPECT_EQ(code_of(client_frame(1, "a", false) + client_frame(1, "b")), 1002);
  EXPECT_EQ(code_of(client_frame(3, "no such opcode")), 1002);
  EXPECT_EQ(code_of(client_frame(9, std::string(126, 'p'))), 1002);
  EXPECT_EQ(code_of(client_frame(9, "p", false)), 1002);
  EXPECT_EQ(code_of("\xc1\x80"
                    "mask"),
            1002);                                        // a reserved bit
  EXPECT_EQ(code_of(client_frame(8, "\x03")), 1002);      // half a code
  EXPECT_EQ(code_of(client_frame(8, "\x03\xed")), 1002);  // 1005 is never said
  EXPECT_EQ(code_of(client_frame(2, "binary")), 1003);
}

TEST(FrameReader, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(code_of(client_frame(1, "\xc3\x28")), 1007);
  EXPECT_EQ(code_of(client_frame(1, "\xed\xa0\x80")), 1007);  // a surrogate
  EXPECT_EQ(code_of(client_frame(1, "\xc3")), 1007);          // cut off
  EXPECT_EQ(read(client_frame(1, "\xc3", false) + client_frame(0, "\xbc")).messages, Texts{"ü"});
}

TEST(FrameReader, RefusesWhatIsTooLongInAnyNumberOfPieces) {
  EXPECT_EQ(read(client_frame(1, std::string(1000, 'x'))).messages.size(), 1u);
  EXPECT_EQ(code_of(client_frame(1, std::string(1001, 'x'))), 1009);
  EXPECT_EQ(code_of(client_frame(1, std::string(600, 'x'), false) + client_frame(0, std::string(401, 'x'))),
            1009);
  // Long before its bytes have come.
  EXPECT_EQ(code_of(client_frame(1, std::string(70'000, 'x')).substr(0, 20)), 1009);
}

TEST(FrameReader, AnswersAGoodbyeWithItsCode) {
  auto heard = read(client_frame(8,
                                 "\x0f\xa0"
                                 "later") +
                    client_frame(1, "unheard"));
  ASSERT_TRUE(heard.goodbye);
  EXPECT_EQ(heard.goodbye->code, 4000);
  EXPECT_EQ(heard.goodbye->reason, "later");
  EXPECT_TRUE(heard.goodbye->by_client);
  EXPECT_TRUE(heard.messages.empty());
  EXPECT_EQ(heard.answer.substr(2, 2), "\x0f\xa0");
  EXPECT_EQ(read(client_frame(8, "")).goodbye->code, 1005);
}

TEST(FrameReader, HoldsNothingBetweenMessages) {
  FrameReader reader(1000);
  auto frame = client_frame(1, "text");
  (void)reader.read(frame);
  EXPECT_TRUE(reader.is_idle());
  (void)reader.read(frame.substr(0, 1));
  EXPECT_FALSE(reader.is_idle());
  EXPECT_EQ(reader.read(frame.substr(1)).messages, Texts{"text"});
  EXPECT_TRUE(reader.is_idle());
  (void)reader.read(client_frame(1, "begun", false));
  EXPECT_FALSE(reader.is_idle());
  (void)reader.read(client_frame(9, "in between"));
  EXPECT_FALSE(reader.is_idle());
  EXPECT_EQ(reader.read(client_frame(0, ", ended")).messages, Texts{"begun, ended"});
  EXPECT_TRUE(reader.is_idle());
}

TEST(CloseFrame, CutsTheReasonBetweenCharacters) {
  std::string reason;
  for (int i = 0; i < 100; ++i) reason += "ü";
  auto frame = close_frame(1001, reason);
  EXPECT_EQ(frame.size(), 2u + 2 + 122);
  EXPECT_EQ(frame.substr(0, 4), "\x88\x7c\x03\xe9");
}

}  // namespace
}  // namespace cru::ws
