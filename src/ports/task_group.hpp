// Coroutines that belong together: whoever started them can wait until they are over. Nothing of
// ours runs outside of a group.
//
// Of one thread: that of its executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "src/ports/task.hpp"

namespace pawl {

class TaskGroup {
 public:
  // What a task throws ends that task alone, and is told here. None: it leaves the executor's run.
  using Failed = std::function<void(std::exception_ptr)>;

  explicit TaskGroup(boost::asio::any_io_executor executor, Failed failed = {});
  // Tasks that are not over by then go with their executor, which must not run any more. Whoever
  // waits for them goes with the group.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void spawn(Task<void> task);
  // How many are not over yet.
  [[nodiscard]] std::size_t size() const;
  // Returns when all are over, those included that are spawned meanwhile. One waits at a time.
  Task<void> wait();

  [[nodiscard]] const boost::asio::any_io_executor& executor() const { return executor_; }

 private:
  struct State;
  static void one_is_over(State& state);

  const boost::asio::any_io_executor executor_;
  // Shared with the tasks: what is left of them when their executor is destroyed may outlive us.
  const std::shared_ptr<State> state_;
};

}  // namespace pawl
