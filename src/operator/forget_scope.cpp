#include "src/operator/forget_scope.hpp"

namespace pawl {
namespace {

constexpr std::size_t open_keys_counted = 1000;

}  // namespace

Task<OrRefusal<std::size_t>> forget_scope(Store& store, DataKeyStore& keys, ForgetOrder order) {
  if (order.scope.text.empty()) co_return malformed("SCOPE must not be empty");
  if (order.scope.text == "store") {
    co_return malformed("\"store\" is no caller's scope: what names no scope is sealed under it");
  }
  if (const auto wrong = check_reason(order.by.reason)) co_return Unexpected{*wrong};
  const StoreResult<std::size_t> open = co_await store.count_active(order.scope, open_keys_counted);
  if (!open) co_return store_failed(open.error());
  if (*open > 0 && !order.open_too) {
    const std::string many =
        *open < open_keys_counted ? std::to_string(*open) : std::to_string(*open) + " or more";
    co_return refused(many +
                      " keys of this scope are pending, in progress or unknown: what they were "
                      "asked to do could not be done, and an answer not be given, any more. Wait, "
                      "or resolve them (pawl keys list); or forget them too with --open-too");
  }
  const StoreResult<std::size_t> erased =
      co_await keys.forget(order.scope, audit_of(order.by, "scope-forget"));
  if (!erased) co_return port_failed(keys, erased.error());
  if (*erased == 0) {
    co_return refused(
        "this scope has no data key: it is spelled otherwise (caller:NAME, as lists show it), was "
        "forgotten before, or nothing of it was ever sealed");
  }
  co_return *erased;
}

}  // namespace pawl
