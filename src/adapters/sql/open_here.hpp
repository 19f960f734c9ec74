// That a thread has a transaction of a backend open. A second one in the same thread would wait for
// the first, which waits for it: for ever on SQLite, and now and then on PostgreSQL.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pawl::sql {

class OpenHere {
 public:
  // Throws std::logic_error where there is one already.
  explicit OpenHere(const void* backend) : backend_(backend) {
    if (std::ranges::count(open(), backend) > 0) {
      throw std::logic_error(
          "a transaction of this node is open in this thread already: inside a phase, or inside "
          "Node::transact, use the transaction that you were given");
    }
    open().push_back(backend);
  }
  OpenHere(OpenHere&& other) noexcept : backend_(std::exchange(other.backend_, nullptr)) {}
  OpenHere& operator=(OpenHere&&) = delete;
  ~OpenHere() {
    if (backend_ != nullptr) std::erase(open(), backend_);
  }

 private:
  static std::vector<const void*>& open() {
    thread_local std::vector<const void*> backends;
    return backends;
  }
  const void* backend_;
};

}  // namespace pawl::sql
