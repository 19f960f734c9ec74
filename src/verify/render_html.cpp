// One page that can be sent to whoever runs the endpoint: no script, nothing that is loaded.
#include "src/verify/markup.hpp"
#include "src/verify/render.hpp"

namespace pawl::verify {
namespace {

constexpr std::string_view page_head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Idempotency report</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.4em}.grade{font-size:3em;font-weight:bold;float:right;margin:0}
section{border-top:1px solid #ddd;padding:.6em 0}h2{font-size:1em;margin:0}
.passed h2::before{content:"\2713\00a0";color:#287d3c}.failed h2::before{content:"\2717\00a0";color:#b3261e}
.notrun h2::before{content:"\2013\00a0";color:#777}.notrun{color:#777}
p{margin:.2em 0}pre{background:#f6f6f6;padding:.6em;overflow:auto;font-size:13px;white-space:pre-wrap}
small{color:#777}.reason{color:#b3261e}.notrun .reason{color:#777}
</style></head><body>
)";

std::string_view class_of(Result result) {
  switch (result) {
    case Result::passed: return "passed";
    case Result::failed: return "failed";
    case Result::not_run: return "notrun";
  }
  return "";
}

std::string evidence_of(const Run& run) {
  std::string out = "<details><summary>What was sent and received</summary>";
  for (const Exchange& exchange : run.exchanges) {
    out += "<p><small>" + escape_markup(exchange.sent.label) + ", " +
           std::to_string((exchange.ended - exchange.began).count()) + " ms</small></p><pre>" +
           escape_markup(request_text(exchange.sent)) + "</pre><pre>" +
           escape_markup(answer_text(exchange)) + "</pre>";
  }
  return out + "</details>";
}

std::string section_of(const Outcome& outcome) {
  const Check& check = *outcome.check;
  std::string out = "<section class=\"" + std::string(class_of(outcome.verdict.result)) +
                    "\"><h2>" + escape_markup(check.promise) + "</h2><p><small>" +
                    std::string(check.name) + " &middot; " + std::string(to_text(check.severity)) +
                    " &middot; " + escape_markup(check.source) + " &middot; " +
                    std::string(to_text(outcome.verdict.result)) + "</small></p>";
  if (!outcome.verdict.reason.empty()) {
    out += "<p class=\"reason\">" + escape_markup(outcome.verdict.reason) + "</p>";
  }
  if (const auto effects = effects_in(outcome.run)) {
    out += "<p><small>effects counted: " + std::to_string(*effects) + "</small></p>";
  }
  if (outcome.verdict.result == Result::failed) out += evidence_of(outcome.run);
  return out + "</section>\n";
}

}  // namespace

std::string render_html(const Report& report) {
  std::string out(page_head);
  out += "<p class=\"grade\">" + std::string(grade(report)) + "</p><h1>Is a retry safe at " +
         escape_markup(report.url) + "?</h1><p>" +
         std::to_string(count_of(report, Result::passed)) + " checks passed, " +
         std::to_string(count_of(report, Result::failed)) + " failed, " +
         std::to_string(count_of(report, Result::not_run)) + " were not run. Seed " +
         escape_markup(report.seed) + ", profile " + std::string(to_text(report.profile)) +
         ".</p><p><small>A: nothing failed. B: what failed is minor. C: a client is told something "
         "that it will act on wrongly. F: money may move twice, or one caller's data reach "
         "another.</small></p>";
  if (!report.trouble.empty()) {
    out += "<p class=\"reason\">Could not be run: " + escape_markup(report.trouble) + "</p>";
  }
  for (const Result result : {Result::failed, Result::passed, Result::not_run}) {
    for (const Outcome& outcome : report.outcomes) {
      if (outcome.verdict.result == result) out += section_of(outcome);
    }
  }
  return out + "</body></html>\n";
}

}  // namespace pawl::verify
