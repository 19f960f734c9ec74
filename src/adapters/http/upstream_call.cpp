#include "src/adapters/http/upstream_call.hpp"

#include <algorithm>

#include "pawl/types/json.hpp"
#include "src/adapters/http/exchange.hpp"
#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

// More than this of one answer is put down for nobody.
constexpr std::uint64_t spool_bytes_max = std::uint64_t{4} << 30;
// To see whether JSON has come to its end all of it has to be there.
constexpr std::size_t verified_bytes_max = std::size_t{64} << 20;
// While it is recorded: the answer, the record as it will be, and that on its way to the store.
constexpr std::size_t copies = 3;
constexpr Duration room_wait_step = std::chrono::milliseconds(20);

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

bool names_json(const ResponseHead& answer) {
  const std::optional<std::string_view> field = find(answer.fields, "Content-Type");
  if (!field) return false;
  const std::string type = lowered(trimmed(field->substr(0, field->find(';'))));
  return type == "application/json" || type.ends_with("+json");
}

// Nothing can be missing at its end. A number has no end of its own: 10 may be the rest of 100.
bool is_whole_json(const ResponseHead& answer, std::string_view body) {
  if (!names_json(answer)) return false;
  const Expected<json::Value, json::Error> document = json::read(body);
  return document && document->kind != json::Kind::number;
}

BodyTrouble too_large(std::uint64_t bytes_max) {
  BodyTrouble trouble;
  trouble.refusal = body_too_large(bytes_max);
  return trouble;
}

}  // namespace

Task<Outcome> UpstreamCall::send(const Record& attempt, SendGate& gate, BootTime deadline) {
  for (std::size_t dead = 0;;) {
    std::unique_ptr<Stream> stream = pool_.reuse(options_.idle_max, options_.sender);
    const bool fresh = !stream;
    if (fresh) {
      const BootTime connect_by =
          std::min(deadline, pool_.deadlines().now() + options_.connect_timeout);
      auto connected = co_await pool_.connect(connect_by);
      if (!connected) co_return NotSent{connected.error()};
      stream = std::move(*connected);
    }
    const bool granted = co_await gate.may_send();
    if (!granted) {
      pool_.keep(std::move(stream));
      co_return NotSent{"too little of the lease was left"};
    }
    // What is there before a word was said is nobody's answer: an upstream that has waited long
    // enough says 408 by itself.
    if (stream->idle_and_alive()) {
      stream->expires_at(deadline);
      co_return co_await exchange(std::move(stream), attempt);
    }
    if (!fresh) continue;
    pool_.note(*stream, /*answered=*/false);
    if (++dead >= pool_.places()) {
      co_return NotSent{"the upstream sent data or closed the connection before the request"};
    }
  }
}

Task<Outcome> UpstreamCall::exchange(std::unique_ptr<Stream> stream, const Record& attempt) {
  const std::string head = writer_.head(attempt);
  const std::array<std::string_view, 2> parts{head, writer_.body()};
  const BootTime sent_at = pool_.deadlines().now();
  if (!writer_.body().empty()) stream->carried_for = options_.sender;
  const Stream::Sent sent = co_await stream->write(parts);
  // A first write that the kernel took nothing of cannot have reached anybody.
  if (sent.io != Io::ok && sent.bytes == 0) {
    pool_.note(*stream, /*answered=*/false);
    co_return NotSent{"the connection had gone"};
  }
  // An upstream may answer and close before it has read all: then the answer counts.
  std::string bytes;
  const Expected<ResponseHead, NoAnswer> answer =
      co_await read_answer_head(*stream, /*to_head=*/false, bytes);
  pool_.note(*stream, answer.has_value());
  took_ = pool_.deadlines().now() - sent_at;
  if (!answer) co_return lost(answer.error());
  Expected<std::string, BodyTrouble> body = co_await read_body(*stream, *answer);
  took_ = pool_.deadlines().now() - sent_at;
  if (!body) co_return lost(body.error());
  const bool says_its_end = answer->framing != Framing::until_close || stream->is_tls() ||
                            options_.until_close == UntilClose::accept;
  if (!says_its_end && (spool_ || !is_whole_json(*answer, *body))) {
    co_return lost(Lost::How::reset, "the answer ended with the connection: it may be cut off");
  }
  Answered answered;
  answered.response.status = answer->status;
  answered.response.headers = end_to_end(*answer);
  answered.response.body = std::move(*body);
  answered.withheld = spool_ != nullptr;
  // Bytes after the answer are nobody's, and a body that was most likely not read would be taken
  // for the next request: such a connection is not used again. (One that was answered well may
  // still be unread: `carried_for`.)
  const bool body_was_read = writer_.body().empty() || answer->status < 400;
  const bool reusable =
      answer->keep_alive && sent.io == Io::ok && stream->arrived().empty() && body_was_read;
  if (reusable) pool_.keep(std::move(stream));
  co_return answered;
}

bool UpstreamCall::has_room_for(std::size_t bytes) {
  const std::size_t held = copies * bytes;
  return held <= options_.paid || memory_.cover(held - options_.paid, MemoryUse::admitted);
}

// In memory as far as that goes; the whole of a larger one in the spool.
Task<Expected<std::string, BodyTrouble>> UpstreamCall::read_body(Stream& stream,
                                                                 const ResponseHead& answer) {
  BodyReader reader(stream, answer.framing, answer.length);
  std::size_t held_max = options_.held_bytes_max;
  const bool verifies = answer.framing == Framing::until_close &&
                        options_.until_close == UntilClose::verify && names_json(answer);
  if (verifies) held_max = std::max(held_max, verified_bytes_max);
  const bool has_length = answer.framing == Framing::length && answer.length <= held_max;
  const bool fits = answer.framing == Framing::none || (has_length && has_room_for(answer.length));
  if (fits || options_.large == Large::refused) co_return co_await reader.read_whole(held_max);
  const std::size_t all = has_length ? answer.length : held_max;
  std::string held;
  for (;;) {
    const Expected<std::string_view, BodyTrouble> piece = co_await reader.next();
    if (!piece) co_return Unexpected{piece.error()};
    if (piece->empty()) break;
    const std::size_t size = held.size() + piece->size();
    if (!spool_ && (size > held_max || !has_room_for(charged_for(size, all)))) {
      spool_ = std::make_shared<Spool>();
      spool_->append(held);
      held = {};
      memory_.resize(0, MemoryUse::admitted);
    }
    if (!spool_) {
      held.append(*piece);
      continue;
    }
    if (spool_->size() > spool_bytes_max) co_return Unexpected{too_large(spool_bytes_max)};
    spool_->append(*piece);
  }
  if (!spool_ || spool_->size() > held_max) co_return held;
  co_return co_await take_back();
}

// It is in the spool for want of memory alone: with some patience it can be stored.
Task<std::string> UpstreamCall::take_back() {
  const auto size = static_cast<std::size_t>(spool_->size());
  const BootTime until = pool_.deadlines().now() + options_.room_wait;
  while (!has_room_for(size)) {
    if (pool_.deadlines().now() >= until || !spool_->whole()) co_return std::string();
    co_await pool_.deadlines().sleep(room_wait_step);
  }
  std::string body(size, '\0');
  std::size_t got = 0;
  for (std::size_t more = 1; more > 0 && got < size; got += more) {
    more = spool_->read(got, body.data() + got, size - got);
  }
  if (got < size) co_return std::string();
  spool_.reset();
  co_return body;
}

}  // namespace pawl::http
