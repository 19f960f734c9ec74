// The deadlines of one thread's connections, looked at a few times a second.
//
// A timer per read and per write would cost more than the reads and writes. Here setting a deadline
// is an assignment; the price is that one is noticed up to `tick` late.
#pragma once

#include <cstddef>
#include <vector>

#include "pawl/types/time.hpp"
#include "src/ports/clock.hpp"

namespace pawl::http {

class Deadlines {
 public:
  static constexpr Duration tick = std::chrono::milliseconds(50);

  // Something that can be late. Belongs to the thread of its Deadlines.
  class Entry {
   public:
    explicit Entry(Deadlines& deadlines);
    virtual ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    void expires_at(BootTime when) { when_ = when; }
    [[nodiscard]] BootTime now() const { return deadlines_.now(); }
    void expires_never() { when_ = BootTime::max(); }

   protected:
    // The deadline has passed; called once for it.
    virtual void expire() = 0;

   private:
    friend class Deadlines;
    Deadlines& deadlines_;
    std::size_t index_;
    BootTime when_ = BootTime::max();
  };

  explicit Deadlines(Clock& clock) : clock_(clock) {}

  [[nodiscard]] BootTime now() const { return clock_.now(); }

  // For somebody of this thread.
  Task<void> sleep(Duration time) { return clock_.sleep_until(clock_.now() + time); }

  // Until `stop`: expires what is due.
  Task<void> run();
  void stop() { stopped_ = true; }

 private:
  void expire_due();

  Clock& clock_;
  std::vector<Entry*> entries_;
  bool stopped_ = false;
};

}  // namespace pawl::http
