// A node: the real boundary and key API on the real engine, and every background pass. What a run
// of it knows dies with that run.
#pragma once

#include <memory>
#include <set>

#include "src/boundary/boundary.hpp"
#include "tests/sim/key_exchange.hpp"
#include "tests/sim/upstream.hpp"

namespace pawl::sim {

struct SourceEvent;

// A request and where its answer goes.
struct Exchange {
  Identity identity;
  Body body;
  std::string body_text;  // one of the spellings of `body`
  BoundaryPolicy policy;
  const FingerprintSecrets* secrets =
      nullptr;  // as configured at any moment: all known ones verify
  std::function<void(Answer)> reply;
  bool hung_up = false;
};

class Node {
 public:
  Node(Outside& outside, int number);
  ~Node();

  void start();
  void crash();
  // A request arrives. Lost if the node is down.
  void serve(std::shared_ptr<Exchange> exchange);
  void serve(std::shared_ptr<KeyExchange> exchange);
  void hung_up(const std::shared_ptr<Exchange>& exchange);
  // An event of a source arrives; `durable` is called once it is kept.
  void hear(const SourceEvent& event, std::function<void()> durable);
  void cut_off(Duration until);
  // Faults are over: whatever still held this node back is gone.
  void heal();

  // Would this node notice if the store's clock jumped now?
  [[nodiscard]] bool knows_time() const;

  // Is this the owner token of an attempt of the present run that nobody is working on any more?
  [[nodiscard]] bool abandoned(const Identity& identity, const Owner& owner) const;

 private:
  struct Run;
  struct Workers;
  using Pass = Task<void> (Node::*)(Run&);

  Process::Fate fate(const char* place);
  void spawn_pass(Pass pass, Duration every);
  Task<void> repeat(Run& run, Pass pass, Duration every);
  Task<void> guard(Run& run, std::shared_ptr<Exchange> exchange);
  Task<void> free_key(Run& run, Identity identity);
  Task<void> answer_key_call(Run& run, std::shared_ptr<KeyExchange> exchange);
  KeyHeard heard_of(const KeyExchange& exchange, const KeyAnswer& answer);
  void check_reservation(const KeyExchange& exchange, const Reservation& found);
  void check_write(const KeyExchange& exchange, const GrantWrite& written);
  Duration check_document(const KeyExchange& exchange, const KeyAnswer& answer,
                          const Record& record);
  Answer answer_of(const Run& run, const RequestContext& context, Said said,
                   Response response) const;
  void check_doubt(Run& run, const Record& record);

  Task<void> renew(Run& run);
  Task<void> look_after(Run& run);
  Task<void> sweep(Run& run);
  Task<void> reap(Run& run);
  Task<void> reconcile(Run& run);
  Task<void> work(Run& run);
  Task<void> deliver(Run& run);
  Task<void> ask_destination(Run& run);
  Task<void> operate(Run& run);
  Task<void> resolve_dead_letters(Run& run);
  Task<void> keep_event(Run& run, SourceEvent event, std::function<void()> durable);

  void note(const std::string& what) const;

  Outside& outside_;
  bool finding_in_hand_ = false;  // looked at the books, and has not written down what they say
  int number_;
  std::string name_;
  int runs_ = 0;
  Stream stream_;
  Duration reap_every_;
  Duration work_every_;
  Duration reconcile_every_;
  Duration clock_offset_;
  std::int64_t drift_ppm_;
  std::unique_ptr<Run> run_;
};

}  // namespace pawl::sim
