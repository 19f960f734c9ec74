#include "src/adapters/resume/waiter.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace pawl::waiting {
namespace {

void add(Resumptions* counted, int change) {
  if (counted == nullptr) return;
  const std::lock_guard lock(counted->mutex);
  counted->running += change;
  if (counted->running == 0) counted->none_left.notify_one();
}

// One trip to one executor. Should a waiter throw through its event loop, the others are sent
// again: a neighbour's failure must not leave them asleep.
class ResumeBatch {
 public:
  ResumeBatch(Waiters waiters, std::shared_ptr<Resumptions> counted)
      : waiters_(std::move(waiters)), counted_(std::move(counted)) {}

  void operator()() {
    const Resend rest(*this);
    resume_all_but_one();
    resume_next();
  }

 private:
  // Counted up to the last one: whoever waits for this trip needs about as long to wake up as the
  // last one needs to come back. And a lone waiter is not counted at all.
  void resume_all_but_one() {
    if (waiters_.size() == 1) return;
    const Counted counted(counted_.get());
    while (next_ + 1 < waiters_.size()) resume_next();
  }

  void resume_next() {
    const std::unique_ptr<Waiter> waiter = std::move(waiters_[next_++]);
    waiter->resume();
  }

  struct Counted {
    explicit Counted(Resumptions* in) : resumptions(in) { add(resumptions, 1); }
    ~Counted() { add(resumptions, -1); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    Resumptions* resumptions;
  };

  struct Resend {
    explicit Resend(ResumeBatch& of) : trip(of) {}
    ~Resend() {
      if (trip.next_ == trip.waiters_.size()) return;
      const auto first = trip.waiters_.begin();
      trip.waiters_.erase(first, first + static_cast<std::ptrdiff_t>(trip.next_));
      wake(std::move(trip.waiters_), trip.counted_);
    }
    Resend(const Resend&) = delete;
    Resend& operator=(const Resend&) = delete;
    ResumeBatch& trip;
  };

  Waiters waiters_;
  std::shared_ptr<Resumptions> counted_;
  std::size_t next_ = 0;
};

}  // namespace

void wake(Waiters waiters, const std::shared_ptr<Resumptions>& counted) {
  std::vector<std::pair<boost::asio::any_io_executor, Waiters>> trips;  // few: one per event loop
  for (std::unique_ptr<Waiter>& waiter : waiters) {
    boost::asio::any_io_executor executor = waiter->executor();
    auto trip = std::ranges::find(trips, executor, [](const auto& one) { return one.first; });
    if (trip == trips.end()) trip = trips.emplace(trip, std::move(executor), Waiters());
    trip->second.push_back(std::move(waiter));
  }
  for (auto& [executor, together] : trips) {
    // The last caller of an event loop may end it, and destroy it, as soon as it is resumed: the
    // loop must not end before `post` has returned.
    const auto still_posting = boost::asio::make_work_guard(executor);
    boost::asio::post(executor, ResumeBatch(std::move(together), counted));
  }
}

void wake_one(std::unique_ptr<Waiter> waiter) {
  Waiters waiters;
  waiters.push_back(std::move(waiter));
  wake(std::move(waiters));
}

}  // namespace pawl::waiting
