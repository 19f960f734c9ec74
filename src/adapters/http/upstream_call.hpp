// One guarded request to the upstream: sent once, with evidence of how far it got.
#pragma once

#include <memory>
#include <string>

#include "src/adapters/http/body.hpp"
#include "src/adapters/http/spool.hpp"
#include "src/adapters/http/upstream_pool.hpp"
#include "src/ports/memory_budget.hpp"
#include "src/ports/upstream.hpp"

namespace pawl::http {

// What is made of an answer that ends with its connection, where nothing says that it is whole.
enum class UntilClose {
  verify,  // no answer, unless it is JSON that has an end, or the end was said over TLS
  accept,  // whole, if the connection ended in order
};

// What is made of an answer that is larger than `held_bytes_max`.
enum class Large {
  refused,  // no answer
  spooled,  // read to its end; `spool` has its body
};

struct CallOptions {
  Duration connect_timeout = std::chrono::seconds(5);
  Duration idle_max = std::chrono::seconds(1);  // a kept connection may have been idle this long
  UntilClose until_close = UntilClose::verify;
  Large large = Large::refused;
  std::size_t held_bytes_max = std::size_t{64} << 20;
  // What an answer is charged to, beyond `paid` bytes: as many copies of it as there are while it
  // is recorded. One that there is no room for is put into the spool, until there is, for
  // `room_wait` at most. Null: none.
  MemoryBudget* memory = nullptr;
  std::size_t paid = 0;
  Duration room_wait = std::chrono::seconds(2);
  // On whose behalf: a connection that has carried one sender's body is no other's. Empty where all
  // that is sent over the pool is our own.
  std::string sender;
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
      : pool_(pool), writer_(writer), options_(std::move(options)), memory_(options_.memory) {}

  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override;

  // When the first byte went out and how long the answer took; zero if none did.
  [[nodiscard]] Duration took() const { return took_; }

  // The body of an answer that is `withheld`.
  [[nodiscard]] std::shared_ptr<const Spool> spool() const { return spool_; }

  // What the answer is charged: whoever holds the answer holds this as well.
  Charge take_memory() { return std::move(memory_); }

 private:
  Task<Outcome> exchange(std::unique_ptr<Stream> stream, const Record& attempt);
  Task<Expected<std::string, BodyTrouble>> read_body(Stream& stream, const ResponseHead& answer);
  bool has_room_for(std::size_t bytes);
  Task<std::string> take_back();

  UpstreamPool& pool_;
  RequestWriter& writer_;
  CallOptions options_;
  Charge memory_;
  std::shared_ptr<Spool> spool_;
  Duration took_{0};
};

}  // namespace pawl::http
