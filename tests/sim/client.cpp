#include "tests/sim/client.hpp"

namespace pawl::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::array<std::string_view, 3> scopes{"ann", "bob", "eve"};

}  // namespace

std::string spelled(Body body, std::uint64_t spelling) {
  if (spelling == 0) return text_of(body);
  return "{ \"nonce\": " + std::to_string(body.nonce) +
         ", \"amount\": " + std::to_string(body.amount) + (spelling == 1 ? ".0" : "e0") + " }";
}

Clients::Clients(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes)
    : outside_(outside),
      nodes_(nodes),
      process_(std::make_shared<Process>(outside.scheduler,
                                         [](const char*) { return Process::Fate::lives; })),
      stream_(outside.seed, "clients"),
      waits_(Stream(outside.seed, "waits").one_in(3)),
      limited_(Stream(outside.seed, "limits").one_in(3)) {
  secrets_.push_back({"s1", "the first secret"});
}

void Clients::rotate_secret() {
  const std::string id = "s" + std::to_string(secrets_.size() + 1);
  secrets_.insert(secrets_.begin(), {id, "secret " + id});
}

void Clients::start(Duration during) {
  const std::size_t keys = 4 + stream_.below(7);
  for (std::size_t key = 0; key < keys; ++key) {
    for (std::size_t scope = 0; scope < 2; ++scope) {
      Payment payment;
      payment.identity = {Scope{std::string(scopes[scope])}, Key{"key-" + std::to_string(key)}};
      payment.body = {static_cast<int>(10 + stream_.below(3)), static_cast<int>(stream_.below(3))};
      payment.policy = draw_policy(stream_);
      payments_.push_back(std::move(payment));
    }
  }
  final_.assign(payments_.size(), false);
  std::uint64_t number = 0;
  for (Payment& payment : payments_) {
    const std::uint64_t sessions = 1 + stream_.below(3);
    for (std::uint64_t i = 0; i < sessions; ++i) {
      outside_.scheduler.spawn(session(payment, ++number, during));
    }
  }
}

Task<void> Clients::rest(Duration time) {
  const Process::Ticket ticket = process_->ticket();
  process_->wake(ticket, outside_.scheduler.now() + time, "rest");
  co_await process_->park(ticket);
}

std::shared_ptr<Exchange> Clients::exchange(Payment& payment, Stream& stream, bool honest) {
  const bool changes = outside_.chaos.strikes(Fault::policy_change, stream);
  Policy policy = draw_policy(stream);
  const bool other = outside_.chaos.strikes(Fault::other_body, stream);
  const int more = 1 + static_cast<int>(stream.below(2));
  if (changes) payment.policy = policy;
  auto made = std::make_shared<Exchange>();
  made->identity = payment.identity;
  made->body = payment.body;
  if (other && !honest) {
    (stream.one_in(2) ? made->body.amount : made->body.nonce) += more;
  }
  made->body_text = spelled(made->body, stream.below(3));
  static_cast<Policy&>(made->policy) = payment.policy;
  made->policy.wait_limit = 8s;
  made->policy.waiters = 3;
  if (limited_) {
    made->policy.new_keys_per_second = 1;
    made->policy.active_keys = 100;  // there are fewer: what matters is that they are counted
  }
  if (waits_) made->policy.in_flight = WhenInFlight::wait;
  made->secrets = &secrets_;
  return made;
}

// One request to one node, until its answer comes or the client has had enough.
Task<Clients::Try> Clients::request(std::shared_ptr<Exchange> exchange, Stream& stream,
                                    Duration patience) {
  Node& node = *nodes_[stream.below(nodes_.size())];
  const auto result = std::make_shared<Try>();
  const Process::Ticket answered = process_->ticket();
  exchange->reply = [result, answered, process = process_,
                     &scheduler = outside_.scheduler](Answer answer) {
    result->answer = std::move(answer);
    result->answered = true;
    process->wake(answered, scheduler.now(), "client.answer");
  };
  outside_.scheduler.at(
      outside_.scheduler.now() + stream.between(0ms, stream.one_in(2) ? 0ms : 20ms),
      [&node, exchange] { node.serve(exchange); });
  process_->wake(answered, outside_.scheduler.now() + patience, "client.patience");
  co_await process_->park(answered);
  ++counts_.requests;
  if (!result->answered) {
    node.hung_up(exchange);
    co_return *result;
  }
  ++counts_.answered;
  ++counts_.said[static_cast<std::size_t>(result->answer.said)];
  co_return *result;
}

Task<void> Clients::alone(std::shared_ptr<Exchange> exchange, Stream stream) {
  static_cast<void>(co_await request(std::move(exchange), stream, 60s));
}

Task<void> Clients::session(Payment& payment, std::uint64_t number, Duration during) {
  Stream stream(outside_.seed, "session", number);
  co_await rest(stream.between(0ms, during));
  std::uint64_t extras = stream.below(3);  // a client that asks again although it knows
  const std::uint64_t tries = 3 + stream.below(8);
  for (std::uint64_t i = 0; i < tries && !outside_.chaos.ended(); ++i) {
    const Duration pause = stream.between(0ms, stream.one_in(3) ? 40s : 3s);
    if (outside_.chaos.strikes(Fault::request, stream)) {
      std::shared_ptr<Exchange> made = exchange(payment, stream, false);
      const bool impatient = outside_.chaos.strikes(Fault::hang_up, stream);
      const Duration patience = stream.between(1ms, 4s);
      if (outside_.chaos.strikes(Fault::race, stream)) {
        auto twin = std::make_shared<Exchange>(*made);
        outside_.scheduler.spawn(
            alone(std::move(twin), Stream(outside_.seed, "twin", number * 100 + i)));
      }
      const Try tried = co_await request(std::move(made), stream, impatient ? patience : 60s);
      if (tried.answered && tried.answer.said == Said::final_answer && extras-- == 0) co_return;
      // Some come back exactly when they were told to: the moment the lease ends.
      if (tried.answer.said == Said::in_flight && stream.one_in(2)) {
        co_await rest(tried.answer.retry_after);
        continue;
      }
    }
    co_await rest(pause);
  }
}

void Clients::ask_again() {
  waiting_ = payments_.size();
  for (std::size_t i = 0; i < payments_.size(); ++i)
    outside_.scheduler.spawn(until_final(payments_[i], i));
}

Task<void> Clients::until_final(Payment& payment, std::size_t number) {
  Stream stream(outside_.seed, "in the end", number);
  for (int i = 0; i < 30; ++i) {
    std::shared_ptr<Exchange> made = exchange(payment, stream, true);
    const Try tried = co_await request(std::move(made), stream, 60s);
    const Said said = tried.answer.said;
    const bool is_final = said == Said::final_answer || said == Said::gone ||
                          said == Said::misuse || said == Said::restored;
    if (tried.answered && is_final) {
      final_[number] = true;
      --waiting_;
      co_return;
    }
    co_await rest(2s);
  }
  --waiting_;
}

void Clients::report_unanswered(Checker& checker) const {
  for (std::size_t i = 0; i < payments_.size(); ++i) {
    if (!final_[i] && !checker.is_corrupt(payments_[i].identity)) {
      checker.violated("once faults stop, every request is answered", payments_[i].identity,
                       "no final answer after 30 tries");
    }
  }
}

}  // namespace pawl::sim
