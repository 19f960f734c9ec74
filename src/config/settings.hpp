// A table of settings: each row is a setting's name, how it is read and how it is shown. Reading
// and `pawl config show` walk the same rows, so neither can forget a setting that the other knows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"
#include "src/config/values.hpp"

namespace pawl::config {

template <class Owner>
struct Setting {
  std::string_view name;
  // Leaves the owner as it was where the value is wrong.
  std::function<void(const Node&, Owner&, Diagnostics&)> read;
  // The value as TOML. Empty where there is none and none need be written.
  std::function<std::string(const Owner&)> show;
};

template <class Owner>
using Settings = std::vector<Setting<Owner>>;

// The settings of `table` that are in the list; other names are check_names' affair.
template <class Owner>
void read_settings(const Node& table, const Settings<Owner>& settings, Owner& owner,
                   Diagnostics& findings) {
  for (const Setting<Owner>& setting : settings) {
    if (const Node* node = table.find(setting.name)) setting.read(*node, owner, findings);
  }
}

template <class Owner>
std::vector<std::string_view> names_of(const Settings<Owner>& settings) {
  std::vector<std::string_view> names;
  for (const Setting<Owner>& setting : settings) names.push_back(setting.name);
  return names;
}

// Rows. `member` is a pointer to member, or a function from the owner to a reference into it.

// The common shape: `from` makes a value of a node or complains, `to` writes it.
template <class Owner, class Part, class From, class To>
Setting<Owner> setting(std::string_view name, Part member, From from, To to) {
  return {name,
          [=](const Node& node, Owner& owner, Diagnostics& findings) {
            if (auto value = from(Value{name, node}, findings)) {
              std::invoke(member, owner) = std::move(*value);
            }
          },
          [=](const Owner& owner) -> std::string { return to(std::invoke(member, owner)); }};
}

template <class Owner, class Part>
Setting<Owner> duration(std::string_view name, Part member, Range<Duration> range) {
  return setting<Owner>(
      name, member,
      [=](Value value, Diagnostics& findings) { return duration_in(value, range, findings); },
      [](Duration shown) { return quote(to_text(shown)); });
}

template <class Owner, class Part>
Setting<Owner> size(std::string_view name, Part member, Range<std::size_t> range) {
  return setting<Owner>(
      name, member,
      [=](Value value, Diagnostics& findings) { return size_in(value, range, findings); },
      [](std::size_t shown) { return quote(size_to_text(shown)); });
}

template <class Owner, class Part>
Setting<Owner> count(std::string_view name, Part member, Range<std::size_t> range) {
  return setting<Owner>(
      name, member,
      [=](Value value, Diagnostics& findings) { return count_in(value, range, findings); },
      [](std::size_t shown) { return std::to_string(shown); });
}

template <class Owner, class Part>
Setting<Owner> flag(std::string_view name, Part member) {
  return setting<Owner>(name, member, flag_in,
                        [](bool shown) -> std::string { return shown ? "true" : "false"; });
}

// `check`: what must be true of the text, as "it must ..."; empty where it is.
using TextCheck = std::string (*)(std::string_view);

template <class Owner, class Part>
Setting<Owner> text(std::string_view name, Part member, TextCheck check) {
  return setting<Owner>(
      name, member,
      [=](Value value, Diagnostics& findings) { return text_in(value, check, findings); },
      [](const std::string& shown) { return shown.empty() ? std::string() : quote(shown); });
}

template <class Owner, class Part>
Setting<Owner> choice(std::string_view name, Part member) {
  using Enum = std::remove_cvref_t<std::invoke_result_t<Part, Owner&>>;
  return setting<Owner>(
      name, member,
      [](Value value, Diagnostics& findings) { return choice_in<Enum>(value, findings); },
      [](Enum shown) { return quote(pawl::to_text(shown)); });
}

// The same row for a setting that "off" takes away.
template <class Owner, class Part, class From, class To>
Setting<Owner> or_off(std::string_view name, Part member, From from, To to) {
  using Optional = std::remove_cvref_t<std::invoke_result_t<Part, Owner&>>;
  return setting<Owner>(
      name, member,
      [=](Value value, Diagnostics& findings) -> std::optional<Optional> {
        if (value.node.kind == Kind::string && value.node.text == "off") return Optional{};
        auto found = from(value, findings);
        if (!found) return std::nullopt;
        return Optional{*found};
      },
      [=](const Optional& shown) -> std::string { return shown ? to(*shown) : "\"off\""; });
}

// "name = value", a line of TOML.
inline std::string line(std::string_view name, std::string_view value) {
  return std::string(name).append(" = ").append(value).append("\n");
}

template <class Owner>
std::string show_lines(const Settings<Owner>& settings, const Owner& owner) {
  std::string text;
  for (const Setting<Owner>& setting : settings) {
    const std::string value = setting.show(owner);
    if (!value.empty()) text += line(setting.name, value);
  }
  return text;
}

}  // namespace pawl::config
