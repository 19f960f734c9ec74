// Who knows what became of a request or a message, and where messages go: the provider's books, a
// second way to them that a change of the configuration brings, and the destination of the outbox.
#pragma once

#include "src/ports/destination.hpp"
#include "src/workers/async_worker.hpp"
#include "src/workers/sources.hpp"
#include "tests/sim/upstream.hpp"

namespace pawl::sim {

inline constexpr const char* bank_name = "bank";
inline constexpr const char* foreign_name = "card";
inline constexpr const char* receipts_name = "receipts";

// What a question meets on its way.
class Asking {
 public:
  Asking(Outside& outside, Process& process, const NodeClock& clock)
      : outside_(outside), process_(process), clock_(clock) {}

 protected:
  // `finding` is what the books said when they were asked; they may answer late, or not at all.
  Task<SourceReply> answered(SourceFinding finding, BootTime deadline);

  Outside& outside_;
  Process& process_;
  const NodeClock& clock_;
};

// The provider, by the key that it was sent.
class Bank final : public Source, private Asking {
 public:
  using Asking::Asking;
  Task<SourceReply> ask(SourceQuestion question, BootTime deadline) override;
};

// The same provider by another key. What went out under the first one it has never seen, and says
// so, or takes another request's refusal for it. Cases know who was named first.
class OtherBank final : public Source, private Asking {
 public:
  using Asking::Asking;
  Task<SourceReply> ask(SourceQuestion question, BootTime deadline) override;
};

// Who the outbox's messages go to: it is asked by the derived key.
class ReceiptsBooks final : public Source, private Asking {
 public:
  using Asking::Asking;
  Task<SourceReply> ask(SourceQuestion question, BootTime deadline) override;
};

class Receipts final : public Destination {
 public:
  Receipts(Outside& outside, Process& process, const NodeClock& clock)
      : outside_(outside), process_(process), clock_(clock) {}

  [[nodiscard]] std::string unsendable(const OutboxRow&) const override { return {}; }
  Task<CallResult> send(const OutboxRow& row, const std::function<Instant()>& now, SendGate& gate,
                        BootTime deadline) override;

 private:
  Outside& outside_;
  Process& process_;
  const NodeClock& clock_;
};

// Today's configuration: in some worlds the route's source is renamed under way.
class SimSources final : public workers::SourceDirectory {
 public:
  SimSources(Outside& outside, Process& process, const NodeClock& clock);

  [[nodiscard]] workers::SharedSource source_of(const Record& record) const override;
  [[nodiscard]] bool speaks_for(const std::string& source, const Scope& scope) const override;
  [[nodiscard]] SettleOptions settle_options(const Record&) const override { return {}; }
  [[nodiscard]] const workers::SourceSettings& receipts() const { return receipts_; }

 private:
  Outside& outside_;
  Bank bank_source_;
  OtherBank other_source_;
  ReceiptsBooks receipts_source_;
  workers::SourceSettings bank_;
  workers::SourceSettings other_;
  workers::SourceSettings receipts_;
  std::optional<Duration> renamed_at_;
};

// Accepted requests, as the async worker sends them.
class SimCalls final : public workers::StoredCalls {
 public:
  SimCalls(Outside& outside, Process& process, const NodeClock& clock, std::string who)
      : outside_(outside), process_(process), clock_(clock), who_(std::move(who)) {}

  [[nodiscard]] SettleOptions settle_options(const Record&) const override { return {}; }
  std::unique_ptr<workers::StoredCall> call_for(const Record& record) override;

 private:
  Outside& outside_;
  Process& process_;
  const NodeClock& clock_;
  std::string who_;
};

}  // namespace pawl::sim
