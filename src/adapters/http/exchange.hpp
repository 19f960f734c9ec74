// Reading heads off a stream, for both sides of the gateway.
#pragma once

#include <string>

#include "src/adapters/http/head.hpp"
#include "src/adapters/http/stream.hpp"
#include "src/ports/memory_budget.hpp"

namespace pawl::http {

// Why no head came.
struct HeadTrouble {
  Io io = Io::ok;                  // not ok: the connection's trouble
  bool nothing_arrived = false;    // not one byte of it
  std::optional<Refusal> refusal;  // else the message's
};

// The bytes of one head, consumed from the stream into `head`. Views of its parse point into that
// string: keep it where it is. What a large one holds is charged to `memory`, if there is one.
Task<std::optional<HeadTrouble>> read_head(Stream& stream, std::size_t bytes_max, std::string& head,
                                           Charge* memory = nullptr);

// The final answer's head of an upstream. 1xx are skipped, up to a limit; `bytes` holds the head.
enum class AnswerTrouble { timed_out, cut_off, malformed };
struct NoAnswer {
  AnswerTrouble trouble = AnswerTrouble::cut_off;
  bool nothing_arrived = false;
  std::string why;
};
Task<Expected<ResponseHead, NoAnswer>> read_answer_head(Stream& stream, bool to_head,
                                                        std::string& bytes);

}  // namespace pawl::http
