#include "src/operator/key_ports.hpp"

namespace pawl {

Task<OrRefusal<std::optional<Record>>> find_record(Store& store, KeyName name) {
  StoreResult<std::optional<Record>> found =
      co_await store.find(std::move(name.scope), std::move(name.key));
  if (!found) co_return store_failed(found.error());
  co_return std::move(*found);
}

std::string why_not_unknown(const std::optional<Record>& record) {
  if (!record) return no_such_record;
  switch (status_of(*record)) {
    case Status::completed:
      return "it is completed already, and an answer that was given is never changed. A "
             "concurrent update may have completed it: pawl keys show";
    case Status::failed_retryable:
      return "it is failed_retryable already: the next request with this key executes it";
    case Status::in_progress:
      return "an owner is executing it. It can be resolved only when its lease is over and its "
             "outcome is unknown";
    case Status::pending: return "it waits for a worker, and nothing was sent yet";
    case Status::expired: return "it is expired: there is nothing to resolve";
    case Status::unknown: return lost_race;
  }
  return "its state does not allow it";
}

}  // namespace pawl
