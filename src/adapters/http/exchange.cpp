#include "src/adapters/http/exchange.hpp"

namespace pawl::http {
namespace {

constexpr int interim_answers_max = 16;
constexpr std::size_t small_head_bytes = 4096;  // every connection has room for that
constexpr std::size_t head_copies = 2;          // in the stream, and apart from it
constexpr HeadLimits answer_limits{
    .head_bytes_max = std::size_t{256} << 10, .field_count_max = 1000, .target_bytes_max = 0};

NoAnswer no_answer(const HeadTrouble& trouble) {
  NoAnswer none;
  none.nothing_arrived = trouble.nothing_arrived;
  if (trouble.refusal) {
    none.trouble = AnswerTrouble::malformed;
    none.why = trouble.refusal->detail;
  } else if (trouble.io == Io::timed_out) {
    none.trouble = AnswerTrouble::timed_out;
    none.why = "no answer in time";
  } else {
    none.why = trouble.nothing_arrived ? "the connection ended before an answer"
                                       : "the connection ended in the middle of the answer";
  }
  return none;
}

}  // namespace

Task<std::optional<HeadTrouble>> read_head(Stream& stream, std::size_t bytes_max, std::string& head,
                                           Charge* memory) {
  HeadScanner scanner(bytes_max);
  for (;;) {
    const Expected<std::optional<std::size_t>, Refusal> end = scanner.scan(stream.arrived());
    HeadTrouble trouble;
    if (!end) {
      trouble.refusal = end.error();
      co_return trouble;
    }
    if (*end) {
      head.assign(stream.arrived().substr(0, **end));
      stream.consume(**end);
      co_return std::nullopt;
    }
    trouble.io = co_await stream.read_more();
    trouble.nothing_arrived = stream.arrived().empty();
    if (trouble.io != Io::ok) co_return trouble;
    const std::size_t arrived = stream.arrived().size();
    const bool counts = memory != nullptr && arrived > small_head_bytes;
    if (counts && !memory->cover(head_copies * arrived, MemoryUse::new_work)) {
      trouble.refusal = Refusal{Problem::overloaded, {}, {}};
      co_return trouble;
    }
  }
}

Task<Expected<ResponseHead, NoAnswer>> read_answer_head(Stream& stream, bool to_head,
                                                        std::string& bytes) {
  NoAnswer malformed;
  malformed.trouble = AnswerTrouble::malformed;
  bool in_step = true;  // no interim answer named a body
  for (int interim = 0; interim <= interim_answers_max; ++interim) {
    const std::optional<HeadTrouble> trouble =
        co_await read_head(stream, answer_limits.head_bytes_max, bytes);
    if (trouble) co_return Unexpected{no_answer(*trouble)};
    Expected<ResponseHead, std::string> head = parse_response_head(bytes, to_head, answer_limits);
    if (!head) {
      malformed.why = head.error();
      co_return Unexpected{std::move(malformed)};
    }
    if (head->status >= 200) {
      if (!in_step) head->keep_alive = false;
      co_return std::move(*head);
    }
    if (!head->keep_alive) in_step = false;
    if (head->status == 101) {
      malformed.why = "101 Switching Protocols was never asked for";
      co_return Unexpected{std::move(malformed)};
    }
  }
  malformed.why = "too many interim answers";
  co_return Unexpected{std::move(malformed)};
}

}  // namespace pawl::http
