// Finds out what became of unknown records: from late answers, from events, or by asking.
//
// Any number of nodes may do so at once: a case is taken before its source is asked, and resolve
// is guarded by the record's fence. It asks and resolves; it never executes anything again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/boundary/boundary.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/ports/task_group.hpp"
#include "src/reconcile/schedule.hpp"
#include "src/workers/active_keys.hpp"
#include "src/workers/poll_loop.hpp"
#include "src/workers/sources.hpp"

namespace pawl::workers {

// Everything it is given; all of it outlives it.
struct ReconcilerPorts {
  Engine& engine;  // of the executor's thread
  Store& store;
  ReconciliationStore& cases;
  const SourceDirectory& sources;
  BoundaryState& state;  // answers in memory, and notices to other nodes
  Clock& clock;
  Entropy& entropy;
  Sleepers& sleepers;
  GatewayMetrics& metrics;
  Log& log;
};

inline constexpr Duration poll_dead_every = std::chrono::hours(1);  // they wait for an operator

struct ReconcilerOptions {
  std::string what = "reconciliation";  // how its log lines begin
  // Of a service with the library in it: the records of this route alone, one after the other, with
  // no events, which gateways hear. None: all but those that such services ask about themselves.
  std::optional<std::string> library_route;
  Duration every = std::chrono::seconds(1);
};

struct ReconcileCounts {
  std::size_t asked = 0;
  std::size_t completed = 0;
  std::size_t released = 0;  // found not executed
  std::size_t dead = 0;
};

class Reconciler {
 public:
  Reconciler(ReconcilerPorts ports, boost::asio::any_io_executor executor,
             ReconcilerOptions options = {});

  // Until `stop`, and until what is under way then is finished.
  Task<void> run();
  // One poll, and all that it has begun. Not beside `run`.
  Task<ReconcileCounts> poll_once();

  // From any thread.
  void stop() { loop_.stop(); }
  // There may be news.
  void wake() { loop_.wake(); }

 private:
  // A record, the case about it, and who may know.
  struct Inquiry {
    Record record;
    SharedSource source;  // null: none
    std::string subject;
    Case taken;
    Instant asked_at{};
    std::string heard;
    reconcile::LookupResult kind = reconcile::LookupResult::nothing;
    bool hopeless = false;  // its source cannot be asked about this one
    // False: what else was told about it could not be read, or not be recorded. Then it is not
    // found not executed, whatever the source says.
    bool may_release = true;
    bool contradicted = false;  // an answer is kept that nothing proves or disproves
  };
  enum class Settled {
    by_us,
    by_others,  // they were quicker: there is nothing left to do
    not_yet,    // the store could not be asked, or it is too early
  };

  Task<void> poll();
  Task<void> look();
  Task<void> look_at_library();
  Task<void> start(Record record, ActiveKeys::Held active);
  Task<void> work_on(Record record);
  Task<void> inquire(Inquiry& inquiry);
  Task<bool> is_left_to_others(const Record& record);
  Task<void> skip(const Record& record);
  Task<void> tidy();

  // Settling: reconciler_settling.cpp.
  Task<bool> settle_by_late_answer(Inquiry& inquiry);
  // Resolves, and closes the case.
  Task<Settled> settle(const Record& record, const CaseId& id, Finding finding, std::string source,
                       std::string reason);
  Task<void> go_on(const Inquiry& inquiry);
  Task<bool> note(const CaseId& id, CaseChange change);
  Task<void> postpone(const Record& record, Instant until, bool dead);

  // Asking: reconciler_asking.cpp.
  Task<bool> settle_by_asking(Inquiry& inquiry);
  Task<bool> settle_as_found(Inquiry& inquiry, const SourceFound& found, const std::string& said);

  // Events: reconciler_events.cpp, reconciler_contradiction.cpp.
  Task<void> hear_news();
  // False: the store could not be asked.
  Task<bool> hear(const WebhookEvent& event);
  // The cases that an event under this subject, told by this source, may be about.
  Task<std::optional<std::vector<Case>>> bearers(std::string subject, std::string source);
  // What it is to be marked as: empty, it is by now. Nothing: it waits.
  Task<std::optional<std::string>> hear_about(const WebhookEvent& event, const Record& record,
                                              const Case* about);
  // All events about it from sources that may tell. Nothing: they could not be asked for.
  Task<std::optional<std::vector<WebhookEvent>>> events_about(const Record& record,
                                                              const Case* about);
  enum class ByEvent {
    settled,  // by this or by a concurrent update
    nothing,  // none of them decides
    not_yet,  // the store could not be told
  };
  Task<ByEvent> settle_by_event(const Record& record, const CaseId& id,
                                const std::vector<WebhookEvent>& events);
  // Alarms where an event proves that what was released and taken over had happened. Nothing: the
  // store could not be asked.
  Task<std::optional<bool>> comes_too_late(const WebhookEvent& event, const Record& record);
  // What is stored stays; where the event says otherwise, that is told. What it is marked as;
  // nothing: the store could not be asked.
  Task<std::optional<std::string>> compare_with_stored(const WebhookEvent& event,
                                                       const Record& record, const Case* about,
                                                       const std::vector<WebhookEvent>& events);
  Task<bool> put_off(const WebhookEvent& event, Instant later);
  Task<bool> mark(const WebhookEvent& event, std::string as);
  // Only of records whose route names it, in scopes that it may speak for.
  [[nodiscard]] bool may_speak(const std::string& source, const Record& record,
                               const Case* about) const;

  [[nodiscard]] Instant now();
  [[nodiscard]] CaseNote note_of(const CaseId& id, std::string source, std::string result,
                                 std::string detail);
  void say(std::string_view level, const std::string& what);
  // Why the last call of the store of cases has failed: once, until something else is the matter.
  void trouble();

  const ReconcilerPorts ports_;
  const ReconcilerOptions options_;
  PollLoop loop_;
  TaskGroup tasks_;
  ActiveKeys active_;
  ReconcileCounts counts_;
  // The store's time when it was last trusted, and ours then.
  std::optional<std::pair<Instant, BootTime>> right_time_;
  BootTime count_at_{};
  BootTime reap_at_{};
  std::string last_trouble_;
};

}  // namespace pawl::workers
