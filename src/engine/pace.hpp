// How a background pass shares the store with requests: a batch, then a rest in proportion to how
// long the batch took. A store that is busy takes longer over a batch, and so it is left alone for
// longer; one that has nothing else to do is soon done. Why so: docs/decisions/0020-pace.md.
#pragma once

#include <atomic>
#include <functional>

#include "src/engine/engine.hpp"

namespace pawl {

struct PaceOptions {
  int rest_per_work = 3;  // of the time, the pass has one part in four
  Duration rest_min = std::chrono::milliseconds(1);
  Duration rest_max = std::chrono::seconds(5);  // a process that was stopped need not rest for days
  // At it for this long without coming to an end: more comes in than goes out. From then on it
  // takes no more than the shortest rest, for a store that grows without end serves nobody.
  Duration patience = std::chrono::hours(1);
  Duration look_every = std::chrono::milliseconds(100);  // whether to stop
};

class Pace {
 public:
  // A pass begins. `stop` may be set from any thread; it ends a rest.
  Pace(Clock& clock, const std::atomic<bool>& stop, PaceOptions options = {});

  // Around each batch.
  void begin() { began_ = clock_.now(); }
  Task<void> rest();

 private:
  [[nodiscard]] Duration length_of_rest() const;

  Clock& clock_;
  const std::atomic<bool>& stop_;
  const PaceOptions options_;
  const BootTime first_;
  BootTime began_;
};

// Sweeps page after page until nothing is left that can be settled, the store fails, or `stop`: a
// bounded number of them, the next pass goes on. `seen`, where there is one, is told of each.
Task<std::size_t> sweep_at_pace(Engine& engine, Clock& clock, const std::atomic<bool>& stop,
                                std::function<void(const PassReport&)> seen = {});

// Reaps until nothing is due any more, the store fails, or `stop`. Gives back how many records it
// changed.
Task<std::size_t> reap_at_pace(Engine& engine, Clock& clock, const std::atomic<bool>& stop);

}  // namespace pawl
