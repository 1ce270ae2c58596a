// Outcomes and their summaries as text, JSON and Markdown.
#pragma once

#include <string>
#include <vector>

#include "accuracy/report/outcome.h"
#include "accuracy/report/summary.h"

namespace refrain::accuracy {

/// One table of measured runs with its predictions.
struct Evaluated {
  std::string file;  // its name, without folders
  std::vector<Outcome> outcomes;
};

/// A line a row, then the summaries as a table.
std::string to_text(const Evaluated& evaluated);

/// A JSON object a row, a line each, then one with the key `summary`: a list of objects.
std::string to_json_lines(const Evaluated& evaluated);

/// docs/accuracy.md: for each file the summaries, errors of peaks and of times with the worst
/// first, and the rows that are not modelled.
std::string to_markdown(const std::vector<Evaluated>& files);

}  // namespace refrain::accuracy
