#include "src/adapters/http/pass_through.hpp"

#include <algorithm>
#include <cstdio>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

constexpr std::string_view pawl_outcome = "Pawl-Outcome";

using Parts = std::array<std::string_view, 2>;

Passed trouble(Problem problem, int status, Outcome outcome) {
  Passed passed;
  passed.status = status;
  passed.evidence = evidence_of(outcome);
  passed.outcome = std::move(outcome);
  passed.problem = ProblemDetails{problem, "", status, std::nullopt};
  return passed;
}

Passed cut_off() {
  Passed passed;
  passed.evidence = Evidence::sent;
  passed.outcome = Lost{Lost::How::reset, {}};
  return passed;
}

Passed refused(Refusal refusal) {
  Passed passed = cut_off();
  passed.problem =
      ProblemDetails{refusal.problem, std::move(refusal.detail), refusal.status, std::nullopt};
  return passed;
}

Answered answered(const ResponseHead& answer) {
  Answered answered;
  answered.response.status = answer.status;
  for (const Field& field : answer.fields) {
    const bool counts = same_word(field.name, "Retry-After") || same_word(field.name, pawl_outcome);
    if (!counts) continue;
    answered.response.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  return answered;
}

std::string chunk_head(std::size_t bytes) {
  char text[20];
  const int length = std::snprintf(text, sizeof text, "%zx\r\n", bytes);
  return {text, static_cast<std::size_t>(length)};
}

// Methods whose body every server expects.
bool is_usual(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

// A server that did not expect a body, or refused the request before reading it, may take the body
// for the next request.
bool was_surely_read(const RequestHead& head, int status) {
  return !has_body(head) || (is_usual(head.method) && status < 400);
}

std::string request_head(const ClientRequest& request, const PassOptions& options,
                         std::string_view default_host) {
  std::string out;
  out.reserve(1024);
  ForwardOptions forward;
  forward.pseudonym = options.pseudonym;
  forward.client = request.hop;
  forward.default_host = default_host;
  forward.forbidden = options.forbidden;
  forward.only_as_spelled = options.only_as_spelled;
  forward.scheme = request.scheme();
  append_request(out, request.head, forward);
  if (!options.request_id.empty()) append_field(out, "Pawl-Request-Id", options.request_id);
  switch (request.head.framing) {
    case Framing::length:
      if (request.head.length == 0 && !is_usual(request.head.method)) break;
      append_field(out, "Content-Length", std::to_string(request.head.length));
      break;
    case Framing::chunked: append_field(out, "Transfer-Encoding", "chunked"); break;
    case Framing::none:
    case Framing::until_close: break;
  }
  // A server that does not read the body ends the connection rather than taking it for a request.
  if (has_body(request.head) && !is_usual(request.head.method)) {
    append_field(out, "Connection", "close");
  }
  out += "\r\n";
  return out;
}

// The client's body, piece by piece. Only the time spent on the upstream counts against it.
enum class Copied { all, client_failed, upstream_failed };
Task<Copied> copy_request_body(ClientRequest& request, Stream& upstream, const PassOptions& options,
                               BodyTrouble& trouble) {
  const bool chunked = request.head.framing == Framing::chunked;
  for (;;) {
    const Expected<std::string_view, BodyTrouble> piece = co_await request.next_piece();
    if (!piece) {
      trouble = piece.error();
      co_return Copied::client_failed;
    }
    if (piece->empty()) break;
    if (options.watch != nullptr) options.watch->piece(*piece);
    upstream.expires_at(upstream.now() + options.timeout);
    const std::string head = chunked ? chunk_head(piece->size()) : std::string();
    Parts parts{head, *piece};
    Stream::Sent sent = co_await upstream.write(parts);
    if (sent.io == Io::ok && chunked) {
      parts = {"\r\n", {}};
      sent = co_await upstream.write(parts);
    }
    if (sent.io != Io::ok) co_return Copied::upstream_failed;
    upstream.expires_never();
  }
  if (options.watch != nullptr) options.watch->whole();
  if (!chunked) co_return Copied::all;
  const Parts last{"0\r\n\r\n", {}};
  upstream.expires_at(upstream.now() + options.timeout);
  const Stream::Sent sent = co_await upstream.write(last);
  co_return sent.io == Io::ok ? Copied::all : Copied::upstream_failed;
}

// The length that this answer may name: of its body, or of the body it would have had.
std::optional<std::uint64_t> length_of(const ResponseHead& answer) {
  if (answer.framing == Framing::length) return answer.length;
  if (answer.framing != Framing::none || answer.status == 204) return std::nullopt;
  const std::optional<std::string_view> named = find(answer.fields, "Content-Length");
  return named ? read_decimal(*named) : std::nullopt;
}

// The first part of the answer: its head, with framing that this client understands.
std::string answer_head(const ResponseHead& answer, ClientRequest& request, bool& chunked) {
  std::string out;
  out.reserve(1024);
  append_status_line(out, answer.status);
  bool dated = false;
  for (const Field& field : answer.fields) {
    if (is_hop_by_hop(field.name, answer.connection)) continue;
    if (same_word(field.name, "Content-Length")) continue;
    if (same_word(field.name, pawl_outcome)) continue;  // for us, though nobody asked here
    if (same_word(field.name, "Date")) dated = true;
    append_field(out, field.name, field.value);
  }
  if (!dated) append_date(out);
  if (const std::optional<std::uint64_t> length = length_of(answer)) {
    append_field(out, "Content-Length", std::to_string(*length));
  }
  if (!request.body_done()) request.close_after();
  chunked = answer.framing == Framing::chunked || answer.framing == Framing::until_close;
  if (chunked && request.head.minor_version == 0) {
    chunked = false;  // HTTP/1.0 knows the end of a body by the end of the connection
    request.close_after();
  }
  if (chunked) append_field(out, "Transfer-Encoding", "chunked");
  if (request.will_close()) append_field(out, "Connection", "close");
  out += "\r\n";
  return out;
}

// The answer, piece by piece. A cut-off answer must look cut off: the client's connection ends.
Task<Copied> copy_answer(const ResponseHead& answer, Stream& upstream, ClientRequest& request,
                         const PassOptions& options) {
  bool chunked = false;
  std::string pending = answer_head(answer, request, chunked);
  BodyReader body(upstream, answer.framing, answer.length);
  for (;;) {
    upstream.expires_at(upstream.now() + options.timeout);
    const Expected<std::string_view, BodyTrouble> piece = co_await body.next();
    upstream.expires_never();
    if (!piece) {
      const Parts head_only{pending, {}};
      request.stream().expires_at(upstream.now() + request.limits().write_timeout);
      co_await request.stream().write(head_only);
      const bool ends_by_close = !chunked && answer.framing != Framing::length;
      if (ends_by_close) request.stream().reset();
      co_return Copied::upstream_failed;
    }
    if (options.watch != nullptr && body.arrived()) options.watch->ended(answered(answer));
    const bool last = piece->empty();
    if (chunked && !last) pending += chunk_head(piece->size());
    if (chunked && last) pending += "0\r\n\r\n";
    if (pending.empty() && last) co_return Copied::all;
    request.stream().expires_at(upstream.now() + request.limits().write_timeout);
    const Parts parts{pending, *piece};
    const Stream::Sent sent = co_await request.stream().write(parts);
    if (sent.io != Io::ok) co_return Copied::client_failed;
    request.stream().expires_never();
    if (last) co_return Copied::all;
    pending = chunked ? "\r\n" : "";
  }
}

bool may_be_sent_again(const RequestHead& head) {
  static constexpr std::array idempotent{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
  return head.framing == Framing::none &&
         std::ranges::find(idempotent, head.method) != idempotent.end();
}

Task<Passed> pass(ClientRequest& request, UpstreamPool& pool, const PassOptions& options) {
  const std::string head = request_head(request, options, pool.authority());
  const bool to_head = request.head.method == "HEAD";
  for (bool first_try = true;; first_try = false) {
    std::unique_ptr<Stream> upstream =
        first_try ? pool.reuse(options.idle_max, options.sender) : nullptr;
    const bool kept = upstream != nullptr;
    if (!kept) {
      const BootTime connect_by = pool.deadlines().now() + options.connect_timeout;
      auto fresh = co_await pool.connect(connect_by);
      if (!fresh) {
        co_return trouble(Problem::upstream_unreachable, 502, NotSent{fresh.error()});
      }
      upstream = std::move(*fresh);
    }
    if (has_body(request.head)) upstream->carried_for = options.sender;
    upstream->expires_at(upstream->now() + options.timeout);
    const Parts parts{head, {}};
    const Stream::Sent sent = co_await upstream->write(parts);
    Copied copied = Copied::all;
    BodyTrouble body_trouble;
    if (sent.io == Io::ok) {
      copied = co_await copy_request_body(request, *upstream, options, body_trouble);
    }
    if (copied == Copied::client_failed) {  // what arrived there is cut off: it ends with us
      if (std::optional<Refusal> refusal = refusal_of(std::move(body_trouble))) {
        request.close_after();
        request.stream().revive();
        co_return refused(std::move(*refusal));
      }
      request.fail();
      co_return cut_off();
    }
    upstream->expires_at(upstream->now() + options.timeout);
    std::string bytes;
    const Expected<ResponseHead, NoAnswer> answer =
        co_await read_answer_head(*upstream, to_head, bytes);
    if (!answer) {
      const NoAnswer& none = answer.error();
      const bool stale = kept && none.nothing_arrived && none.trouble == AnswerTrouble::cut_off;
      if (stale && may_be_sent_again(request.head)) continue;
      if (!stale) pool.note(*upstream, false);
      switch (none.trouble) {
        case AnswerTrouble::timed_out:
          co_return trouble(Problem::outcome_unknown, 504, Lost{Lost::How::timeout, none.why});
        case AnswerTrouble::cut_off:
        case AnswerTrouble::malformed: break;
      }
      co_return trouble(Problem::bad_upstream_response, 502,
                        Lost{Lost::How::bad_response, none.why});
    }
    pool.note(*upstream, true);
    Passed passed;
    passed.status = answer->status;
    passed.evidence = Evidence::answered;
    const Copied given = co_await copy_answer(*answer, *upstream, request, options);
    const bool whole = given == Copied::all;
    if (!whole) request.fail();
    // A client that hangs up changes nothing about what the upstream has done.
    if (given == Copied::upstream_failed) {
      passed.outcome = Lost{Lost::How::reset, "the answer was cut off"};
    } else {
      passed.outcome = answered(*answer);
    }
    const bool reusable = whole && answer->keep_alive && sent.io == Io::ok &&
                          copied == Copied::all && upstream->arrived().empty() &&
                          was_surely_read(request.head, answer->status);
    if (reusable) pool.keep(std::move(upstream));
    co_return passed;
  }
}

}  // namespace

Task<Passed> pass_through(ClientRequest& request, UpstreamPool& pool, PassOptions options) {
  Passed passed = co_await pass(request, pool, options);
  if (options.watch != nullptr) options.watch->ended(passed.outcome);
  co_return passed;
}

}  // namespace pawl::http
