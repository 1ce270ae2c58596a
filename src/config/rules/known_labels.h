// Which labels a dialect knows, and what to say of one that it does not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/knobs/dialect.h"
#include "config/knobs/knobs.h"
#include "config/labels/label_table.h"
#include "config/rules/rule.h"

namespace refrain::config {

/// Dialects that know the label.
DialectSet dialects_of(const ModuleLabel& label);

/// Whether the dialect's list takes the word.
bool knows(Dialect dialect, LabelList list, std::string_view word);

/// The words that the dialect's list takes, in the table's order.
std::vector<std::string> known_labels(LabelList list, Dialect dialect);

/// What is wrong with the words of a list: a text in place of a list, or words that the dialect
/// does not know, each with who knows it or which one is near. Nothing where nothing is wrong.
Complaint wrong_labels(const WordList& words, LabelList list, Dialect dialect);

/// The remedy: those of the words that the dialect knows.
Remedy drop_wrong_labels(const WordList& words, LabelList list, Dialect dialect);

}  // namespace refrain::config
