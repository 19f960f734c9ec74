// Finds out what became of unknown records: from late answers, from events, or by asking.
//
// Any number of nodes may do so at once: a case is taken before its source is asked, and resolve
// is guarded by the record's fence. It asks and resolves; it never executes anything again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/gateway/gateway.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/reconcile/rules.hpp"
#include "src/reconcile/schedule.hpp"

namespace pawl::gateway {

class Reconciler {
 public:
  Reconciler(NodeServices& shared, Engine& engine, Store& store, ReconciliationStore& cases,
             http::Deadlines& deadlines, Clock& clock, Entropy& entropy,
             boost::asio::any_io_executor executor);

  // Until `stop`. What is under way then is finished: see `busy`.
  Task<void> run();
  void stop();
  [[nodiscard]] bool busy() const { return looking_ || active_count_ > 0; }

  // There may be news. From any thread.
  void wake();

 private:
  using Identity = std::pair<std::string, std::string>;

  // A record, the case about it, and who may know.
  struct Inquiry {
    Record record;
    const config::Source* source = nullptr;  // nobody
    std::string subject;
    Case taken;
    Instant asked_at{};
    bool hopeless = false;  // its source cannot be asked about this one
  };

  Task<void> look();
  Task<void> tidy();
  Task<void> work_on(Record record);
  Task<void> inquire(Inquiry& inquiry);

  // Events: reconciler_events.cpp.
  Task<void> hear_news();
  // False: the store could not be asked.
  Task<bool> hear(const WebhookEvent& event);
  // The cases that an event under this subject, told by this source, may be about.
  Task<std::optional<std::vector<Case>>> bearers(const std::string& subject,
                                                 const std::string& source);
  // What it is to be marked as: empty, it is by now. Nothing: it waits.
  Task<std::optional<std::string>> hear_about(const WebhookEvent& event, const Record& record,
                                              const Case* about);
  // All that were told about it by somebody who may. Nothing: they could not be asked for.
  Task<std::optional<std::vector<WebhookEvent>>> events_about(const Record& record,
                                                              const Case* about);
  enum class ByEvent {
    settled,  // by this or by somebody else
    nothing,  // none of them decides
    not_yet,  // the store could not be told
  };
  Task<ByEvent> settle_by_event(const Record& record, const CaseId& id,
                                const std::vector<WebhookEvent>& events);
  // Alarms where an event proves that what was released and taken over had happened.
  Task<bool> comes_too_late(const WebhookEvent& event, const Record& record);
  // What is stored stays; where the event says otherwise, that is told. What it is marked as.
  Task<std::string> compare_with_stored(const WebhookEvent& event, const Record& record,
                                        const Case* about, const std::vector<WebhookEvent>& events);
  Task<bool> put_off(const WebhookEvent& event, Instant later);
  Task<bool> mark(const WebhookEvent& event, const std::string& as);
  // Only of records whose route names it, in scopes that it may speak for.
  [[nodiscard]] bool may_speak(const std::string& source, const Record& record,
                               const Case* about) const;

  Task<bool> settle_by_late_answer(const Inquiry& inquiry);

  // Asking: reconciler_asking.cpp.
  Task<bool> settle_by_asking(Inquiry& inquiry, std::string& heard, reconcile::LookupResult& kind);
  Task<bool> settle_as_found(Inquiry& inquiry, const reconcile::Found& found,
                             const std::string& answered, std::string& heard,
                             reconcile::LookupResult& kind);
  static std::optional<std::string> target_for(Inquiry& inquiry, const reconcile::Subject& subject,
                                               std::string& heard);
  Task<Outcome> ask(const Inquiry& inquiry, std::string target);
  // What a case calls it.
  static std::string name_in_case(const config::Source& source);
  // Its source is not the one that was named when the doubt arose.
  static bool is_another(const Inquiry& inquiry);

  // Resolves, and closes the case.
  enum class Settled {
    by_us,
    by_others,  // they were quicker: there is nothing left to do
    not_yet,    // the store could not be asked, or it is too early
  };
  Task<Settled> settle(const Record& record, const CaseId& id, Finding finding, std::string source,
                       std::string reason);
  Task<void> go_on(const Inquiry& inquiry, reconcile::LookupResult kind, const std::string& heard);
  Task<bool> is_left_to_others(const Record& record);
  Task<void> skip(const Record& record);
  Task<void> postpone(const Record& record, Instant until, bool given_up);
  Task<bool> note(const CaseId& id, CaseChange change);

  [[nodiscard]] Instant now() const;
  [[nodiscard]] const config::RoutePolicy& policy_of(const Record& record) const;
  [[nodiscard]] const config::Source* source_of(const Record& record) const;
  [[nodiscard]] CaseNote note_of(const CaseId& id, std::string source, std::string result,
                                 std::string detail) const;
  void trouble(const std::string& what);

  NodeServices& shared_;
  Engine& engine_;
  Store& store_;
  ReconciliationStore& cases_;
  Clock& clock_;
  Entropy& entropy_;
  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer idle_;
  std::map<std::string, std::unique_ptr<http::UpstreamPool>> pools_;  // by source
  std::set<Identity> active_;
  BootTime count_at_{};
  BootTime reap_at_{};
  std::string last_trouble_;
  bool woken_ = false;
  bool stopped_ = false;
  std::atomic<bool> looking_ = false;
  std::atomic<std::size_t> active_count_ = 0;
};

}  // namespace pawl::gateway
