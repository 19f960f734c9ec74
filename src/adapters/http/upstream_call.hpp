// One guarded request to the upstream: sent once, with evidence of how far it got.
#pragma once

#include <string>

#include "pawl/ports/upstream.hpp"
#include "src/adapters/http/upstream_pool.hpp"

namespace pawl::http {

struct CallOptions {
  Duration connect_timeout = std::chrono::seconds(5);
  Duration idle_max = std::chrono::seconds(1);  // a kept connection may have been idle this long
};

// What is sent, given the attempt it is sent under: its fields may name the fence.
class RequestWriter {
 public:
  virtual ~RequestWriter() = default;
  // The head up to and including the empty line.
  virtual std::string head(const Record& attempt) = 0;
  [[nodiscard]] virtual std::string_view body() const = 0;
};

class UpstreamCall final : public Upstream {
 public:
  UpstreamCall(UpstreamPool& pool, RequestWriter& writer, CallOptions options)
      : pool_(pool), writer_(writer), options_(options) {}

  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override;

  // When the first byte went out and how long the answer took; zero if none did.
  [[nodiscard]] Duration took() const { return took_; }

 private:
  Task<Outcome> exchange(std::unique_ptr<Stream> stream, const Record& attempt);

  UpstreamPool& pool_;
  RequestWriter& writer_;
  CallOptions options_;
  Duration took_{0};
};

}  // namespace pawl::http
