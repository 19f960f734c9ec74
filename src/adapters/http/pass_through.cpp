#include "src/adapters/http/pass_through.hpp"

#include <algorithm>
#include <cstdio>

#include "src/adapters/http/forwarding.hpp"

namespace pawl::http {
namespace {

using Parts = std::array<std::string_view, 2>;

Passed trouble(Problem problem, int status, std::string detail, Evidence evidence) {
  Passed passed;
  passed.status = status;
  passed.evidence = evidence;
  passed.problem = ProblemDetails{problem, std::move(detail), status, std::nullopt};
  return passed;
}

std::string chunk_head(std::size_t bytes) {
  char text[20];
  const int length = std::snprintf(text, sizeof text, "%zx\r\n", bytes);
  return {text, static_cast<std::size_t>(length)};
}

std::string request_head(const ClientRequest& request, const PassOptions& options) {
  std::string out;
  out.reserve(1024);
  ForwardOptions forward;
  forward.pseudonym = options.pseudonym;
  forward.client = request.client;
  append_request(out, request.head, forward);
  switch (request.head.framing) {
    case Framing::length:
      append_field(out, "Content-Length", std::to_string(request.head.length));
      break;
    case Framing::chunked: append_field(out, "Transfer-Encoding", "chunked"); break;
    case Framing::none:
    case Framing::until_close: break;
  }
  out += "\r\n";
  return out;
}

// The client's body, piece by piece. False: it cannot be completed.
enum class Copied { all, client_failed, upstream_failed };
Task<Copied> copy_request_body(ClientRequest& request, Stream& upstream,
                               const PassOptions& options) {
  const bool chunked = request.head.framing == Framing::chunked;
  for (;;) {
    const Expected<std::string_view, BodyTrouble> piece = co_await request.next_piece();
    if (!piece) co_return Copied::client_failed;
    if (piece->empty()) break;
    upstream.expires_at(upstream.now() + options.timeout);
    const std::string head = chunked ? chunk_head(piece->size()) : std::string();
    Parts parts{head, *piece};
    Stream::Sent sent = co_await upstream.write(parts);
    if (sent.io == Io::ok && chunked) {
      parts = {"\r\n", {}};
      sent = co_await upstream.write(parts);
    }
    upstream.expires_never();  // from here on it waits for the client
    if (sent.io != Io::ok) co_return Copied::upstream_failed;
  }
  if (!chunked) co_return Copied::all;
  upstream.expires_at(upstream.now() + options.timeout);
  const Parts last{"0\r\n\r\n", {}};
  const Stream::Sent sent = co_await upstream.write(last);
  co_return sent.io == Io::ok ? Copied::all : Copied::upstream_failed;
}

// The first part of the answer: its head, with framing that this client understands.
std::string answer_head(const ResponseHead& answer, ClientRequest& request, bool& chunked) {
  std::string out;
  out.reserve(1024);
  append_status_line(out, answer.status);
  bool dated = false;
  for (const Field& field : answer.fields) {
    if (is_hop_by_hop(field.name, answer.connection)) continue;
    if (same_field_name(field.name, "Date")) dated = true;
    if (same_field_name(field.name, "Content-Length") && answer.framing == Framing::until_close) {
      continue;
    }
    append_field(out, field.name, field.value);
  }
  if (!dated) append_date(out);
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
Task<bool> copy_answer(const ResponseHead& answer, Stream& upstream, ClientRequest& request,
                       const PassOptions& options) {
  bool chunked = false;
  std::string pending = answer_head(answer, request, chunked);
  BodyReader body(upstream, answer.framing, answer.length);
  for (;;) {
    upstream.expires_at(upstream.now() + options.timeout);
    const Expected<std::string_view, BodyTrouble> piece = co_await body.next();
    upstream.expires_never();  // from here on it waits for the client
    if (!piece) {
      request.stream().expires_at(upstream.now() + request.limits().write_timeout);
      const Parts head_only{pending, {}};
      co_await request.stream().write(head_only);
      co_return false;
    }
    const bool last = piece->empty();
    if (chunked && !last) pending += chunk_head(piece->size());
    if (chunked && last) pending += "0\r\n\r\n";
    if (pending.empty() && last) co_return true;
    request.stream().expires_at(upstream.now() + request.limits().write_timeout);
    const Parts parts{pending, *piece};
    const Stream::Sent sent = co_await request.stream().write(parts);
    request.stream().expires_never();  // from here on it waits for the upstream
    if (sent.io != Io::ok) co_return false;
    if (last) co_return true;
    pending = chunked ? "\r\n" : "";
  }
}

bool may_be_sent_again(const RequestHead& head) {
  static constexpr std::array idempotent{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
  return head.framing == Framing::none &&
         std::ranges::find(idempotent, head.method) != idempotent.end();
}

}  // namespace

Task<Passed> pass_through(ClientRequest& request, UpstreamPool& pool, PassOptions options) {
  const std::string head = request_head(request, options);
  const bool to_head = request.head.method == "HEAD";
  for (bool first_try = true;; first_try = false) {
    std::unique_ptr<Stream> upstream = first_try ? pool.reuse(options.idle_max) : nullptr;
    const bool kept = upstream != nullptr;
    if (!kept) {
      const BootTime connect_by = pool.deadlines().now() + options.connect_timeout;
      auto fresh = co_await pool.connect(connect_by);
      if (!fresh) {
        co_return trouble(Problem::upstream_unreachable, 502, {}, Evidence::not_sent);
      }
      upstream = std::move(*fresh);
    }
    upstream->expires_at(upstream->now() + options.timeout);
    const Parts parts{head, {}};
    const Stream::Sent sent = co_await upstream->write(parts);
    upstream->expires_never();
    Copied copied = Copied::all;
    if (sent.io == Io::ok) copied = co_await copy_request_body(request, *upstream, options);
    if (copied == Copied::client_failed) {  // what arrived there is cut off: it ends with us
      request.fail();
      Passed passed;
      passed.evidence = Evidence::sent;
      co_return passed;
    }
    upstream->expires_at(upstream->now() + options.timeout);
    std::string bytes;
    const Expected<ResponseHead, NoAnswer> answer =
        co_await read_answer_head(*upstream, to_head, bytes);
    if (!answer) {
      const NoAnswer& none = answer.error();
      const bool stale = kept && none.nothing_arrived && none.trouble == AnswerTrouble::cut_off;
      if (stale && may_be_sent_again(request.head)) continue;
      switch (none.trouble) {
        case AnswerTrouble::timed_out:
          co_return trouble(Problem::outcome_unknown, 504, "The service did not answer in time.",
                            Evidence::sent);
        case AnswerTrouble::cut_off:
        case AnswerTrouble::malformed: break;
      }
      co_return trouble(Problem::bad_upstream_response, 502, {}, Evidence::sent);
    }
    Passed passed;
    passed.status = answer->status;
    passed.evidence = Evidence::answered;
    const bool whole = co_await copy_answer(*answer, *upstream, request, options);
    if (!whole) request.fail();
    const bool reusable = whole && answer->keep_alive && sent.io == Io::ok &&
                          copied == Copied::all && upstream->arrived().empty();
    if (reusable) pool.keep(std::move(upstream));
    co_return passed;
  }
}

}  // namespace pawl::http
