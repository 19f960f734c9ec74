// What a worker's task throws ends that task, not the worker: it is told in the log.
#pragma once

#include <exception>
#include <string>

#include "src/ports/log.hpp"
#include "src/ports/task_group.hpp"

namespace pawl::workers {

inline TaskGroup::Failed told_to(Log& log) {
  return [&log](std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      log.say("error", std::string("a job was given up: ") + error.what());
    }
  };
}

}  // namespace pawl::workers
