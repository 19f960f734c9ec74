// The checker: knows everything that happened, believes nobody, and says which promise was broken.
//
// It is told of every change of a row (by the store), every byte sent and every effect (by the
// upstream) and every answer (by the nodes), and keeps its own idea of what each key went through.
// The rules are the promises of docs/proof.md, written without looking at how the engine keeps
// them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pawl/types/outcome.hpp"
#include "pawl/types/record.hpp"

namespace pawl::sim {

using Identity = std::pair<Scope, Key>;
std::string text_of(const Identity& identity);

// What a client asks for. The nonce counts unless the rules in force exclude it.
struct Body {
  int amount = 0;
  int nonce = 0;
};

// What a client was told.
enum class Said {
  final_answer,  // stored: it will be replayed
  passing,       // the upstream's own words, not kept
  in_flight,
  misuse,
  unknown,
  gone,
  restored,  // the store may have forgotten the key
  unavailable,
  trouble,  // nothing sent, or no answer
};
std::string_view name_of(Said said);

struct Answer {
  Said said = Said::trouble;
  std::optional<Response> response;
  Fence fence;  // of the execution or record it is about; 0: none
  Duration retry_after{0};
  bool lease_over = false;  // told "in flight" of a lease that had ended
  // Answered from a node's memory: the newest purge that it had been told of.
  std::optional<std::int64_t> memory_epoch;
  // And when, by honest time; none where nobody could know it.
  std::optional<Instant> memory_time;
};

// What an owner outside of the process names with every write (the key API).
struct Held {
  Identity identity;
  Owner owner;
  Fence fence;
};

struct Violation {
  std::string rule;
  std::string detail;
  std::string key;
};

inline constexpr std::size_t row_states = 7;  // the six of design section 3, and "no row"
using Transitions = std::array<std::array<std::uint64_t, row_states>, row_states>;

class Checker {
 public:
  // `now` is honest time on the store's scale: its clock as it would be had it never been moved.
  // The service's transaction has no clock but the store's: while that one is off, what it
  // completes is kept from its reservation on.
  void excuse_retention(bool excused) { retention_excused_ = excused; }
  // When the write was asked for that the next changes come from: an outcome is known by then,
  // however long its commit hangs.
  void asked_to_write(std::optional<Instant> when) { write_asked_ = when; }
  void knows(const Fingerprint& fingerprint, Body body);
  void row_changed(const Identity& identity, const std::optional<Record>& after, Instant now);
  void evidence_kept(const Identity& identity, Fence fence);

  void asked_to_send(const Identity& identity, Fence fence);
  void first_byte(const Identity& identity, Fence fence, Body body, Instant now);
  void effect(const Identity& identity, Fence fence);
  // The upstream gives this answer under this fence; `forgives`: it acted, said 5xx, and the policy
  // stored with the attempt takes that for permission to run again.
  void answer_given(const Identity& identity, Fence fence, const Response& response, Body body);
  void forgive(const Identity& identity, Fence fence);

  void told(const Identity& identity, Body body, const Answer& answer);
  // Of the execution whose answer has this id; 0 where none has.
  [[nodiscard]] Fence fence_of(const Identity& identity, const std::string& request_id) const;
  void superseded(const Identity& identity, Fence fence, const Outcome& outcome);
  // A worker has done with what it sent, and this is what came of it.
  void call_ended(const Identity& identity, Fence fence, const Outcome& outcome);

  // The key API. Told by the nodes: what was answered to whom.
  void granted(const Held& held, Body body);
  void called_spent(const Identity& identity, const Owner& owner);
  void told_lease(const Identity& identity, Fence fence, Duration left, Instant now);
  void renewed_by(const Held& held, const Record& record);
  void completed_by(const Held& held, const StoredResponse& response);
  void released_by(const Held& held);
  void advanced_by(const Held& held, const std::string& recovery_point);
  // Told by a consumer that does not look at its lease before it acts, just before it does.
  void acts_unchecked(const Identity& identity, Fence fence, Instant now);

  // An operator has forgotten the key's answer: the key is new. `epoch`: how nodes hear of it.
  void purged(const Identity& identity, std::int64_t epoch);
  // Nobody can read the row any more: nothing is promised of its key but that it does no harm.
  void corrupted(const Identity& identity) { corrupt_.insert(identity); }
  [[nodiscard]] bool is_corrupt(const Identity& identity) const {
    return corrupt_.contains(identity);
  }

  // The outbox. A message is what one life of a key has promised.
  void promised(const std::string& message, const Identity& identity);
  void delivered(const std::string& message, const Identity& identity);
  // Once faults have stopped: how its row ended, "" where there is none.
  void message_ended(const std::string& message, const Identity& identity, std::string_view how);

  // The rows are these from now on; what they do not tell of is forgotten.
  void restored(const std::vector<Record>& rows);
  // The next change of a row is what is done about one that was not finished.
  void expect_restored() { restoring_ = true; }

  // Once faults have stopped and everybody had the time to finish.
  void end(Instant now);
  // A reservation that its node gave up without sending, some seconds after the faults stopped.
  void reservation_leaked(const Identity& identity, const Record& record);

  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }
  void violated(std::string rule, const Identity& identity, std::string detail);

  [[nodiscard]] const Transitions& transitions() const { return transitions_; }
  [[nodiscard]] std::uint64_t effects() const { return effects_; }

  // What the world itself may ask: the rows as they are, and the life an execution belongs to.
  [[nodiscard]] const std::optional<Record>& row(const Identity& identity);
  [[nodiscard]] std::vector<Identity> keys() const;
  [[nodiscard]] bool asked(const Identity& identity, Fence fence);
  [[nodiscard]] int life_of(const Identity& identity, Fence fence);
  // Whether what happened in that life is what this fence stands for: its own, or one that a
  // restored store has forgotten. A source that is asked by key tells of both.
  [[nodiscard]] bool is_about(const Identity& identity, int life, Fence fence) const;

 private:
  // One owner's claim on a key.
  struct Execution {
    std::uint64_t began = 0;  // how many had begun before it
    int life = 0;
    StoredPolicy policy;
    bool asked = false;
    bool sent = false;
    int effects = 0;
    bool forgiven = false;
    bool evidence = false;
    bool settled = false;  // somebody who knew said how it ended
    bool doubted = false;
    // Of an owner outside of the process.
    Owner owner;
    Instant lease_end;         // the latest it was ever given
    std::ptrdiff_t steps = 0;  // how far it has come
    bool released = false;
    bool overdue = false;  // acted after its lease: it broke its own side of the contract
  };
  // From the first reservation of a key until it is forgotten.
  struct Life {
    Body body;
    FingerprintRules rules;
    std::optional<StoredResponse> completed;
    Instant expires_at{};  // since it was completed
    bool lost = false;     // forgotten by a restore: whatever it did counts for ever
    Fence completed_under;
    Fence answer_of;  // the attempt that got the answer, perhaps another
    std::optional<std::int64_t> purged;
  };
  struct KeyStory {
    std::optional<Record> row;
    std::vector<Life> lives;
    std::size_t life = 0;  // the present one
    std::map<Fence, Execution> executions;
  };
  struct GivenAnswer {
    Identity identity;
    Body body;
    Fence fence;
  };

  void begin_life(KeyStory& story, const Identity& identity, const Record& record);
  void begin_execution(KeyStory& story, const Identity& identity, const Record& record);
  void check_erasure(const Identity& identity, const Record& before, Instant now);
  void check_same_fence(KeyStory& story, const Identity& identity, const Record& after,
                        Instant now);
  void check_takeover(KeyStory& story, const Identity& identity, const Record& after, Instant now);
  void completed(KeyStory& story, const Identity& identity, const Record& after, Instant now);
  void check_grant(KeyStory& story, const Identity& identity, const Record& after);
  void check_grant_taken_over(KeyStory& story, const Identity& identity, const Record& after);
  void note_claim(KeyStory& story, const Identity& identity, const Record& after, Instant now);
  const Execution* execution_of(const Held& held, std::string_view what);
  static bool paid(const Record& record);
  static bool waits_for_its_client(const Record& record, Instant now);
  void check_effects(KeyStory& story, const Identity& identity);
  [[nodiscard]] static bool same_meaning(const Life& life, Body body);

  void check_refusal(KeyStory& story, const Identity& identity, Fence fence);

  std::map<Identity, KeyStory> stories_;
  std::set<Identity> corrupt_;
  std::map<std::string, int> messages_;         // promised, and how often each had its effect
  std::map<std::string, Body> meanings_;        // by fingerprint
  std::map<std::string, GivenAnswer> answers_;  // by response body
  std::optional<Violation> violation_;
  bool retention_excused_ = false;
  std::optional<Instant> write_asked_;
  bool restoring_ = false;
  std::uint64_t begun_ = 0;
  Transitions transitions_{};
  std::uint64_t effects_ = 0;
};

}  // namespace pawl::sim
