// Asking a source what became of a record, and what its answer is worth.
#include "src/reconcile/event.hpp"
#include "src/workers/reconciler.hpp"

namespace pawl::workers {
namespace {

using reconcile::LookupResult;

std::string but_another(const Case& about) {
  return "; but the route named \"" + about.source +
         "\" when the outcome became unknown, and what another source does not have proves nothing";
}

// "answered 404: never seen"
std::string heard_as(const std::string& said, const std::string& what) {
  return said.empty() ? what : said + ": " + what;
}

// The route named another source when the record became unknown: that one has seen it, if any
// has.
bool is_another(const SourceSettings& source, const Case& taken) {
  return taken.source != source.name_in_case;
}

}  // namespace

Task<bool> Reconciler::settle_by_asking(Inquiry& inquiry) {
  if (inquiry.source == nullptr) {
    inquiry.heard = "its route names no source to ask";
    co_return false;
  }
  const SourceSettings& source = *inquiry.source;
  if (source.source == nullptr) {
    inquiry.heard = "no webhook event so far";
    co_return false;
  }
  const Record& record = inquiry.record;
  const SourceQuestion question{record.scope,    record.key, record.resource_id,
                                inquiry.subject, &record,    ports_.sources.settle_options(record)};
  ++counts_.asked;
  inquiry.asked_at = now();
  const SourceReply reply =
      co_await source.source->ask(question, ports_.clock.now() + source.timeout);
  if (const auto* found = std::get_if<SourceFound>(&reply.finding)) {
    co_return co_await settle_as_found(inquiry, *found, reply.said);
  }
  if (const auto* failed = std::get_if<SourceFailed>(&reply.finding)) {
    inquiry.heard = failed->why;
    inquiry.hopeless = failed->hopeless;
    co_return false;
  }
  if (const auto* still = std::get_if<SourceStill>(&reply.finding)) {
    inquiry.heard = still->why;
    inquiry.kind = LookupResult::still;
    co_return false;
  }
  inquiry.heard = heard_as(reply.said, "never seen");
  inquiry.kind = LookupResult::absent;
  if (is_another(source, inquiry.taken)) {
    inquiry.heard += but_another(inquiry.taken);
    inquiry.kind = LookupResult::still;
    inquiry.hopeless = inquiry.asked_at >= reconcile::quiet_at(record, source.patience);
  }
  co_return false;
}

// What happened counts, whichever attempt did it. A decline may be an earlier attempt's, or another
// request's.
Task<bool> Reconciler::settle_as_found(Inquiry& inquiry, const SourceFound& found,
                                       const std::string& said) {
  const SourceSettings& source = *inquiry.source;
  if (!found.happened && is_another(source, inquiry.taken)) {
    inquiry.heard = heard_as(said, "declined") + but_another(inquiry.taken);
    inquiry.hopeless = true;
    co_return false;
  }
  if (!reconcile::is_its_answer(inquiry.record, source.patience, found.happened,
                                inquiry.asked_at)) {
    inquiry.heard = heard_as(said, "a refusal that may be an earlier attempt's");
    inquiry.kind = LookupResult::still;
    co_return false;
  }
  const Finding finding = FoundCompleted{found.response};
  const std::string reason = (found.happened ? "" : std::string(reconcile::declined_mark)) +
                             "asked, it " + (said.empty() ? "said" : said) + ": there it is";
  const Settled settled =
      co_await settle(inquiry.record, inquiry.taken.id, finding, source.name, reason);
  if (settled == Settled::not_yet) inquiry.heard = "found, but it could not be recorded";
  co_return settled != Settled::not_yet;
}

}  // namespace pawl::workers
