#include "src/adapters/sealed/rewrap.hpp"

#include "pawl/types/check.hpp"
#include "src/adapters/sealed/data_keys.hpp"

namespace pawl::sealed {
namespace {

constexpr std::size_t rewrap_page = 100;

std::optional<WrappedKey> rewrapped(const WrappedKey& was, const KeyRing& ring) {
  const EncryptionKey* const with = ring.find(was.kek);
  if (with == nullptr) return std::nullopt;
  const std::optional<std::string> bytes = unwrap(*with, place_of(was), was.wrapped);
  if (!bytes) return std::nullopt;
  WrappedKey next = was;
  next.kek = ring.keys.front().id;
  next.wrapped = wrap(ring.keys.front(), place_of(next), *bytes);
  return next;
}

}  // namespace

Task<StoreResult<Rewrapped>> rewrap_all(DataKeyStore& store, const KeyRing& ring,
                                        std::function<void(std::size_t)> progress) {
  PAWL_CHECK(!ring.keys.empty());
  Rewrapped result;
  WrappedKey last;
  last.generation = 0;
  for (std::size_t seen = 0;;) {
    const StoreResult<std::vector<WrappedKey>> page =
        co_await store.not_under(ring.keys.front().id, last, rewrap_page);
    if (!page) co_return Unexpected{page.error()};
    if (page->empty()) co_return result;
    for (const WrappedKey& was : *page) {
      last = was;
      std::optional<WrappedKey> next = rewrapped(was, ring);
      if (next) {
        // Not so any more: another process has rewrapped it, or its scope was forgotten.
        const StoreResult<bool> written = co_await store.rewrap(was, std::move(*next));
        if (!written) co_return Unexpected{written.error()};
        if (*written) ++result.rewrapped;
      } else {
        ++result.left;
        result.others.insert(was.kek);
      }
      progress(++seen);
    }
  }
}

}  // namespace pawl::sealed
