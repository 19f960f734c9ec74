#include "src/adapters/http/upstream_call.hpp"

#include <algorithm>

#include "src/adapters/http/body.hpp"
#include "src/adapters/http/exchange.hpp"
#include "src/adapters/http/forwarding.hpp"

namespace pawl::http {
namespace {

// More than this of one answer is not held in memory for anybody.
constexpr std::size_t answer_bytes_max = std::size_t{64} << 20;

Lost lost(Lost::How how, std::string why) { return Lost{how, std::move(why)}; }

Lost lost(const NoAnswer& none) {
  switch (none.trouble) {
    case AnswerTrouble::timed_out: return lost(Lost::How::timeout, none.why);
    case AnswerTrouble::cut_off: return lost(Lost::How::reset, none.why);
    case AnswerTrouble::malformed: return lost(Lost::How::bad_response, none.why);
  }
  return lost(Lost::How::reset, none.why);
}

Lost lost(const BodyTrouble& trouble) {
  if (trouble.refusal) return lost(Lost::How::bad_response, trouble.refusal->detail);
  if (trouble.io == Io::timed_out) return lost(Lost::How::timeout, "the answer was too slow");
  return lost(Lost::How::reset, "the connection ended in the middle of the answer");
}

}  // namespace

Task<Outcome> UpstreamCall::send(const Record& attempt, SendGate& gate, BootTime deadline) {
  std::unique_ptr<Stream> stream = pool_.reuse(options_.idle_max);
  if (!stream) {
    const BootTime connect_by =
        std::min(deadline, pool_.deadlines().now() + options_.connect_timeout);
    auto fresh = co_await pool_.connect(connect_by);
    if (!fresh) co_return NotSent{fresh.error()};
    stream = std::move(*fresh);
  }
  if (!co_await gate.may_send()) {
    pool_.keep(std::move(stream));
    co_return NotSent{"too little of the lease was left"};
  }
  stream->expires_at(deadline);
  co_return co_await exchange(std::move(stream), attempt);
}

Task<Outcome> UpstreamCall::exchange(std::unique_ptr<Stream> stream, const Record& attempt) {
  const std::string head = writer_.head(attempt);
  const std::array<std::string_view, 2> parts{head, writer_.body()};
  const BootTime sent_at = pool_.deadlines().now();
  const Stream::Sent sent = co_await stream->write(parts);
  // A first write that the kernel took nothing of cannot have reached anybody.
  if (sent.io != Io::ok && sent.bytes == 0) co_return NotSent{"the connection had gone"};
  // An upstream may answer and close before it has read all: then the answer counts.
  std::string bytes;
  const Expected<ResponseHead, NoAnswer> answer =
      co_await read_answer_head(*stream, /*to_head=*/false, bytes);
  took_ = pool_.deadlines().now() - sent_at;
  if (!answer) co_return lost(answer.error());
  BodyReader reader(*stream, answer->framing, answer->length);
  Expected<std::string, BodyTrouble> body = co_await reader.read_whole(answer_bytes_max);
  took_ = pool_.deadlines().now() - sent_at;
  if (!body) co_return lost(body.error());
  Answered answered;
  answered.response.status = answer->status;
  answered.response.headers = end_to_end(*answer);
  answered.response.body = std::move(*body);
  // Bytes after the answer are nobody's: such a connection is not used again.
  const bool reusable = answer->keep_alive && sent.io == Io::ok && stream->arrived().empty();
  if (reusable) pool_.keep(std::move(stream));
  co_return answered;
}

}  // namespace pawl::http
