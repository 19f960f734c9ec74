// A report as text: for a terminal, a program, a CI server, or the people who run the endpoint.
#pragma once

#include "pawl/types/names.hpp"
#include "src/verify/report.hpp"

namespace pawl::verify {

enum class Format { table, json, junit, html };

std::string render(const Report& report, Format format);
std::string render_table(const Report& report);
std::string render_json(const Report& report);
std::string render_junit(const Report& report);
std::string render_html(const Report& report);

// Every check with its promise, source, severity and needs: for --list, and for docs/verify.md.
std::string list_checks();
std::string list_checks_json();
std::string checks_as_markdown();

// What would be sent, check by check, without sending it.
std::string render_plans(const Target& target, const std::vector<const Check*>& chosen);

// A request and its answer as text for evidence: without secrets, cut short.
std::string request_text(const Request& request);
std::string answer_text(const Exchange& exchange);

}  // namespace pawl::verify

template <>
struct pawl::Names<pawl::verify::Format> {
  using Format = pawl::verify::Format;
  static constexpr NameTable<Format, 4> table{{{Format::table, "table"},
                                               {Format::json, "json"},
                                               {Format::junit, "junit"},
                                               {Format::html, "html"}}};
};
