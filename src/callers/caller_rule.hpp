// One way to know a caller, by the head of a request and where it came from.
//
// A rule is shared by all threads, and has everything it needs from its constructor: another one
// may take its place between two requests, and those that were begun end with the one they began
// with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/http.hpp"
#include "src/adapters/http/head.hpp"
#include "src/adapters/http/server_tls.hpp"
#include "src/config/address.hpp"
#include "src/core/render.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/task.hpp"

namespace pawl::callers {

// What is known of a client before its body is read.
struct ClientView {
  const http::RequestHead& head;
  std::string_view peer;  // the address that the connection came from, whatever a proxy says
  const http::ClientCertificate* certificate = nullptr;  // where it showed one, and it is good
};

struct KnownCaller {
  std::string name;                  // whose keys it uses
  std::optional<Instant> issued_at;  // of its token, where it has one that says
};

using Identified = Expected<KnownCaller, ProblemDetails>;

// How an answer may end. `stated`: it says so itself, else it may be cut off. `by_closing`: also
// with its connection, where only its head counts.
enum class AnswerEnd { stated, by_closing };

// Programs that are asked over HTTP, by one thread.
class Endpoints {
 public:
  virtual ~Endpoints() = default;
  // The whole answer to a GET, or why there is none. `headers` are sent besides Host.
  virtual Task<Expected<Response, std::string>> get(config::Endpoint endpoint, Headers headers,
                                                    Duration timeout, AnswerEnd end) = 0;
  virtual Clock& clock() = 0;
};

class CallerRule {
 public:
  virtual ~CallerRule() = default;

  // Without waiting for anything. Nothing: somebody else must be asked first, by `ask`.
  virtual std::optional<Identified> identify(const ClientView& client, BootTime now) = 0;

  // `client` outlives it.
  virtual Task<Identified> ask(ClientView client, Endpoints& endpoints);

  // The headers in which credentials come, or which make the caller.
  [[nodiscard]] virtual std::vector<std::string> headers() const { return {}; }

  // A header that this client may not send: it is removed from what passes. Empty: none.
  [[nodiscard]] virtual std::string_view forbidden_header(std::string_view /*peer*/) const {
    return {};
  }
  // A header that names the caller to the upstream: no other spelling of it passes. Empty: none.
  [[nodiscard]] virtual std::string_view naming_header() const { return {}; }
};

// A scope is made of it, and stores index scopes.
inline constexpr std::size_t name_bytes_max = 256;
bool may_be_name(std::string_view text);

// The one value of that header, or none; a problem where the upstream may see another one.
Expected<std::optional<std::string_view>, ProblemDetails> credential_in(
    const http::RequestHead& head, std::string_view header);

// "Bearer TOKEN" without its first word, which is written in any case; else nothing.
std::optional<std::string_view> bearer_in(std::string_view credential);

// 401. `challenge`: how to be known (WWW-Authenticate); `detail` may be empty.
Identified unauthenticated(std::string challenge, std::string detail = {});
// 503: it cannot be known now, so it is not served.
Identified not_known_now(std::string detail);

}  // namespace pawl::callers
