#include "tests/sim/sources.hpp"

#include "src/reconcile/event.hpp"
#include "tests/sim/outbox.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

// How long the books that are asked by key lag behind what happened.
constexpr Duration visibility = 8s;
constexpr Duration receipts_visibility = 6s;
constexpr Duration timeout = 5s;

reconcile::Patience patience_of(std::uint64_t seed) {
  Stream stream(seed, "patience");
  reconcile::Patience patience;
  patience.visibility_window = visibility;
  patience.absent_confirmations = stream.one_in(2) ? 1 : 2;
  patience.max_attempts = stream.one_in(3) ? 3 : 20;
  patience.backoff = 2s;
  patience.backoff_max = 15s;
  return patience;
}

SourceFinding looked_up(Outside& outside, const SourceQuestion& question) {
  const Identity identity{question.scope, question.key};
  const Ledger::Entry* entry = outside.ledger.find(
      outside.checker, identity, question.record->fence, outside.scheduler.now() - visibility);
  if (entry == nullptr) return SourceNeverSeen{};
  return SourceFound{entry->response, reconcile::is_success(entry->response.status)};
}

}  // namespace

Task<SourceReply> Asking::answered(SourceFinding finding, BootTime deadline) {
  Stream stream(outside_.seed, "question", ++outside_.questions);
  const bool slow = outside_.chaos.strikes(Fault::source_slow, stream);
  const bool fails = outside_.chaos.strikes(Fault::source_fails, stream);
  const bool still = outside_.chaos.strikes(Fault::source_still, stream);
  const bool hopeless = stream.one_in(20);
  const Duration longest = slow ? Duration(timeout * 2) : Duration(40ms);
  const Duration answer = outside_.scheduler.now() + stream.between(1ms, longest);
  const Duration latest = clock_.true_time(deadline);
  const Process::Ticket asked = process_.ticket();
  process_.wake(asked, std::min(answer, latest), "provider.lookup");
  co_await process_.park(asked);
  SourceReply reply{std::move(finding), "answered"};
  if (answer > latest) reply.finding = SourceFailed{"no answer in time"};
  if (fails) reply.finding = SourceFailed{"it answers 503", hopeless};
  if (still && !fails) reply.finding = SourceStill{"it is working on it"};
  co_return reply;
}

Task<SourceReply> Bank::ask(SourceQuestion question, BootTime deadline) {
  SourceFinding finding = looked_up(outside_, question);
  return answered(std::move(finding), deadline);
}

Task<SourceReply> OtherBank::ask(SourceQuestion question, BootTime deadline) {
  const StoreResult<std::optional<Case>> about =
      outside_.server.run(outside_.server.cases().find(question.scope, question.key));
  const bool named = about && *about && (*about)->source != bank_name;
  SourceFinding finding = SourceNeverSeen{};
  if (named) {
    finding = looked_up(outside_, question);
  } else if (question.record->fence.number % 3 == 0) {
    finding = SourceFound{{.status = 402, .headers = {}, .body = "{\"of\":\"another\"}"}, false};
  }
  return answered(std::move(finding), deadline);
}

Task<SourceReply> ReceiptsBooks::ask(SourceQuestion question, BootTime deadline) {
  SourceFinding finding = SourceNeverSeen{};
  if (outside_.outbox.has(question.derived_key, outside_.scheduler.now() - receipts_visibility)) {
    finding = SourceFound{{.status = 200, .headers = {}, .body = ""}, true};
  }
  return answered(std::move(finding), deadline);
}

SimSources::SimSources(Outside& outside, Process& process, const NodeClock& clock)
    : outside_(outside),
      bank_source_(outside, process, clock),
      other_source_(outside, process, clock),
      receipts_source_(outside, process, clock),
      bank_{bank_name, bank_name, timeout, patience_of(outside.seed), &bank_source_},
      other_{bank_name, "bank by derived key", timeout, patience_of(outside.seed), &other_source_},
      receipts_{receipts_name, receipts_name, timeout,
                reconcile::Patience{.visibility_window = receipts_visibility,
                                    .absent_confirmations = 1,
                                    .max_attempts = 20,
                                    .backoff = 2s,
                                    .backoff_max = 15s},
                &receipts_source_} {
  Stream stream(outside.seed, "renaming");
  const Duration when = stream.between(30s, 150s);
  if (stream.one_in(4)) renamed_at_ = when;
}

workers::SharedSource SimSources::source_of(const Record&) const {
  const bool renamed = renamed_at_ && *renamed_at_ <= outside_.scheduler.now();
  return workers::lasting(renamed ? other_ : bank_);
}

bool SimSources::speaks_for(const std::string& source, const Scope& scope) const {
  return source != foreign_name || scope.text == "bob";
}

}  // namespace pawl::sim
