#include "src/verify/carry_out.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <thread>

namespace pawl::verify {
namespace {

constexpr Moment poll_pause{20};
constexpr Moment hang_up_max{5000};
constexpr Moment gone_max{1000};
constexpr Moment come_back_max{1000};
constexpr Moment come_back_min{50};

// How long to wait before a request is sent again.
Moment pause_after(const Exchange& exchange) {
  const std::optional<Duration> asked = retry_after(exchange.answer->headers, Instant{});
  const auto wait = std::chrono::duration_cast<Moment>(asked.value_or(Duration{}));
  return std::clamp(wait, come_back_min, come_back_max);
}

class Performance {
 public:
  Performance(const Target& target, World& world) : target_(target), world_(world) {}

  Run run(const Plan& plan) {
    for (const Step& step : plan) {
      perform(step);
      if (!run_.trouble.empty()) break;
    }
    return std::move(run_);
  }

 private:
  using Until = World::Until;

  void perform(const Step& step) {
    switch (step.kind) {
      case Step::Kind::send:
        for (const Request& request : step.requests) take(request);
        return;
      case Step::Kind::settle: return settle_all(step);
      case Step::Kind::together: return together(step.requests);
      case Step::Kind::cut_in_body: return cut_in_body(step.requests.front());
      case Step::Kind::hang_up: return hang_up(step.requests.front());
      case Step::Kind::command: return command(step.shell);
      case Step::Kind::kill: return kill_and_restart();
      case Step::Kind::kill_after_send: return kill_after_send(step.requests.front());
      case Step::Kind::kill_at_effect: return kill_at_effect(step.requests.front());
      case Step::Kind::count: return count_now();
    }
  }

  void take(const Request& request) { run_.exchanges.push_back(world_.exchange(request)); }

  void cut_in_body(const Request& request) {
    run_.exchanges.push_back(world_.exchange(request, Until::half_sent, [] {}));
  }

  // Once it has begun: a request that is overtaken by its own retry says nothing about hang-ups.
  void hang_up(const Request& request) {
    const Expected<std::int64_t, std::string> before = count_effects(target_, world_);
    if (!before) {
      run_.trouble = before.error();
      return;
    }
    const auto wait = [&] {
      wait_for_effect(*before, world_.now() + hang_up_max, [] { return false; });
    };
    run_.exchanges.push_back(world_.exchange(request, Until::sent, wait));
  }

  template <class Over>
  void wait_for_effect(std::int64_t before, Moment give_up, Over over) {
    while (!over() && world_.now() < give_up) {
      const Expected<std::int64_t, std::string> now = count_effects(target_, world_);
      if (now && *now > before) return;
      world_.wait(poll_pause);
    }
  }

  void settle_all(const Step& step) {
    const Moment give_up = world_.now() + target_.timeout;
    for (const Request& request : step.requests) {
      for (int round = 0; round < settle_rounds_max; ++round) {
        take(request);
        const Exchange& last = run_.exchanges.back();
        if (!asks_to_come_back(last) || world_.now() >= give_up) break;
        world_.wait(pause_after(last));
      }
    }
  }

  void together(const std::vector<Request>& requests) {
    std::vector<Exchange> answers(requests.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      threads.emplace_back([&, i] { answers[i] = world_.exchange(requests[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    std::ranges::move(answers, std::back_inserter(run_.exchanges));
  }

  void command(const std::string& shell) {
    const int code = world_.run(shell);
    if (code != 0) run_.trouble = "'" + shell + "' ended with " + std::to_string(code);
  }

  void kill_and_restart() {
    command(target_.kill);
    // kill returns before the process is gone: what it still accepts must not pass for the new one.
    const Moment gone_by = world_.now() + gone_max;
    while (run_.trouble.empty() && world_.now() < gone_by &&
           world_.accepts_connections(target_.at.address)) {
      world_.wait(poll_pause);
    }
    if (run_.trouble.empty()) command(target_.restart);
    const Moment give_up = world_.now() + target_.timeout;
    while (run_.trouble.empty() && !world_.accepts_connections(target_.at.address)) {
      if (world_.now() >= give_up) run_.trouble = "it accepts no connections after --restart";
      world_.wait(poll_pause);
    }
  }

  void kill_after_send(const Request& request) {
    run_.exchanges.push_back(world_.exchange(request, Until::sent, [] {}));
    kill_and_restart();
  }

  void kill_at_effect(const Request& request) {
    const Expected<std::int64_t, std::string> before = count_effects(target_, world_);
    if (!before) {
      run_.trouble = before.error();
      return;
    }
    Exchange killed;
    std::atomic<bool> over = false;
    std::thread sender([&] {
      killed = world_.exchange(request);
      over = true;
    });
    wait_for_effect(*before, world_.now() + target_.timeout, [&] { return over.load(); });
    kill_and_restart();
    sender.join();
    run_.exchanges.push_back(std::move(killed));
  }

  void count_now() {
    const Expected<std::int64_t, std::string> value = count_effects(target_, world_);
    if (value) {
      run_.counts.push_back(*value);
    } else {
      run_.trouble = value.error();
    }
  }

  const Target& target_;
  World& world_;
  Run run_;
};

}  // namespace

Run carry_out(const Plan& plan, const Target& target, World& world) {
  return Performance(target, world).run(plan);
}

Expected<std::int64_t, std::string> count_effects(const Target& target, World& world) {
  Request request;
  request.label = "count";
  request.method = target.counter->method;
  request.to = target.counter->at;
  request.headers = target.headers;
  const Exchange exchange = world.exchange(request);
  if (!succeeded(exchange)) return Unexpected{"--count got " + brief(exchange)};
  const Expected<json::Value, json::Error> document = json::read(exchange.answer->body);
  if (!document) return Unexpected{"--count got no JSON: " + brief(exchange)};
  const json::Value* const value = json::resolve(*document, target.counter->pointer);
  if (value != nullptr && value->kind == json::Kind::array) {
    return static_cast<std::int64_t>(value->items.size());
  }
  std::int64_t number = 0;
  if (value != nullptr && value->kind == json::Kind::number) {
    const char* const end = value->text.data() + value->text.size();
    const auto [at, trouble] = std::from_chars(value->text.data(), end, number);
    if (trouble == std::errc{} && at == end) return number;
  }
  return Unexpected{"there is neither a whole number nor a list at '" +
                    json::to_text(target.counter->pointer) + "': " + brief(exchange)};
}

}  // namespace pawl::verify
