// What a proxy changes about a message on its way (RFC 9110 section 7.6), and how heads are
// written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/http.hpp"
#include "src/adapters/http/head.hpp"

namespace pawl::http {

// A field that belongs to one connection, by its name or because Connection lists it.
bool is_hop_by_hop(std::string_view name, const std::vector<std::string>& connection);

// Who we are towards the upstream.
struct ForwardOptions {
  std::string_view pseudonym;  // in Via; another node's differs, so that a loop is seen
  // For X-Forwarded-For and Forwarded: the address that the connection is from. Empty: those that
  // came say it already.
  std::string_view client;
  std::string_view default_host;     // for an HTTP/1.0 request that named none
  std::string_view scheme = "http";  // that the client came by
  // A field that this client may not send, under any name that some take for it; empty: none.
  std::string_view forbidden = {};
  // A field that is forwarded under this name alone, and under none that some take for it.
  std::string_view only_as_spelled = {};
  bool names_key = true;           // false: the Idempotency-Key is given in `extra`
  const Headers* extra = nullptr;  // added at the end
};

// Appends the request line and all fields that are forwarded, without framing and without the
// empty line. What some upstreams take for another method or path than the request line's is
// dropped: it would execute something else than was routed and hashed.
void append_request(std::string& out, const RequestHead& head, const ForwardOptions& options);

// True if the request has passed through `pseudonym` before.
bool is_loop(const RequestHead& head, std::string_view pseudonym);

// The end-to-end fields of an upstream's answer, without Content-Length.
Headers end_to_end(const ResponseHead& head);

// "HTTP/1.1 200 OK\r\n"
void append_status_line(std::string& out, int status);
void append_field(std::string& out, std::string_view name, std::string_view value);
// The field Date, now.
void append_date(std::string& out);

// A whole answer's head. Framing and hop-by-hop fields are ours; of the answer's own, only what is
// a field on the wire is written: it may have been stored by others, long ago.
struct AnswerOptions {
  bool keep_alive = true;
  std::optional<std::uint64_t> length = std::nullopt;  // of a body that is not in the answer
};
void append_answer_head(std::string& out, const Response& response, const AnswerOptions& options);

}  // namespace pawl::http
