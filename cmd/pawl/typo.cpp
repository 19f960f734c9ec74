#include "cmd/pawl/typo.hpp"

#include <algorithm>

#include "src/core/nearest.hpp"

namespace pawl::cmd {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string meant(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest(word, views);
  return near.empty() ? "" : "Did you mean '" + std::string(near) + "'?\n";
}

const CLI::Option* flag_of(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_name(name)) return option;
  }
  return nullptr;
}

std::string near_flag(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return meant(word, names);
}

}  // namespace

std::string nearest_name(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("-")) {
      const std::string name = words[i].substr(0, words[i].find('='));
      const CLI::Option* const flag = flag_of(*at, name);
      if (flag == nullptr) return near_flag(*at, name);
      const bool takes_next = flag->get_items_expected_max() > 0 && name.size() == words[i].size();
      if (takes_next) ++i;
      continue;
    }
    const std::vector<const CLI::App*> commands = commands_of(*at);
    if (commands.empty()) continue;  // a value of its own
    const auto found = std::ranges::find_if(
        commands, [&](const CLI::App* command) { return command->get_name() == words[i]; });
    if (found != commands.end()) {
      at = *found;
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    return meant(words[i], names);
  }
  return {};
}

}  // namespace pawl::cmd
