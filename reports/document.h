// A report before it has a form: sections of text, tables and charts as plain data. HTML, Markdown,
// CSV and JSON are written from the same document, so that none of them can say what another does
// not.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stepsight {

// What a person reads and, where it is a figure, the number behind it: in SI units, to its last
// digit.
struct Cell {
  std::string text;
  std::optional<double> value;

  Cell(std::string t = "") : text(std::move(t)) {}
  Cell(const char* t) : text(t) {}
  Cell(std::string t, double v) : text(std::move(t)), value(v) {}
};

struct DocTable {
  struct Column {
    std::string key;  // in JSON and CSV, with its unit: "step_s"
    std::string title;
    bool number = true;
  };
  std::string id;  // unique in the document
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // a cell a column
  bool folded = false;  // on a page: opened by whoever wants it, as tables behind charts are
};

// y over x, parts of a whole that add up to it, bars side by side, or points in a plane.
enum class ChartKind { lines, waterfall, bars, scatter };

struct ChartSeries {
  std::string key, name;
  std::vector<std::optional<double>> values;  // one a category; scatter: y of each x
  std::vector<double> low, high;              // empty, or an interval around each value
  bool reference = false;  // what the others are held against: the ideal, the diagonal
};

struct Chart {
  std::string id;     // unique in the document
  std::string title;  // also what a screen reader says; the figures are in a table of the section
  ChartKind kind = ChartKind::lines;
  std::string x_title, y_title;
  std::string unit;  // of the values: "s", "bytes", "x", "share" or ""
  std::vector<std::string> categories;
  std::vector<double>
      x;  // lines and scatter: where the categories lie; lines on a log scale of base 2
  std::vector<ChartSeries> series;
  // scatter: the name of each point.
  std::vector<std::string> labels;
};

struct Paragraph {
  std::string text;
  bool strong = false;
};
// Text to copy as it is.
struct Code {
  std::string id;
  std::string text;
};
// A finished picture; `description` says what it shows.
struct Picture {
  std::string id;
  std::string description;
  std::string svg;
  std::vector<std::pair<std::string, std::string>>
      legend;  // class in the style sheet, and its meaning
};

using Block = std::variant<Paragraph, DocTable, Chart, Code, Picture>;

struct Section {
  std::string id;
  std::string title;
  std::vector<Block> blocks;
};

struct Document {
  std::string kind;  // "scenario", "comparison", "validation"
  std::string language = "en";
  std::string title;
  std::string question;                                // what the answer is to, in a line
  std::string verdict;                                 // the answer in a sentence
  std::string table_words = "The figures as a table";  // what opens the table behind a chart
  std::vector<Section> sections;
};

// {"schema": 1, "report": kind, "title", "question", "verdict", "sections": [{"id", "title",
// "text", "tables": [{"id", "title", "rows": [{column: value}]}], "charts", "code"}]}. A figure is
// a number in SI units, a cell that is none a text, an empty one null.
std::string document_json(const Document& document);

// CommonMark with tables; charts and pictures are left to their tables.
std::string document_markdown(const Document& document);

// Every table, one after the other: a line "# id" and the header before each.
std::string document_csv(const Document& document);

// The sections alone, as HTML: what a page shows and what it puts in their place when an input
// changes.
std::string document_html(const Document& document);

}  // namespace stepsight
