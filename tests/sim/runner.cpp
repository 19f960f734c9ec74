#include "tests/sim/runner.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <sstream>

#include "pawl/types/check.hpp"

namespace pawl::sim {
namespace {

// What a failed check needs to know; it cannot be handed anything.
const World* current_world = nullptr;
std::uint64_t current_seed = 0;
int report_to = -1;  // the pipe to the parent, in a child

std::optional<Finding> run_one(const WorldOptions& options, Totals* totals) {
  World world(options);
  current_world = &world;
  current_seed = options.seed;
  world.run();
  current_world = nullptr;
  if (totals != nullptr) totals->add(world);
  if (!world.checker().violation()) return std::nullopt;
  return Finding{options.seed, *world.checker().violation(), world.chaos().strikes()};
}

// As text: seed, rule, key, detail, and a line per strike.
std::string encoded(const Finding& finding) {
  std::ostringstream out;
  out << finding.seed << '\n'
      << finding.violation.rule << '\n'
      << finding.violation.key << '\n'
      << finding.violation.detail << '\n';
  for (const Strike& strike : finding.strikes) {
    out << strike.id << ' ' << static_cast<int>(strike.fault) << '\n';
  }
  return out.str();
}

std::optional<Finding> decoded(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::istringstream in(text);
  Finding finding;
  in >> finding.seed;
  in.ignore();
  std::getline(in, finding.violation.rule);
  std::getline(in, finding.violation.key);
  std::getline(in, finding.violation.detail);
  std::uint64_t id = 0;
  int fault = 0;
  while (in >> id >> fault) finding.strikes.push_back({id, static_cast<Fault>(fault)});
  return finding;
}

void send(int pipe, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t more = write(pipe, text.data() + sent, text.size() - sent);
    if (more <= 0) return;
    sent += static_cast<std::size_t>(more);
  }
}

std::optional<Finding> in_child(const std::function<std::optional<Finding>()>& work) {
  int ends[2];
  PAWL_CHECK(pipe(ends) == 0);
  std::cout.flush();
  const pid_t child = fork();
  PAWL_CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    report_to = ends[1];
    const std::optional<Finding> finding = work();
    if (finding) send(ends[1], encoded(*finding));
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t more = 0; (more = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(more));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return decoded(text);
}

}  // namespace

// Stands in for src/core/check.cpp: says which seed it was before it goes.
void check_failed_in_world(const char* condition, const char* file, int line) noexcept {
  Finding finding;
  finding.seed = current_seed;
  finding.violation.rule = "PAWL_CHECK";
  finding.violation.key = "-";
  finding.violation.detail = std::string(condition) + " at " + file + ":" + std::to_string(line);
  if (current_world != nullptr) finding.strikes = current_world->chaos().strikes();
  if (report_to >= 0) {
    send(report_to, encoded(finding));
    _exit(0);
  }
  if (current_world != nullptr) current_world->history().print(std::cout, {});
  std::cout << "seed " << finding.seed << ": PAWL_CHECK failed: " << finding.violation.detail
            << '\n';
  std::cout.flush();
  _exit(1);
}

std::optional<Finding> search(const Bounds& bounds, Totals& totals) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < bounds.seeds; ++i) {
    if (std::chrono::steady_clock::now() - start >= bounds.time) break;
    WorldOptions options;
    options.seed = bounds.start + i;
    std::optional<Finding> finding = run_one(options, &totals);
    if (finding) return finding;
  }
  return std::nullopt;
}

std::optional<Finding> run_in_child(const WorldOptions& options) {
  return in_child([&] { return run_one(options, nullptr); });
}

std::optional<Finding> search_in_child(const Bounds& bounds) {
  return in_child([&] {
    Totals unused;
    return search(bounds, unused);
  });
}

}  // namespace pawl::sim

namespace pawl {

void check_failed(const char* condition, const char* file, int line) noexcept {
  sim::check_failed_in_world(condition, file, line);
  std::abort();
}

}  // namespace pawl
