// A message's body, piece by piece as it arrives.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/adapters/http/chunked.hpp"
#include "src/adapters/http/head.hpp"
#include "src/adapters/http/stream.hpp"
#include "src/ports/memory_budget.hpp"

namespace pawl::http {

// Why a body did not come to its end.
struct BodyTrouble {
  Io io = Io::ok;                  // not ok: the connection's trouble
  std::optional<Refusal> refusal;  // else the message's
};

class BodyReader {
 public:
  BodyReader(Stream& stream, Framing framing, std::uint64_t length);

  // All of it has been read and nothing of it is left in the stream: what comes next there is the
  // next message.
  [[nodiscard]] bool done() const { return done_ && used_ == 0; }

  // All of it has arrived, what was given last included.
  [[nodiscard]] bool arrived() const { return done_; }

  // The next piece; empty only when done. Valid until the next call or any read of the stream.
  Task<Expected<std::string_view, BodyTrouble>> next();

  // All of it, if it is no longer than `bytes_max`; else a refusal with body-too-large. What has
  // arrived is charged as new work to `memory`, if there is one; overloaded without room for it.
  Task<Expected<std::string, BodyTrouble>> read_whole(std::size_t bytes_max,
                                                      Charge* memory = nullptr);

 private:
  std::optional<BodyTrouble> take_arrived();

  Stream& stream_;
  Framing framing_;
  std::uint64_t left_;
  ChunkedDecoder chunks_;
  std::string_view piece_;
  std::size_t used_ = 0;  // of what has arrived, consumed with the next call
  bool done_;
};

// What the client is told about it; nothing if nobody is left to be told.
std::optional<Refusal> refusal_of(BodyTrouble trouble);

// "The body is over the limit of N bytes."
Refusal body_too_large(std::size_t bytes_max);
// There is no memory for it.
Refusal overloaded();

}  // namespace pawl::http
