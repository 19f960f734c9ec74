#include "src/engine/stored_restoration.hpp"

#include <charconv>

#include "src/core/json_writer.hpp"

namespace pawl {
namespace {

std::int64_t micros(Instant at) { return at.time_since_epoch().count(); }

std::optional<Instant> instant_in(const json::Value& object, std::string_view name) {
  const json::Value* const member = object.find(name);
  if (member == nullptr || member->kind != json::Kind::number) return std::nullopt;
  const std::string& text = member->text;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return Instant(Duration(number));
}

}  // namespace

std::string to_json(const StoredRestoration& restoration) {
  JsonObject out;
  out.number("since_us", micros(restoration.since)).number("at_us", micros(restoration.at));
  out.number("until_us", micros(restoration.until)).flag("finished", restoration.finished);
  if (restoration.trust_uuidv7) out.flag("trust_uuidv7", true);
  return out.done();
}

std::optional<StoredRestoration> restoration_from(const std::string& json) {
  const Expected<json::Value, json::Error> value = json::read(json);
  if (!value) return std::nullopt;
  const std::optional<Instant> since = instant_in(*value, "since_us");
  const std::optional<Instant> at = instant_in(*value, "at_us");
  const std::optional<Instant> until = instant_in(*value, "until_us");
  const json::Value* const finished = value->find("finished");
  if (!since || !at || !until || finished == nullptr) return std::nullopt;
  if (finished->kind != json::Kind::boolean) return std::nullopt;
  // Of a time when it could not be said: it was not.
  const json::Value* const trust = value->find("trust_uuidv7");
  if (trust != nullptr && trust->kind != json::Kind::boolean) return std::nullopt;
  return StoredRestoration{*since, *at, *until, finished->boolean,
                           trust != nullptr && trust->boolean};
}

Task<Expected<std::optional<StoredRestoration>, std::string>> recorded_restoration(Upkeep& upkeep) {
  const std::string name = restoration_fact;
  const StoreResult<std::optional<std::string>> fact = co_await upkeep.fact(name);
  if (!fact) co_return Unexpected{upkeep.trouble()};
  if (!*fact) co_return std::optional<StoredRestoration>();
  std::optional<StoredRestoration> read = restoration_from(**fact);
  if (read) co_return read;
  co_return Unexpected{
      "the store says that it was restored from a backup, in a format that this pawl does not "
      "understand: " +
      **fact + ". Run the newer pawl that wrote it"};
}

Task<Expected<std::optional<StoredRestoration>, std::string>> restoration_to_obey(Upkeep& upkeep) {
  Expected<std::optional<StoredRestoration>, std::string> found =
      co_await recorded_restoration(upkeep);
  if (!found || !*found || (*found)->finished) co_return found;
  co_return Unexpected{std::string(
      "the store was restored from a backup, and `pawl store restored` did not come to its end: "
      "run it again, then start")};
}

}  // namespace pawl
