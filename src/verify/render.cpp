#include "src/verify/render.hpp"

#include <algorithm>

#include "src/core/json_writer.hpp"

namespace pawl::verify {
namespace {

constexpr std::size_t name_width = 26;

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  if (out.size() < width) out.resize(width, ' ');
  return out;
}

std::string summary(const Report& report) {
  return "Grade " + std::string(grade(report)) + ": " +
         std::to_string(count_of(report, Result::passed)) + " passed, " +
         std::to_string(count_of(report, Result::failed)) + " failed, " +
         std::to_string(count_of(report, Result::not_run)) + " not run (seed " + report.seed + ")";
}

std::string needs_of(const Check& check) {
  std::string out;
  for (const Need need : check.needs) {
    out += (out.empty() ? "" : ", ") + std::string(how_to_give(need));
  }
  return out;
}

std::string exchange_json(const Exchange& exchange) {
  JsonObject out;
  out.text("label", exchange.sent.label).text("request", request_text(exchange.sent));
  out.text("answer", answer_text(exchange));
  out.number("began_ms", exchange.began.count()).number("ended_ms", exchange.ended.count());
  return std::move(out).done();
}

std::string run_json(const Run& run) {
  std::string out = "[";
  for (const Exchange& exchange : run.exchanges) {
    out += (out.size() > 1 ? "," : "") + exchange_json(exchange);
  }
  return out + "]";
}

JsonObject check_json(const Check& check) {
  JsonObject out;
  out.text("name", check.name).text("promise", check.promise).text("source", check.source);
  out.text("severity", to_text(check.severity)).text("needs", needs_of(check));
  return out;
}

}  // namespace

std::string render(const Report& report, Format format) {
  switch (format) {
    case Format::table: return render_table(report);
    case Format::json: return render_json(report);
    case Format::junit: return render_junit(report);
    case Format::html: return render_html(report);
  }
  return {};
}

std::string render_table(const Report& report) {
  std::string out;
  for (const Outcome& outcome : report.outcomes) {
    const Verdict& verdict = outcome.verdict;
    out += padded(to_text(verdict.result), 8) + padded(to_text(outcome.check->severity), 9) +
           padded(outcome.check->name, name_width) + std::string(outcome.check->promise) + "\n";
    if (!verdict.reason.empty()) out += std::string(17, ' ') + verdict.reason + "\n";
    if (verdict.result != Result::failed) continue;
    out += std::string(17, ' ') + "(" + std::string(outcome.check->source) + ")\n";
  }
  if (!report.outcomes.empty()) out += summary(report) + "\n";
  if (!report.trouble.empty()) out += "Could not be run: " + report.trouble + "\n";
  return out;
}

std::string render_json(const Report& report) {
  std::string list = "[";
  for (const Outcome& outcome : report.outcomes) {
    JsonObject one = check_json(*outcome.check);
    one.text("result", to_text(outcome.verdict.result)).text("reason", outcome.verdict.reason);
    if (const auto effects = effects_in(outcome.run)) one.number("effects", *effects);
    if (outcome.verdict.result == Result::failed) one.raw("exchanges", run_json(outcome.run));
    list += (list.size() > 1 ? "," : "") + one.done();
  }
  const auto number = [&](Result result) {
    return static_cast<std::int64_t>(count_of(report, result));
  };
  JsonObject out;
  out.text("url", report.url).text("seed", report.seed).text("profile", to_text(report.profile));
  out.text("grade", grade(report)).number("passed", number(Result::passed));
  out.number("failed", number(Result::failed)).number("not_run", number(Result::not_run));
  out.text("trouble", report.trouble).raw("checks", list + "]");
  return std::move(out).done() + "\n";
}

std::string list_checks() {
  std::string out;
  for (const Check& check : checks()) {
    out += padded(check.name, name_width) + padded(to_text(check.severity), 9) +
           std::string(check.promise) + "\n";
    if (!check.needs.empty())
      out += std::string(name_width, ' ') + "needs " + needs_of(check) + "\n";
  }
  return out;
}

std::string list_checks_json() {
  std::string out = "[";
  for (const Check& check : checks()) out += (out.size() > 1 ? "," : "") + check_json(check).done();
  return out + "]\n";
}

std::string checks_as_markdown() {
  std::string out = "| check | promise | severity | source | needs |\n|---|---|---|---|---|\n";
  for (const Check& check : checks()) {
    out += "| `" + std::string(check.name) + "` | " + std::string(check.promise) + " | " +
           std::string(to_text(check.severity)) + " | " + std::string(check.source) + " | " +
           needs_of(check) + " |\n";
  }
  return out;
}

std::string render_plans(const Target& target, const std::vector<const Check*>& chosen) {
  std::string out;
  std::size_t requests = 0;
  std::vector<Plan (*)(const Target&)> seen;
  const auto add = [&](std::string_view name, const Plan& plan) {
    out += std::string(name) + "\n";
    requests += requests_in(plan);
    for (const Step& step : plan) {
      out += "  " + std::string(to_text(step.kind));
      if (!step.shell.empty()) out += ": " + step.shell;
      if (!step.requests.empty()) {
        const Request& first = step.requests.front();
        out += ": " + first.method + " " + first.to.target;
        if (step.requests.size() > 1) out += ", " + std::to_string(step.requests.size()) + " times";
      }
      out += "\n";
    }
  };
  add("(before all checks)", baseline_plan(target));
  for (const Check* check : chosen) {
    const std::string lacks = lacking(*check, target);
    if (!lacks.empty()) {
      out += std::string(check->name) + "\n  not run: give " + lacks + "\n";
    } else if (std::ranges::find(seen, check->plan) != seen.end()) {
      out += std::string(check->name) + "\n  judged by what was sent before\n";
    } else {
      seen.push_back(check->plan);
      add(check->name, check->plan(target));
    }
  }
  return out + std::to_string(requests) +
         " requests; one that is asked to come back is sent again, " +
         std::to_string(settle_rounds_max) + " times at most.\n";
}

}  // namespace pawl::verify
