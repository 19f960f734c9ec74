// Why the store cannot be used at the moment, as each of its threads last saw it.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>

namespace pawl::sqlite {

enum class Part { writer, finder, passes };

class Health {
 public:
  void trouble(Part part, std::string why) {
    const std::lock_guard lock(mutex_);
    at(part) = std::move(why);
  }
  void well(Part part) {
    const std::lock_guard lock(mutex_);
    at(part).reset();
  }
  [[nodiscard]] std::optional<std::string> trouble() const {
    const std::lock_guard lock(mutex_);
    for (const std::optional<std::string>& why : why_) {
      if (why) return why;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string>& at(Part part) { return why_[static_cast<std::size_t>(part)]; }

  mutable std::mutex mutex_;
  std::array<std::optional<std::string>, 3> why_;
};

}  // namespace pawl::sqlite
