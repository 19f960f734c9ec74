// What a request may hold of the memory that all share, and how its answer leaves.
#include <algorithm>

#include "src/gateway/answer_options.hpp"
#include "src/gateway/passage.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

// What a lookup may bring is not known before; answers of more than this are rare.
constexpr std::size_t found_bytes_max = std::size_t{1} << 20;
constexpr Duration room_pause_first = 5ms;
constexpr Duration room_pause_max = 640ms;

}  // namespace

Response Gateway::overloaded(Passage& passage, std::string detail) {
  passage.line.trouble = slug_of(Problem::overloaded);
  ProblemDetails details{Problem::overloaded, std::move(detail), {}, overload_retry_after};
  return problem(passage, std::move(details));
}

// A burst of lookups takes turns; what holds the memory for longer is a flood.
Task<bool> Gateway::admit(Passage& passage, std::size_t bytes) {
  const std::size_t found =
      std::min({passage.policy.response_bytes_max, found_bytes_max, shared_.memory.bytes() / 16});
  for (Duration pause = room_pause_first;; pause *= 2) {
    if (passage.memory.cover(bytes + found, http::MemoryUse::new_work)) co_return true;
    if (pause > room_pause_max) co_return false;
    co_await clock_.sleep_until(clock_.now() + pause);
  }
}

Response Gateway::render_replay(Passage& passage, std::shared_ptr<const Cached> cached) {
  passage.loan = cached->lend(shared_.memory);
  if (!passage.loan) return overloaded(passage);
  passage.replay = std::move(cached);
  return render_stored(passage.replay->response, passage.replay->expires_at, Delivery::replay,
                       passage.dialect());
}

Task<void> Gateway::deliver(Passage& passage, Response response) {
  passage.body = std::string();
  const std::size_t held = passage.from_spool ? answer_share : response.body.size();
  // Room for the answer of this very request was set aside; only one that is stored, and was made
  // earlier, can be too much.
  if (!passage.memory.resize(held, http::MemoryUse::admitted)) {
    response = overloaded(passage,
                          "The answer is there, but there is no memory to deliver it. "
                          "Retry with the same key.");
    passage.replay.reset();
    passage.memory = {};
  }
  passage.line.status = response.status;
  http::ClientRequest& request = passage.request;
  if (passage.from_spool) {
    co_await request.answer_from(response, *passage.spool);
  } else if (passage.replay && passage.replay->response.body) {
    co_await request.answer(response, passage.replay->body);
  } else {
    co_await request.answer(response);
  }
}

}  // namespace pawl::gateway
