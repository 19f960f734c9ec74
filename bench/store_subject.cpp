#include "bench/store_subject.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "pawl/types/check.hpp"
#include "src/core/decision.hpp"

namespace pawl::bench {
namespace {

using Clock = std::chrono::steady_clock;

Instant wall_now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

Request new_request() {
  Request request;
  request.scope.text = "tenant-a";
  request.key.text = random_key();
  request.fingerprint.text = "1.-.9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  request.method = "POST";
  request.path = "/v1/payments";
  request.route = "payments";
  return request;
}

Outcome an_answer() {
  Response response;
  response.status = 201;
  response.headers = {{"Content-Type", "application/json"}};
  response.body = sample_body();
  return Answered{std::move(response)};
}

Task<bool> one_pair(Store& store) {
  const Policy policy;
  const Attempt attempt{.owner = Owner{random_key()}, .now = wall_now()};
  const Record fresh = first_record(new_request(), policy, attempt);
  const StoreResult<Written> reserved = co_await store.insert_or_read_one(fresh);
  if (!reserved || !reserved->mine) co_return false;
  const Outcome answer = an_answer();
  const SettleOptions options;
  Replacement settle{settled(fresh, answer, wall_now(), options), guard_of(fresh), std::nullopt};
  const StoreResult<Written> done = co_await store.replace_one(std::move(settle));
  co_return done && done->mine;
}

Task<void> caller(Store& store, Clock::time_point until, Samples& samples) {
  while (Clock::now() < until) {
    const Clock::time_point start = Clock::now();
    if (co_await one_pair(store)) {
      samples.milliseconds.push_back(
          std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    } else {
      ++samples.failures;
    }
  }
}

}  // namespace

Samples StoreSubject::run(int callers, Seconds seconds) {
  boost::asio::io_context context(1);
  Samples samples;
  samples.milliseconds.reserve(1'000'000);
  const Clock::time_point start = Clock::now();
  const auto until = start + std::chrono::duration_cast<Clock::duration>(seconds);
  for (int i = 0; i < callers; ++i) {
    boost::asio::co_spawn(context, caller(store_, until, samples), boost::asio::detached);
  }
  context.run();
  samples.elapsed_seconds = Seconds(Clock::now() - start).count();
  return samples;
}

}  // namespace pawl::bench
