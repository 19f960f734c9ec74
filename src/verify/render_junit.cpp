#include "src/verify/markup.hpp"
#include "src/verify/render.hpp"

namespace pawl::verify {

std::string render_junit(const Report& report) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"pawl verify " +
                    escape_markup(report.url) + "\" tests=\"" +
                    std::to_string(report.outcomes.size()) + "\" failures=\"" +
                    std::to_string(count_of(report, Result::failed)) + "\" errors=\"" +
                    (report.trouble.empty() ? "0" : "1") + "\" skipped=\"" +
                    std::to_string(count_of(report, Result::not_run)) + "\">\n";
  for (const Outcome& outcome : report.outcomes) {
    const std::string reason = escape_markup(outcome.verdict.reason);
    out += "  <testcase classname=\"pawl.verify." + std::string(to_text(outcome.check->severity)) +
           "\" name=\"" + std::string(outcome.check->name) + "\">";
    if (outcome.verdict.result == Result::failed) {
      out += "<failure message=\"" + reason + "\">";
      for (const Exchange& exchange : outcome.run.exchanges) {
        out += escape_markup(request_text(exchange.sent) + "\n" + answer_text(exchange) + "\n");
      }
      out += "</failure>";
    } else if (outcome.verdict.result == Result::not_run) {
      out += "<skipped message=\"" + reason + "\"/>";
    }
    out += "</testcase>\n";
  }
  if (!report.trouble.empty()) {
    out += "  <system-err>" + escape_markup(report.trouble) + "</system-err>\n";
  }
  return out + "</testsuite>\n";
}

}  // namespace pawl::verify
