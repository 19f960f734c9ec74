// Requests that sleep on an event loop of Asio.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "src/ports/sleeper.hpp"

namespace pawl::os {

class AsioSleepers final : public Sleepers {
 public:
  explicit AsioSleepers(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
  std::shared_ptr<Sleeper> new_sleeper() override;

 private:
  boost::asio::any_io_executor executor_;
};

}  // namespace pawl::os
